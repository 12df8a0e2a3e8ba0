"""Stable attributes, which hardly change for a person: the blocks of values that are published instead of the values."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, PlainValidator, ValidationInfo, WithJsonSchema

from shoal.column_types import SEPARATOR
from shoal.config import Count, FrozenModel, Span, refusal
from shoal.errors import PolicyError
from shoal.policy.canonical import canonical
from shoal.policy.hierarchy import MOST_PROBLEMS, Hierarchy, decode, read_bytes

UNLISTED = "unlisted"  # the name of the block of all values that are in no other
BAG = 2000  # the fewest values of a bag, unless the policy says otherwise
LEAST = 2  # the fewest values of a block, unless privacy.across says otherwise
ShownAs = Literal["block", "bag", "exact"]
_FORM = "write lists of values, such as [[flu, cold], [asthma, none]], a mapping of names to lists, or a file"
_NO_FOLDER = "is a file, but the policy has no folder; give a folder or write the blocks inline"


@dataclass(frozen=True)
class Blocks:
    """Blocks of values: no value is in two. With names, a block is published as its name, otherwise as its values.

    >>> blocks = Blocks((("flu", "cold"), ("none", "asthma")))
    >>> blocks.label_of("asthma"), blocks.label_of("plague")
    ('none|asthma', 'unlisted')
    """

    values: tuple[tuple[str, ...], ...]
    names: tuple[str, ...] | None = None

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """One text for each block: its name, or its values as CSV shows them. The last is that of unlisted values."""
        return (*(self.names or map(SEPARATOR.join, self.values)), UNLISTED)

    @cached_property
    def lists(self) -> tuple[tuple[str, ...], ...]:
        """What is published for each label of blocks without names."""
        return (*self.values, (UNLISTED,))

    @cached_property
    def _label(self) -> dict[str, str]:
        return {value: label for label, block in zip(self.labels, self.values, strict=False) for value in block}

    def label_of(self, value: str) -> str:
        """The label of the block of a value."""
        return self._label.get(value, UNLISTED)

    def shares(self, distribution: Mapping[str, float]) -> dict[str, float]:
        """The shares of blocks, by their labels, where values have these shares."""
        found: dict[str, float] = {}
        for value, share in distribution.items():
            label = self.label_of(value)
            found[label] = found.get(label, 0.0) + share
        return found

    def plain(self) -> object:
        """Its content, for a digest."""
        return [self.values, self.names]


def lowest_nodes(tree: Hierarchy, least: int) -> Blocks | None:
    """The lowest nodes of a hierarchy that have so many leaves, as blocks; None if it has fewer leaves.

    A node is cut into its children as long as every one of them has so many.

    >>> tree = Hierarchy.of([["a", "x", "all"], ["b", "x", "all"], ["c", "y", "all"], ["d", "y", "all"]])
    >>> lowest_nodes(tree, 2)
    Blocks(values=(('a', 'b'), ('c', 'd')), names=('x', 'y'))
    """
    size = tree.last - tree.first + 1
    children: dict[int, list[int]] = {}
    for node, above in enumerate(tree.parent.tolist()):
        children.setdefault(above, []).append(node)
    found, waiting = [], [tree.root] if tree.leaves >= least else []
    while waiting:
        node = waiting.pop()
        below = children.get(node, [])
        if below and all(size[child] >= least for child in below):
            waiting.extend(below)
        else:
            found.append(node)
    if not found:
        return None
    found.sort(key=lambda node: int(tree.first[node]))
    values = tuple(tuple(tree.labels[tree.first[node] : tree.last[node] + 1]) for node in found)
    return Blocks(values, tuple(tree.labels[node] for node in found))


def parse_blocks(written: object, folder: Path | None = None) -> Blocks:
    """Blocks as a policy writes them; raises what is wrong with them."""
    match written:
        case Blocks():
            return written
        case str() if written.strip():
            if folder is None:
                raise refusal(f"{written} {_NO_FOLDER}")
            try:
                named = _of_file(read_bytes(written, folder), written)
            except PolicyError as error:
                raise refusal(*error.problems) from None
            return _checked([*named.values()], [*named])
        case Mapping() if written:
            return _checked([*written.values()], [canonical(name) or "" for name in written])
        case list() | tuple() if written:
            return _checked(written, None)
    raise refusal(f"are none; {_FORM}")


def _of_file(data: bytes, name: str) -> dict[str, list[str]]:
    """The blocks of a file with one line per value: the value, a semicolon, the name of its block."""
    found: dict[str, list[str]] = {}
    rows = csv.reader(io.StringIO(decode(data, name), newline=""), delimiter=";", strict=True)
    try:
        for row in rows:
            if not row or (len(row) == 1 and row[0].isspace()):
                continue
            if len(row) != 2:
                raise PolicyError(
                    [f"{name}, line {rows.line_num}: is not a pair; write a value, ';' and the name of its block"]
                )
            found.setdefault(canonical(row[1]) or "", []).append(row[0])
    except csv.Error:
        raise PolicyError([f"{name}, line {rows.line_num}: its quotes do not match; double a quote inside quotes"]) from None
    if not found:
        raise PolicyError([f"{name} is empty; write one line per value: the value, ';' and the name of its block"])
    return found


def _checked(blocks: Sequence[object], names: list[str] | None) -> Blocks:
    places = names or [str(number) for number in range(len(blocks))]
    problems: list[tuple[str, str]] = []
    values: list[tuple[str, ...]] = []
    seen: dict[str, str] = {}
    for place, block in zip(places, blocks, strict=True):
        found = list(_values(block)) if isinstance(block, list | tuple) else None
        if not found:
            problems.append((place, "is not a list of values; write it like [flu, cold]"))
            continue
        problems += ((place, problem) for problem in _problems(found, names is None))
        for value in found:
            if value and seen.setdefault(value, place) != place:
                problems.append((place, f"{value!r} is in block {seen[value]} too; keep it in one"))
        if len(found) < LEAST:
            problems.append((place, "has one value, and would name it; put another one with it"))
        values.append(tuple(found))
    if names:
        problems += (("", "has a block without a name; name it") for name in names if not name)
        problems += ((name, "is the name of the block of unlisted values; rename it") for name in names if name == UNLISTED)
        problems += ((name, "is the name of two blocks; rename one") for name in {*names} if names.count(name) > 1)
    if problems:
        raise refusal(*problems[:MOST_PROBLEMS])
    return Blocks(tuple(values), tuple(names) if names else None)


def _values(block: Sequence[object]) -> Iterator[str]:
    for value in block:
        yield "" if isinstance(value, Mapping | list | tuple | set) else canonical(value) or ""


def _problems(values: Sequence[str], by_values: bool) -> Iterator[str]:
    if "" in values:
        yield "has a value that is empty or not text; write values only"
    if len({*values}) < len(values):
        yield "names a value twice; keep one"
    if UNLISTED in values:
        yield f"{UNLISTED!r} is the block of values in no other; rename the value, or name the blocks"
    if by_values and any(SEPARATOR in value for value in values):
        yield f"has a value with {SEPARATOR!r}, which CSV writes between values; name the blocks"


def _blocks(value: object, info: ValidationInfo) -> Blocks:
    return parse_blocks(value, (info.context or {}).get("folder"))


_LISTED = {"type": "array", "items": {"type": ["string", "number", "boolean"]}, "minItems": LEAST}
WrittenBlocks = Annotated[
    Blocks,
    PlainValidator(_blocks),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "array", "items": _LISTED, "minItems": 1},
                {"type": "object", "additionalProperties": _LISTED, "minProperties": 1},
                {"type": "string", "minLength": 1},
            ]
        }
    ),
]


class Releases(FrozenModel):
    """A budget: how many tuples of one person are published per span of time."""

    per_person: Count = Field(description="the largest number of tuples of one person")
    per: Span = Field(gt=0, description="the length of the span, such as 1d")
    beyond: Literal["drop", "withhold"] = Field(
        default="drop",
        description="further records: drop leaves them out; withhold publishes them without their sensitive values",
    )
