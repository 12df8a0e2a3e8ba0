"""What came along with the values of a batch and is not theirs is left outside: metadata, and dictionaries inside columns."""

from __future__ import annotations

import pyarrow as pa

from shoal.column_types import MARK


class Bare:
    """Batches of a stream, bare one after the other; those like the last that was so are not looked at again."""

    def __init__(self) -> None:
        self._known: pa.Schema | None = None

    def of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch, bare."""
        if self._known is not None and self._known.equals(batch.schema, check_metadata=True):
            return batch
        found = bare(batch)
        self._known = found.schema
        return found


def bare(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows, with values in place of dictionaries inside structs, lists and maps, and without metadata but our own.

    Both may hold values of records that are never published, and would be passed through with those that are.

    >>> coded = pa.DictionaryArray.from_arrays([1, 1], ["secret", "flu"])
    >>> bare(pa.record_batch({"note": pa.StructArray.from_arrays([coded], ["ill"])})).schema.field("note").type
    StructType(struct<ill: string>)
    """
    if not batch.schema.metadata and not any(field.metadata or pa.types.is_nested(field.type) for field in batch.schema):
        return batch
    fields = [pa.field(each.name, _plain(each.type), each.nullable, _own(each)) for each in batch.schema]
    columns = [
        column if column.type.equals(field.type, check_metadata=True) else column.cast(field.type)
        for column, field in zip(batch.columns, fields, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def _own(field: pa.Field) -> dict[bytes, bytes] | None:
    return {MARK: field.metadata[MARK]} if field.metadata and MARK in field.metadata else None


def _plain(kind: pa.DataType) -> pa.DataType:
    """A type whose inner fields have neither dictionaries nor metadata."""
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
    return pa.field(field.name, _plain(kind), field.nullable)
