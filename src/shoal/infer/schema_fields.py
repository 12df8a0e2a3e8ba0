"""The fields of a schema: Avro (.avsc), JSON Schema (.json) or Protobuf (.proto), with the tags of data contracts on them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from shoal.connectors import Found, compiled_schema
from shoal.errors import InputError

SUFFIXES = {".avsc": "AVRO", ".json": "JSON", ".proto": "PROTOBUF"}
DEEP = 12  # records inside records
_TAGS = ("confluent:tags", "tags", "classification", "x-tags", "x-classification")
_META, _META_TAGS = 1088, 3  # the numbers of Confluent's option of a field, and of the tags in it
_META_FILE = """syntax = "proto3";
package confluent;
import "google/protobuf/descriptor.proto";
message Meta {
  string doc = 1;
  map<string, string> params = 2;
  repeated string tags = 3;
  string annotation = 4;
}
extend google.protobuf.FileOptions { Meta file_meta = 1088; }
extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
"""

Kind = Literal["whole", "number", "text", "truth", "moment", "list"]

_SIMPLE: dict[str, Kind] = {"int": "whole", "long": "whole", "float": "number", "double": "number", "boolean": "truth"}


class SchemaField(NamedTuple):
    """A field, by its path, with all that a schema says about its values."""

    name: str
    kind: Kind
    symbols: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    tags: tuple[str, ...] = ()


def schema_fields(path: str) -> list[SchemaField]:
    """The fields of the schema in a file, in order."""
    kind = SUFFIXES.get(Path(path).suffix.lower())
    if kind is None:
        raise InputError(f"{path}: is not a schema; its name must end in {', '.join(SUFFIXES)}")
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{path}: cannot be read; check the name, the permissions, and that it is UTF-8") from None
    try:
        if kind == "PROTOBUF":
            return list(_protobuf(text))
        schema = json.loads(text)
        found = list(_avro(schema, "", {}, ()) if kind == "AVRO" else _json(schema, schema, "", ()))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{path}: is not a schema of {_CALLED[kind]}; correct it") from None
    return found


_CALLED = {"AVRO": "Avro", "JSON": "JSON", "PROTOBUF": "Protobuf"}


def _tags(*places: Any) -> tuple[str, ...]:
    found: list[str] = []
    for place in places:
        for key in _TAGS if isinstance(place, dict) else ():
            given = place.get(key) or []
            found += [given] if isinstance(given, str) else [str(each) for each in given]
    return tuple(dict.fromkeys(found))


def _avro(schema: Any, path: str, known: dict[str, Any], tags: Sequence[str]) -> Iterator[SchemaField]:
    """The fields inside a schema of Avro, or itself if it is a simple one."""
    if path.count(".") > DEEP:
        return
    if isinstance(schema, list):
        some = [each for each in schema if each != "null"]
        if len(some) == 1:
            yield from _avro(some[0], path, known, tags)
        else:
            yield SchemaField(path, "text", tags=tuple(tags))
        return
    if isinstance(schema, str):
        if schema in known:
            yield from _avro(known[schema], path, known, tags)
            return
        schema = {"type": schema}
    kind, logical = schema["type"], schema.get("logicalType", "")
    if "name" in schema:
        known |= {schema["name"]: schema, f"{schema.get('namespace', '')}.{schema['name']}": schema}
    tags = tuple(dict.fromkeys([*tags, *_tags(schema)]))
    match kind:
        case "record":
            for field in schema["fields"]:
                inner = f"{path}.{field['name']}" if path else field["name"]
                yield from _avro(field["type"], inner, known, _tags(field))
        case "enum":
            yield SchemaField(path, "text", tuple(schema["symbols"]), tags=tags)
        case "array" | "map":
            yield SchemaField(path, "list", tags=tags)
        case dict() | list():
            yield from _avro(kind, path, known, tags)
        case _ if "timestamp" in logical or logical == "date":
            yield SchemaField(path, "moment", tags=tags)
        case _ if logical == "decimal":
            yield SchemaField(path, "number", tags=tags)
        case _:
            yield SchemaField(path, _SIMPLE.get(kind, "text"), tags=tags)


def _json(schema: Any, whole: Any, path: str, tags: Sequence[str]) -> Iterator[SchemaField]:
    """The fields inside a JSON Schema, or itself if it is a simple one."""
    if path.count(".") > DEEP:
        return
    if "$ref" in schema:
        place = whole
        for step in schema["$ref"].removeprefix("#/").split("/"):
            place = place[step]
        yield from _json(place, whole, path, [*tags, *_tags(schema)])
        return
    options = [each for key in ("oneOf", "anyOf") for each in schema.get(key, ()) if each.get("type") != "null"]
    if len(options) == 1 and "properties" not in schema:
        yield from _json(options[0], whole, path, [*tags, *_tags(schema)])
        return
    kinds = schema.get("type")
    kinds = [each for each in kinds if each != "null"] if isinstance(kinds, list) else [kinds]
    tags = tuple(dict.fromkeys([*tags, *_tags(schema)]))
    if "properties" in schema:
        for name, inner in schema["properties"].items():
            yield from _json(inner, whole, f"{path}.{name}" if path else name, ())
    elif "enum" in schema:
        symbols = tuple(
            str(each).lower() if isinstance(each, bool) else str(each) for each in schema["enum"] if each is not None
        )
        yield SchemaField(path, "text", symbols, tags=tags)
    elif kinds == ["array"] or kinds == ["object"]:
        yield SchemaField(path, "list", tags=tags)
    elif schema.get("format") in ("date-time", "date"):
        yield SchemaField(path, "moment", tags=tags)
    else:
        simple: dict[Any, Kind] = {"integer": "whole", "number": "number", "boolean": "truth"}
        ends = [schema.get("minimum", schema.get("exclusiveMinimum")), schema.get("maximum", schema.get("exclusiveMaximum"))]
        low, high = (float(end) if isinstance(end, int | float) and not isinstance(end, bool) else None for end in ends)
        kind = simple.get(kinds[0], "text") if len(kinds) == 1 else "text"
        yield SchemaField(path, kind, (), low, high, tags)


def _protobuf(text: str) -> Iterator[SchemaField]:
    others = {"confluent/meta.proto": _META_FILE} if "confluent/meta.proto" in text else {}
    file, pool = compiled_schema(Found("PROTOBUF", text, others))
    first = next(iter(file.message_types_by_name.values()))
    yield from _message(first, "")
    del pool


def _message(message: Any, path: str) -> Iterator[SchemaField]:
    if path.count(".") > DEEP:
        return
    for field in message.fields:
        name, tags = f"{path}{field.name}", _meta(field)
        if field.is_repeated:
            yield SchemaField(name, "list", tags=tags)
        elif field.message_type is not None:
            if field.message_type.full_name == "google.protobuf.Timestamp":
                yield SchemaField(name, "moment", tags=tags)
            else:
                yield from _message(field.message_type, f"{name}.")
        elif field.enum_type is not None:
            yield SchemaField(name, "text", tuple(value.name for value in field.enum_type.values), tags=tags)
        else:
            simple: dict[int, Kind] = {8: "truth", 9: "text", 12: "text", 1: "number", 2: "number"}
            yield SchemaField(name, simple.get(field.type, "whole"), tags=tags)


def _meta(field: Any) -> tuple[str, ...]:
    """Confluent's tags in the options of a field."""
    tags = []
    for number, value in _parts(field.GetOptions().SerializeToString()):
        if number == _META and isinstance(value, bytes):
            tags += [each.decode() for place, each in _parts(value) if place == _META_TAGS and isinstance(each, bytes)]
    return tuple(tags)


def _parts(data: bytes) -> Iterator[tuple[int, bytes | int]]:
    """The fields of a message of Protobuf, by their numbers.

    >>> list(_parts(bytes([8, 1, 18, 2]) + b"ab"))
    [(1, 1), (2, b'ab')]
    """
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        if key & 7 == 2:
            size, at = _varint(data, at)
            yield key >> 3, data[at : at + size]
            at += size
        elif key & 7 == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
        else:
            at += 8 if key & 7 == 1 else 4


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        number |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return number, at
        shift += 7
