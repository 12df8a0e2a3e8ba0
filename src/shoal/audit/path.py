"""Fields inside fields, as a policy names them: `payload.patient.age`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def heads(fields: set[str]) -> set[str]:
    """The fields, and those that they may lie in.

    >>> sorted(heads({"a.b.c", "d"}))
    ['a', 'a.b.c', 'd']
    """
    return fields | {name.split(".")[0] for name in fields}


def inside(columns: Mapping[str, pa.Array], name: str) -> pa.Array | None:
    """The column of a field that lies in another; where that one is of several types, its objects came as texts."""
    first, *steps = name.split(".")
    column = columns.get(first)
    if not steps or column is None:
        return None
    if pa.types.is_string(column.type):
        return _of_texts(column, steps)
    for step in steps:
        if not pa.types.is_struct(column.type) or column.type.get_field_index(step) < 0:
            return None
        column = pc.struct_field(column, step)
    return column


def _of_texts(column: pa.Array, steps: list[str]) -> pa.Array:
    from shoal.audit.jsonl import array

    return array([_value(text, steps) for text in column.to_pylist()])


def _value(text: str | None, steps: list[str]) -> Any:
    if text is None or not text.startswith("{"):
        return None
    found: Any = json.loads(text)
    for step in steps:
        found = found.get(step) if isinstance(found, dict) else None
    return found
