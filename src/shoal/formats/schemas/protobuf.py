"""Published tuples in Protobuf.

The number of a field follows from its name alone, so that it stays the same whatever a policy adds or leaves out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from shoal.extras import needs
from shoal.shapes import COUNTS, Field, Group, Shape, groups, identifiers

_FIRST, _LAST = 20_000, (1 << 20) - 1  # numbers of fields: above those that Protobuf keeps for itself, below three bytes
_TYPES = {"interval": "Interval", "node": "Node", "period": "Period", "value": "Value"}
_COUNTED = "".join(f"  optional int64 {name} = {number};\n" for number, name in enumerate(COUNTS, 4))
_MESSAGES = """
message Interval {{
  double lo = 1;
  double hi = 2;
  bool or_missing = 3;
{counted}}}

message Node {{
  string value = 1;
  bool or_missing = 3;
{counted}}}

message Period {{
  Value lo = 1;
  Value hi = 2;
  bool or_missing = 3;
}}

message Value {{
  oneof kind {{
    bool truth = 1;
    int64 whole = 2;
    double number = 3;
    string text = 4;
  }}
}}
"""


def text(shape: Shape, name: str = "Tuple") -> str:
    """The schema of tuples of a shape, which is the first message of the file."""
    head = 'syntax = "proto3";\npackage shoal;\n\n'
    return head + "\n".join(_messages(shape.fields, 0, name)) + _MESSAGES.format(counted=_COUNTED)


def _messages(fields: Sequence[Field], depth: int, name: str) -> Iterator[str]:
    lines: list[str] = []
    inner: list[str] = []
    for group, plain, number in members(fields, depth):
        kind = f"{name}_{plain}" if group.inner else _TYPES[group.field.kind]
        lines.append(f"  {kind} {plain} = {number};\n")
        if group.inner:
            inner += _messages(group.inner, depth + 1, kind)
    yield f"message {name} {{\n{''.join(lines)}}}\n"
    yield from inner


def members(fields: Sequence[Field], depth: int) -> Iterator[tuple[Group, str, int]]:
    """The names at one depth, as a schema allows them, with their numbers."""
    found = groups(fields, depth)
    taken: set[int] = set()
    for group, plain in zip(found, identifiers([group.name for group in found]), strict=True):
        number = _number(group.name)
        while number in taken:
            number = number + 1 if number < _LAST else _FIRST
        taken.add(number)
        yield group, plain, number


def _number(name: str) -> int:
    digest = hashlib.sha256(name.encode()).digest()
    return _FIRST + int.from_bytes(digest[:8], "big") % (_LAST - _FIRST + 1)


@cache
def _classes() -> dict[str, Any]:
    """The messages that every schema has."""
    with needs("registry", "format: protobuf"):
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="shoal/values.proto", package="shoal.cells", syntax="proto3")

    def message(name: str, *fields: tuple[str, int, Any], one_of: bool = False) -> None:
        made = file.message_type.add(name=name)
        for field, number, kind in fields:
            place = made.field.add(name=field, number=number, label=kinds.LABEL_OPTIONAL)
            if isinstance(kind, str):
                place.type, place.type_name = kinds.TYPE_MESSAGE, f".shoal.cells.{kind}"
            else:
                place.type = kind
            if one_of:
                place.oneof_index = 0
            elif field in COUNTS:
                place.proto3_optional, place.oneof_index = True, len(made.oneof_decl)
                made.oneof_decl.add(name=f"_{field}")
        if one_of:
            made.oneof_decl.add(name="kind")

    counts = [(name, number, kinds.TYPE_INT64) for number, name in enumerate(COUNTS, 4)]
    doubt = ("or_missing", 3, kinds.TYPE_BOOL)
    message("Interval", ("lo", 1, kinds.TYPE_DOUBLE), ("hi", 2, kinds.TYPE_DOUBLE), doubt, *counts)
    message("Node", ("value", 1, kinds.TYPE_STRING), doubt, *counts)
    message("Period", ("lo", 1, "Value"), ("hi", 2, "Value"), doubt)
    message(
        "Value", ("truth", 1, kinds.TYPE_BOOL), ("whole", 2, kinds.TYPE_INT64), ("number", 3, kinds.TYPE_DOUBLE),
        ("text", 4, kinds.TYPE_STRING), one_of=True,
    )  # fmt: skip
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    names = ("Interval", "Node", "Period", "Value")
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"shoal.cells.{name}")) for name in names}


class ProtobufCells:
    """Encodes the cells of one field, each with the field's number. A message is its cells, one after the other."""

    def __init__(self, field: Field, number: int) -> None:
        self._made = _classes()
        self._type, self._kind, self._number = _TYPES[field.kind], field.kind, number

    def encoded(self, value: Any) -> bytes:
        """A value, as `distinct` gives it; nothing if it is missing."""
        if value is None:
            return b""
        if self._kind == "value":
            message = self._value(value)
        else:
            given = {name: part for name, part in value._asdict().items() if part is not None}
            if self._kind == "period":
                given |= {name: self._value(given[name]) for name in ("lo", "hi") if name in given}
                given = {name: part for name, part in given.items() if name not in COUNTS}
            message = self._made[self._type](**given)
        return prefixed(message.SerializeToString(deterministic=True), self._number)

    def _value(self, value: Any) -> Any:
        kind = {bool: "truth", int: "whole", float: "number", str: "text"}[type(value)]
        return self._made["Value"](**{kind: value})


def prefixed(body: bytes, number: int) -> bytes:
    """A message inside another, with its number and its size.

    >>> prefixed(b"ab", 1)
    b'\\n\\x02ab'
    """
    return _varint(number << 3 | 2) + _varint(len(body)) + body


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])
