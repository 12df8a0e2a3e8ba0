"""The second output of a policy with `as: bag`: exact values apart from the rows."""

from __future__ import annotations

from typing import NamedTuple

from shoal.audit.files import Source, blocks
from shoal.audit.values import canonical
from shoal.errors import InputError

_FIELDS = ("attribute", "bag", "value")


class Bag(NamedTuple):
    """One bag: its number, and its values in the order in which they are written."""

    number: int
    values: list[str | None]


class SecondOutput(NamedTuple):
    """The bags of each attribute, by their numbers; and the fields that no bag has."""

    bags: dict[str, list[Bag]]
    unlisted: list[str]


def read_bags(source: Source) -> SecondOutput:
    """The second output as it was written."""
    found: dict[tuple[str, int], list[str | None]] = {}
    unlisted: dict[str, None] = {}
    for block in blocks(source):
        for name in _FIELDS:
            if name not in block.columns:
                raise InputError(f"the bags: have no field '{name}'; give the file of bags as it was written")
        unlisted |= dict.fromkeys(name for name in block.columns if name not in _FIELDS)
        columns = (block.columns[name].to_pylist() for name in _FIELDS)
        for attribute, number, value in zip(*columns, strict=True):
            found.setdefault((canonical(attribute) or "", int(canonical(number) or 0)), []).append(canonical(value))
    bags: dict[str, list[Bag]] = {}
    for (attribute, number), values in sorted(found.items()):
        bags.setdefault(attribute, []).append(Bag(number, values))
    return SecondOutput(bags, [*unlisted])
