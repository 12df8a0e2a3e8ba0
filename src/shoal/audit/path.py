"""Fields inside fields, as a policy names them: `payload.patient.age`. A field of that very name comes first."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def heads(fields: set[str]) -> set[str]:
    """The fields, and those that they may lie in.

    >>> sorted(heads({"a.b.c", "d"}))
    ['a', 'a.b.c', 'd']
    """
    return fields | {name.split(".")[0] for name in fields}


def doubtful(names: Collection[str], fields: Collection[str]) -> list[str]:
    """Those of the fields that may stand under their name in one record, and inside another field in the next.

    >>> doubtful(["a", "a.b", "c"], {"a.b", "c.d"})
    ['a.b']
    """
    return [name for name in fields if "." in name and name in names and name.split(".")[0] in names]


def found_in(record: Mapping[str, Any], name: str) -> Any:
    """What a record holds under a name or a path; None if nothing.

    >>> found_in({"a": {"b": 1}}, "a.b"), found_in({"a": "{}", "a.b": 2}, "a.b"), found_in({"a": 3}, "a.b")
    (1, 2, None)
    """
    if name in record:
        return record[name]
    found: Any = record
    for step in name.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    return found


def inside(columns: Mapping[str, pa.Array], name: str) -> pa.Array | None:
    """The column of a field that lies in the structs of another."""
    first, *steps = name.split(".")
    column = columns.get(first) if steps else None
    for step in steps:
        if column is None or not pa.types.is_struct(column.type) or column.type.get_field_index(step) < 0:
            return None
        column = pc.struct_field(column, step)
    return column
