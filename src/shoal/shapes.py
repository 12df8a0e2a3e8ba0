"""The shape of published tuples, from which their schemas are written: Avro's, Protobuf's, JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

Kind = Literal["interval", "node", "period", "value"]
"""A numeric interval, a node of a hierarchy, an interval of time, or a value as it came, whose type no policy knows."""

COUNTS = ("of", "had")  # of imputed values: how many are in the group, and how many of them had a value


class Field(NamedTuple):
    """A published field: its path, one name if it is not nested, and what it holds. It may be missing."""

    path: tuple[str, ...]
    kind: Kind

    @property
    def name(self) -> str:
        return ".".join(self.path)


class Shape(NamedTuple):
    """All fields. Those under one name follow each other."""

    fields: tuple[Field, ...]
    imputes: bool = False  # whether values have counts


class Group(NamedTuple):
    """Fields under one name, or one field by itself."""

    name: str
    inner: tuple[Field, ...]  # with the rest of their paths; empty if it is a field
    field: Field


def groups(fields: Sequence[Field], depth: int = 0) -> list[Group]:
    """The names at one depth of the paths, in order.

    >>> some = [Field(("a", "b"), "node"), Field(("a", "c"), "value"), Field(("d",), "value")]
    >>> [(group.name, len(group.inner)) for group in groups(some)]
    [('a', 2), ('d', 0)]
    """
    found: dict[str, list[Field]] = {}
    for field in fields:
        found.setdefault(field.path[depth], []).append(field)
    return [
        Group(name, () if len(some[0].path) == depth + 1 else tuple(some), some[0]) for name, some in found.items()
    ]  # fmt: skip


def together(fields: Sequence[Field], depth: int = 0) -> list[Field]:
    """The fields in an order in which those under one name follow each other.

    >>> [field.name for field in together([Field(("a", "b"), "node"), Field(("d",), "value"), Field(("a", "c"), "value")])]
    ['a.b', 'a.c', 'd']
    """
    found: list[Field] = []
    for group in groups(fields, depth):
        found += together(group.inner, depth + 1) if group.inner else [group.field]
    return found


def identifiers(names: Sequence[str]) -> list[str]:
    """The names as schemas allow them: letters, digits and _, not a digit first, each once.

    >>> identifiers(["age", "hours-per-week", "hours.per.week", "1st"])
    ['age', 'hours_per_week', 'hours_per_week_', '_1st']
    """
    found: list[str] = []
    for name in names:
        plain = re.sub(r"\W", "_", name, flags=re.ASCII)
        plain = f"_{plain}" if not plain or plain[0].isdigit() else plain
        while plain in found:
            plain += "_"
        found.append(plain)
    return found
