"""Single records: plain dictionaries to a batch of one, and published batches to dictionaries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pyarrow as pa

from shoal.column_types import ENDS, IMPUTED
from shoal.columns.convert import plain
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
        raise InputError(f"'{name}': a value of a kind that cannot be taken in (value withheld)") from None


def to_records(batch: pa.RecordBatch, generalized: Collection[str]) -> list[dict[str, Any]]:
    """Dictionaries as JSON lines would hold them: an interval is a list, and whole numbers are whole.

    >>> to_records(pa.RecordBatch.from_pylist([{"age": {"lo": 15.0, "hi": 20.5}}]), {"age"})
    [{'age': [15, 20.5]}]
    """
    columns = [plain(column) for column in batch.columns]
    records = [dict(zip(batch.schema.names, values, strict=True)) for values in zip(*columns, strict=True)]
    fields = [batch.schema.field(name) for name in generalized]
    shapes = {f.name: tuple(child.name for child in f.type) for f in fields if pa.types.is_struct(f.type)}
    for record in records:
        for name, shape in shapes.items():
            record[name] = _plain(record[name], shape)
    return records


def _plain(value: Any, shape: tuple[str, ...]) -> Any:
    if value is None:
        return None
    if shape == ENDS:
        return [_whole(end) for end in value.values()]
    if shape == IMPUTED:
        inner = _plain(value["value"], ENDS) if isinstance(value["value"], dict) else value["value"]
        return inner if value["of"] is None else {**value, "value": inner}
    return value


def _whole(end: Any) -> Any:
    return int(end) if isinstance(end, float) and end.is_integer() else end
