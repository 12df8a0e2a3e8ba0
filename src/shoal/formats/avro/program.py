"""A schema of Avro as a program of single steps, which a compiled loop follows through the bytes of a record.

Avro writes the fields of a record one after the other, so that records inside records need no step of their own. A slot holds
the values of one place in the schema: a field, or one branch of a union.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

END, NOTHING, BOOLEAN, WHOLE, SINGLE, DOUBLE, BYTES, FIXED, UNION, GO, LOOP, AGAIN = range(12)
MOST = 4_000  # steps
DEEP = 8  # lists inside lists

_PLAIN = {
    "null": NOTHING, "boolean": BOOLEAN, "int": WHOLE, "long": WHOLE, "float": SINGLE, "double": DOUBLE,
    "bytes": BYTES, "string": BYTES,
}  # fmt: skip
_TYPES = {
    "boolean": pa.bool_(), "int": pa.int64(), "long": pa.int64(), "float": pa.float32(), "double": pa.float64(),
    "bytes": pa.binary(), "string": pa.string(),
}  # fmt: skip
_LOGICAL = {
    "date": pa.date32(), "timestamp-millis": pa.timestamp("ms", "UTC"), "timestamp-micros": pa.timestamp("us", "UTC"),
    "local-timestamp-millis": pa.timestamp("ms"), "local-timestamp-micros": pa.timestamp("us"),
    "time-millis": pa.time32("ms"), "time-micros": pa.time64("us"),
}  # fmt: skip
_OTHERS = ("decimal", "duration", "timestamp-nanos", "local-timestamp-nanos", "big-decimal")


class Unsuited(Exception):
    """The schema, or what is asked of it, needs more than the loop does."""


class Slot(NamedTuple):
    """Where the values of one place go: their number, their Arrow type, the symbols of an enum."""

    number: int
    kind: pa.DataType
    symbols: tuple[str, ...] = ()


class Program(NamedTuple):
    """The steps, four numbers each, and the slots of every field that is asked for; several if it is a union of types."""

    steps: NDArray[np.int32]
    jumps: NDArray[np.int32]
    slots: int
    fields: Mapping[str, Sequence[Slot]]


def program(schema: Any, fields: Collection[str]) -> Program:
    """The program that reads these fields, given by name or by path, of records of a schema.

    >>> found = program({"type": "record", "name": "r", "fields": [{"name": "a", "type": ["null", "int"]}]}, ["a", "b"])
    >>> found.fields["a"], found.fields["b"]
    ([Slot(number=0, kind=DataType(int64), symbols=())], [])
    """
    builder = _Builder(fields)
    builder.add(schema, (), {}, True, "")
    builder.step(END)
    steps = np.array(builder.steps, np.int32).reshape(-1, 4)
    return Program(steps, np.array(builder.jumps or [0], np.int32), builder.slots, builder.found)


def leaves(schema: Any) -> Iterator[str]:
    """The fields of a record's schema, by their names; those inside records by their paths."""
    for field in schema["fields"]:
        inner = _present(field["type"])
        if isinstance(inner, dict) and inner.get("type") == "record":
            yield from (f"{field['name']}.{name}" for name in leaves(inner))
        else:
            yield field["name"]


def _present(schema: Any) -> Any:
    """The schema without null, if only one other is left."""
    some = [each for each in schema if each != "null"] if isinstance(schema, list) else [schema]
    return some[0] if len(some) == 1 else schema


