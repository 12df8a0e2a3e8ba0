"""Fields inside fields: `payload.patient.age`. A field whose whole name is that comes first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

ABSENT = object()  # the value under a name that a record does not have


def head(name: str) -> str:
    """The outermost field of a path.

    >>> head("payload.patient.age"), head("age")
    ('payload', 'age')
    """
    return name.partition(".")[0]


def in_record(record: Mapping[str, Any], name: str) -> Any:
    """The value of a record under a name or a path; `ABSENT` if there is none.

    >>> in_record({"a": {"b": 1}}, "a.b"), in_record({"a": {"b": 1}, "a.b": 2}, "a.b"), in_record({"a": 3}, "a.b") is ABSENT
    (1, 2, True)
    """
    if name in record:
        return record[name]
    found: Any = record
    for step in name.split("."):
        if not isinstance(found, Mapping) or step not in found:
            return ABSENT
        found = found[step]
    return found


def in_batch(batch: pa.RecordBatch, name: str) -> pa.Array | None:
    """The column under a name, or inside structs by a path; None if there is none.

    >>> in_batch(pa.RecordBatch.from_pylist([{"a": {"b": 1}}, {"a": None}]), "a.b").to_pylist()
    [1, None]
    """
    index = batch.schema.get_field_index(name)
    if index >= 0:
        return batch.column(index)
    first, *steps = name.split(".")
    index = batch.schema.get_field_index(first)
    if index < 0 or not leads(batch.schema.field(index).type, steps):
        return None
    return pc.struct_field(batch.column(index), steps)


def leads(kind: pa.DataType, steps: list[str]) -> bool:
    """Whether these steps lead to a field inside a column of this type."""
    for step in steps:
        if not pa.types.is_struct(kind) or kind.get_field_index(step) < 0:
            return False
        kind = kind.field(step).type
    return True
