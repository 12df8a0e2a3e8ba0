"""Conversion of records: Python dictionaries to a batch and back; removal of metadata and of nested Arrow dictionaries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pyarrow as pa

from shoal.column_types import BLURRED_INTERVAL, BLURRED_LABEL, DOUBT, ENDS, IMPUTED, MARK
from shoal.columns import plain
from shoal.errors import InputError
from shoal.path import ABSENT, in_record
from shoal.policy import canonical


def to_batch(record: Mapping[str, Any], fields: Iterable[str]) -> pa.RecordBatch:
    """A batch of one record."""
    return pa.RecordBatch.from_pydict({name: _column(name, in_record(record, name)) for name in fields})


def _column(name: str, value: Any) -> pa.Array:
    value = None if value is ABSENT else value
    try:
        return pa.array([value], from_pandas=True)
    except (pa.ArrowException, OverflowError, ValueError):
        pass
    try:
        return pa.array([canonical(value)])
    except ValueError:
        raise InputError(f"'{name}': a value of a kind that shoal cannot read (value withheld)") from None


def to_records(batch: pa.RecordBatch, generalized: Collection[str]) -> list[dict[str, Any]]:
    """Records as Python dictionaries, in the form of JSON lines: an interval is a list, and a whole number is an `int`.
    What is in doubt has None as its last element.

    >>> to_records(pa.RecordBatch.from_pylist([{"age": {"lo": 15.0, "hi": 20.5}}]), {"age"})
    [{'age': [15, 20.5]}]
    >>> to_records(pa.RecordBatch.from_pylist([{"age": {"lo": 15, "hi": 20, "or_missing": True}}]), {"age"})
    [{'age': [15, 20, None]}]
    """
    if batch.num_rows == 0:
        return []
    columns = [plain(column) for column in batch.columns]
    records = [dict(zip(batch.schema.names, values, strict=True)) for values in zip(*columns, strict=True)]
    fields = [batch.schema.field(name) for name in generalized]
    shapes = {f.name: tuple(child.name for child in f.type) for f in fields if pa.types.is_struct(f.type)}
    for record in records:
        for name, shape in shapes.items():
            record[name] = _plain_value(record[name], shape)
    return records


def _plain_value(value: Any, shape: tuple[str, ...]) -> Any:
    if value is None:
        return None
    if shape == ENDS:
        return [int(end) if isinstance(end, float) and end.is_integer() else end for end in value.values()]
    if shape == BLURRED_INTERVAL:
        ends = _plain_value({end: value[end] for end in ENDS}, ENDS)
        return [*ends, None] if value[DOUBT] else ends
    if shape == BLURRED_LABEL:
        return [value["value"], None] if value[DOUBT] else value["value"]
    if shape == IMPUTED:
        inner = _plain_value(value["value"], ENDS) if isinstance(value["value"], dict) else value["value"]
        return inner if value["of"] is None else {**value, "value": inner}
    return value


class MetadataFilter:
    """Applies `stripped` to the batches of a stream; a batch with the schema of the last result is returned as it is."""

    def __init__(self) -> None:
        self._known: pa.Schema | None = None

    def strip(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self._known is not None and self._known.equals(batch.schema, check_metadata=True):
            return batch
        found = stripped(batch)
        self._known = found.schema
        return found


def stripped(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows without metadata, except shoal's own, and without Arrow dictionaries inside structs, lists and maps.

    Metadata and dictionaries may hold values of records that are never published. They would leave with the published ones.

    >>> coded = pa.DictionaryArray.from_arrays([1, 1], ["secret", "flu"])
    >>> stripped(pa.record_batch({"note": pa.StructArray.from_arrays([coded], ["ill"])})).schema.field("note").type
    StructType(struct<ill: string>)
    """
    if not batch.schema.metadata and not any(field.metadata or pa.types.is_nested(field.type) for field in batch.schema):
        return batch
    fields = [pa.field(each.name, _plain_type(each.type), each.nullable, _own(each)) for each in batch.schema]
    columns = [
        column if column.type.equals(field.type, check_metadata=True) else column.cast(field.type)
        for column, field in zip(batch.columns, fields, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def _own(field: pa.Field) -> dict[bytes, bytes] | None:
    return {MARK: field.metadata[MARK]} if field.metadata and MARK in field.metadata else None


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """The same type, but its nested fields have neither dictionaries nor metadata."""
    if pa.types.is_struct(kind):
        return pa.struct([_inner(field) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_inner(kind.key_field), _inner(kind.item_field))
    if pa.types.is_list(kind):
        return pa.list_(_inner(kind.value_field))
    if pa.types.is_large_list(kind):
        return pa.large_list(_inner(kind.value_field))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_inner(kind.value_field), kind.list_size)
    return kind


def _inner(field: pa.Field) -> pa.Field:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    return pa.field(field.name, _plain_type(kind), field.nullable)