class _Builder:
    def __init__(self, fields: Collection[str]) -> None:
        self.found: dict[str, list[Slot]] = {name: [] for name in fields}
        self.steps: list[tuple[int, int, int, int]] = []
        self.jumps: list[int] = []
        self.slots = 0

    def step(self, operation: int, slot: int = -1, first: int = 0, second: int = 0) -> int:
        if len(self.steps) > MOST:
            raise Unsuited
        self.steps.append((operation, slot, first, second))
        return len(self.steps) - 1

    def add(self, schema: Any, path: tuple[str, ...], known: dict[str, Any], wanted: bool, space: str) -> None:
        """The steps of a schema at a path. `known` are the named types so far; what is not `wanted` is passed over."""
        if isinstance(schema, str):
            if schema in _PLAIN:
                self._value(_PLAIN[schema], path, wanted, _TYPES.get(schema))
                return
            schema = known.get(schema) or known.get(f"{space}.{schema}") or _unknown()
            if schema is _OPEN:
                raise Unsuited
        if isinstance(schema, list):
            self._union(schema, path, known, wanted, space)
            return
        kind, logical = schema["type"], schema.get("logicalType")
        if not isinstance(kind, str) or (kind in known and kind not in _PLAIN):
            self.add(kind, path, known, wanted, space)
            return
        name, space = _full_name(schema, space)
        match kind:
            case "record" | "error":
                known[name] = _OPEN  # a record inside itself has no end
                self._asked_as_a_whole(path)
                for field in schema["fields"]:
                    self.add(field["type"], (*path, field["name"]), known, wanted, space)
                known[name] = schema
            case "array" | "map":
                self._asked_as_a_whole(path, inside=True)
                self._loop(schema, kind, known, space)
            case "enum":
                known[name] = schema
                symbols = tuple(schema["symbols"])
                self._value(WHOLE, path, wanted, pa.string(), symbols, len(symbols))
            case "fixed":
                known[name] = schema
                if logical in _OTHERS and self._asks(path) and wanted:
                    raise Unsuited
                self._value(FIXED, path, wanted, pa.binary(), size=int(schema["size"]))
            case _:
                if logical in _OTHERS and self._asks(path) and wanted:
                    raise Unsuited
                self._value(_PLAIN[kind], path, wanted, _LOGICAL.get(logical or "", _TYPES.get(kind)))

    def _asks(self, path: tuple[str, ...]) -> bool:
        return ".".join(path) in self.found

    def _asked_as_a_whole(self, path: tuple[str, ...], inside: bool = False) -> None:
        """A record or a list that is itself asked for, or a place in a list, needs values inside values."""
        name = ".".join(path)
        if name and (name in self.found or (inside and any(each.startswith(f"{name}.") for each in self.found))):
            raise Unsuited

    def _value(
        self, operation: int, path: tuple[str, ...], wanted: bool, kind: pa.DataType | None,
        symbols: tuple[str, ...] = (), size: int = 0,
    ) -> None:  # fmt: skip
        slot = -1
        if wanted and kind is not None and self._asks(path):
            slot = self.slots
            self.slots += 1
            self.found[".".join(path)].append(Slot(slot, kind, symbols))
        self.step(operation, slot, size)  # of a fixed, or of the symbols of an enum

    def _union(self, branches: list[Any], path: tuple[str, ...], known: dict[str, Any], wanted: bool, space: str) -> None:
        place = self.step(UNION, -1, len(self.jumps), len(branches))
        first = len(self.jumps)
        self.jumps += [0] * len(branches)
        ends = []
        for i, branch in enumerate(branches):
            self.jumps[first + i] = len(self.steps)
            self.add(branch, path, known, wanted, space)
            ends.append(self.step(GO))
        assert self.steps[place][0] == UNION
        for each in ends:
            self.steps[each] = (GO, -1, len(self.steps), 0)

    def _loop(self, schema: Any, kind: str, known: dict[str, Any], space: str) -> None:
        begin = self.step(LOOP)
        if kind == "map":
            self.step(BYTES)
        self.add(schema["items" if kind == "array" else "values"], ("", ""), known, False, space)
        self.step(AGAIN, -1, begin)
        self.steps[begin] = (LOOP, -1, len(self.steps), 0)


_OPEN: dict[str, Any] = {}


def _unknown() -> Any:
    raise Unsuited


def _full_name(schema: Any, space: str) -> tuple[str, str]:
    """The name of a type with its namespace, and the namespace of what is inside it."""
    name = schema.get("name", "")
    if "." in name:
        return name, name.rpartition(".")[0]
    space = schema.get("namespace", space)
    return (f"{space}.{name}" if space else name), space
