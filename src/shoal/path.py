"""Fields inside fields: `payload.patient.age`, or `visits.0.age` in lists. A field whose whole name is that comes first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

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
        if isinstance(found, list) and is_place(step):
            found = found[int(step)] if int(step) < len(found) else None
        elif not isinstance(found, Mapping) or step not in found:
            return ABSENT
        else:
            found = found[step]
    return found


def is_place(step: str) -> bool:
    """Whether a step of a path counts the entries of a list, from 0.

    >>> is_place("0"), is_place("x"), is_place("-1")
    (True, False, False)
    """
    return step.isascii() and step.isdigit() and len(step) < 7


def in_batch(batch: pa.RecordBatch, name: str) -> pa.Array | None:
    """The column under a name, or inside structs by a path; None if there is none.

    >>> in_batch(pa.RecordBatch.from_pylist([{"a": {"b": 1}}, {"a": None}]), "a.b").to_pylist()
    [1, None]
    """
    index = batch.schema.get_field_index(name)
    if index >= 0:
        return without_extension(batch.column(index))
    first, *steps = name.split(".")
    index = batch.schema.get_field_index(first)
    if index < 0 or not leads(batch.schema.field(index).type, steps):
        return None
    return without_extension(inside(batch.column(index), steps))


def without_extension(column: pa.Array) -> pa.Array:
    """A column whose type extends one of Arrow's as that one; a UUID as its text.

    >>> without_extension(pa.array([bytes(16), None], pa.uuid())).to_pylist()
    ['00000000-0000-0000-0000-000000000000', None]
    """
    if not isinstance(column.type, pa.BaseExtensionType):
        return column
    stored = column.storage
    if column.type.extension_name == "arrow.uuid":
        return pa.array([None if each is None else str(UUID(bytes=each)) for each in stored.to_pylist()], pa.string())
    return stored.cast(pa.bool_()) if column.type.extension_name == "arrow.bool8" else stored


def inside(column: pa.Array, steps: Sequence[str]) -> pa.Array:
    """The column inside a column to which steps lead; an entry that a list does not have is null.

    >>> inside(pa.array([[{"a": 1}, {"a": 2}], [{"a": 3}], None]), ["1", "a"]).to_pylist()
    [2, None, None]
    """
    for step in steps:
        if pa.types.is_struct(column.type):
            column = pc.struct_field(column, [step])
        else:
            place = int(step)
            one = pc.list_slice(column, place, place + 1, return_fixed_size_list=True)
            column = pc.if_else(one.is_valid(), _entries(one), pa.scalar(None, column.type.value_type))
    return column


def _entries(column: pa.FixedSizeListArray) -> pa.Array:
    """The entries of lists of one entry; of a list that is null, whatever lies there."""
    return column.values.slice(column.offset, len(column))


def leads(kind: pa.DataType, steps: list[str]) -> bool:
    """Whether these steps lead to a field inside a column of this type."""
    for step in steps:
        if pa.types.is_struct(kind) and kind.get_field_index(step) >= 0:
            kind = kind.field(step).type
        elif is_list(kind) and is_place(step):
            kind = kind.value_type
        else:
            return False
    return True


def is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))
