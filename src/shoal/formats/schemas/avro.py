"""Published tuples in Avro: every field may be missing, and has null as its default, so that readers of an older or a newer
schema understand each other whenever an attribute is added or left out."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

from shoal.extras import needs
from shoal.shapes import COUNTS, Field, Group, Kind, Shape, groups, identifiers

_VALUE = ["null", "boolean", "long", "double", "string"]
_END = _VALUE[1:]
_NAMES = {"interval": "Interval", "node": "Node", "period": "Period"}


def schema(shape: Shape, name: str = "Tuple") -> dict[str, Any]:
    """The schema of tuples of a shape.

    >>> found = schema(Shape((Field(("age",), "interval"), Field(("ill",), "value"))))
    >>> [field["name"] for field in found["fields"]], found["fields"][1]["type"]
    (['age', 'ill'], ['null', 'boolean', 'long', 'double', 'string'])
    """
    return _record(shape.fields, 0, f"shoal.{name}", shape.imputes, set())


def _record(fields: Sequence[Field], depth: int, name: str, imputes: bool, defined: set[str]) -> dict[str, Any]:
    found = groups(fields, depth)
    names = identifiers([group.name for group in found])
    inner = [_member(group, plain, depth, name, imputes, defined) for group, plain in zip(found, names, strict=True)]
    return {"type": "record", "name": name, "fields": inner}


def _member(group: Group, plain: str, depth: int, above: str, imputes: bool, defined: set[str]) -> dict[str, Any]:
    named = {"name": plain} if plain == group.name else {"name": plain, "doc": f"the field {group.name}"}
    if group.inner:
        return {**named, "type": _record(group.inner, depth + 1, f"{above}_{plain}", imputes, defined)}
    return {**named, "type": _type(group.field.kind, imputes, defined), "default": None}


def _type(kind: Kind, imputes: bool, defined: set[str]) -> list[Any]:
    """The type of a value, or null. A type that has a name is written out where it is used first."""
    if kind == "value":
        return _VALUE
    name = f"shoal.{_NAMES[kind]}"
    if name in defined:
        return ["null", name]
    defined.add(name)
    return ["null", _named(kind, name, imputes)]


def _named(kind: Kind, name: str, imputes: bool) -> dict[str, Any]:
    ends = {"interval": "double", "period": _END}
    values = [("value", "string")] if kind == "node" else [("lo", ends[kind]), ("hi", ends[kind])]
    counts = COUNTS if imputes and kind != "period" else ()
    return {
        "type": "record",
        "name": name,
        "fields": [
            *({"name": each, "type": of} for each, of in values),
            {"name": "or_missing", "type": "boolean", "default": False},
            *({"name": each, "type": ["null", "long"], "default": None} for each in counts),
        ],
    }


class AvroCells:
    """Encodes the cells of one field. A record is its cells, one after the other, also inside records."""

    def __init__(self, field: Field, imputes: bool) -> None:
        with needs("registry", "format: avro"):
            import fastavro
        self._write = fastavro.schemaless_writer
        self._schema = fastavro.parse_schema(_type(field.kind, imputes, set()))
        self._kind = field.kind

    def encoded(self, value: Any) -> bytes:
        """A value, as `distinct` gives it."""
        out = io.BytesIO()
        self._write(out, self._schema, value if self._kind == "value" or value is None else value._asdict())
        return out.getvalue()


def text(shape: Shape) -> str:
    return json.dumps(schema(shape))
