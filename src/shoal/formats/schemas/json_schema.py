"""Published tuples as JSON, with a JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from shoal.shapes import Field, Kind, Shape, groups

_TRUE: dict[str, Any] = {"type": "null"}


def schema(shape: Shape) -> dict[str, Any]:
    """The schema of tuples of a shape, as JSON lines show them.

    >>> found = schema(Shape((Field(("age",), "interval"),)))
    >>> found["properties"]["age"]["oneOf"][1]["minItems"]
    2
    """
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Tuple",
        **_object(shape.fields, 0, shape.imputes),
    }


def _object(fields: Sequence[Field], depth: int, imputes: bool) -> dict[str, Any]:
    properties = {
        group.name: _object(group.inner, depth + 1, imputes) if group.inner else _type(group.field.kind, imputes)
        for group in groups(fields, depth)
    }
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _type(kind: Kind, imputes: bool) -> dict[str, Any]:
    if kind == "value":
        return {}
    simple = {"interval": _interval("number"), "period": _interval("number", "string"), "node": _NODE}[kind]
    if not imputes or kind == "period":
        return {"oneOf": [_TRUE, *simple]}
    whole = {"type": "integer"}
    counted = {
        "type": "object",
        "properties": {"value": {"oneOf": simple}, "of": whole, "had": whole},
        "additionalProperties": False,
    }
    return {"oneOf": [_TRUE, *simple, counted]}


def _interval(*ends: str) -> list[dict[str, Any]]:
    """Two ends; a third entry, null, says that the value may be missing instead."""
    end: dict[str, Any] = {"type": list(ends) if len(ends) > 1 else ends[0]}
    return [{"type": "array", "items": [end, end, {"type": "null"}], "minItems": 2, "maxItems": 3}]


_NODE: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": "array", "items": {"type": ["string", "null"]}, "minItems": 1},  # a set, or a node in doubt
]


def text(shape: Shape) -> str:
    return json.dumps(schema(shape))
