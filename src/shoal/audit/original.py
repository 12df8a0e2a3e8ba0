"""The input: which records a policy accepts, and the values they hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.audit.block import Block, inside
from shoal.audit.equality import Passed
from shoal.audit.files import Source, blocks
from shoal.audit.manifest import Span
from shoal.audit.values import Flags, Floats, Ints, Marks, canonical_column, days, joined, numbers, seconds, texts, years
from shoal.policy import Attribute, Hierarchy, Policy

MISSING = -1
UNKNOWN = -2
_LATEST = 9e12  # seconds


class Tree(NamedTuple):
    """Nodes in depth-first order, parents before children; node 0 is the root and covers leaves `first .. last`.

    >>> tree = Tree.of(Hierarchy.of([["Paris", "France", "Europe"], ["Lyon", "France", "Europe"], ["Oslo", "Europe"]]))
    >>> tree.name
    ('Europe', 'France', 'Paris', 'Lyon', 'Oslo')
    >>> tree.first.tolist(), tree.last.tolist(), tree.depth.tolist(), tree.leaves
    ([0, 0, 0, 1, 2], [2, 1, 0, 1, 2], [0, 1, 2, 2, 1], 3)
    """

    name: tuple[str, ...]
    first: NDArray[np.int32]
    last: NDArray[np.int32]
    depth: NDArray[np.int32]
    leaves: int

    @classmethod
    def of(cls, hierarchy: Hierarchy) -> Tree:
        """The tree that the lines of a policy's hierarchy make, each from a leaf to the root."""
        below: dict[str, dict[str, None]] = {}
        lines = hierarchy.lines()
        for line in lines:
            for child, parent in pairwise(line):
                below.setdefault(parent, {})[child] = None
        name: list[str] = []
        depth: list[int] = []
        first: list[int] = []
        last: list[int] = []
        leaves = 0
        waiting = [(lines[0][-1], 0)]
        while waiting:
            label, level = waiting.pop()
            name.append(label)
            depth.append(level)
            first.append(leaves)
            leaves += label not in below
            last.append(leaves - 1)
            waiting.extend((child, level + 1) for child in reversed(below.get(label, ())))
        for node in range(len(name) - 1, -1, -1):
            after = node + 1
            while after < len(name) and depth[after] > depth[node]:
                last[node] = max(last[node], last[after])
                after += 1
        return cls(tuple(name), np.array(first, np.int32), np.array(last, np.int32), np.array(depth, np.int32), leaves)

    def node_of(self) -> dict[str, int]:
        """The number of each label's node."""
        return {label: node for node, label in enumerate(self.name)}

    def leaf_of(self) -> dict[str, int]:
        """The number of each leaf's label."""
        inner = np.append(self.depth[1:] > self.depth[:-1], False)
        return {label: int(self.first[node]) for node, label in enumerate(self.name) if not inner[node]}


class Numeric(NamedTuple):
    """A numeric quasi-identifier of the accepted records, in the order of their arrival."""

    value: Floats  # NaN: missing; clipped where the policy clips

    @property
    def missing(self) -> Flags:
        return np.isnan(self.value)


class Category(NamedTuple):
    """A categorical quasi-identifier of the accepted records, in the order of their arrival."""

    leaf: NDArray[np.int32]  # MISSING, or UNKNOWN: published as the root
    tree: Tree

    @property
    def missing(self) -> Flags:
        return self.leaf == MISSING


class Original(NamedTuple):
    """The accepted records."""

    quasi: dict[str, Numeric | Category]
    person: NDArray[np.int32]
    time: Floats | None
    passed: dict[str, pa.ChunkedArray]
    line: Ints
    rows: int  # of the input, those that are rejected included
    persons: pa.Array  # the texts of the persons, by their numbers
    item: dict[str, pa.ChunkedArray]  # the texts of the fields that make the item


def original(
    policy: Policy, source: Source, trees: dict[str, Tree], on_rows: Callable[[int], None], late: float | None = None,
    ahead: float | None = None, span: Span | None = None,
) -> Original:  # fmt: skip
    """Read the input as the policy says.

    If `late` is given, without records that are further behind the newest before them; if `ahead` is given, without those
    that are further ahead of the newest before them and of most of the hundred behind them.
    """
    wrong = np.zeros(0, np.int64) if ahead is None or policy.time is None else _ahead(policy, source, ahead, span)
    reader = _Reader(policy, trees, math.inf if late is None else late, wrong)
    found = blocks(source, reader.fields, policy.input)
    for block in found if span is None else span.input(found):
        reader.take(block)
        on_rows(block.rows)
    return reader.done()


def _ahead(policy: Policy, source: Source, allow: float, span: Span | None) -> Ints:
    """The lines of records that the stream does not follow: their times are ahead of those before and behind them."""
    assert policy.time is not None
    field, times, lines = policy.time.field, [], []
    nulls, form = frozenset(policy.nulls_of(field)), policy.input.times.get(field)
    read_in = blocks(source, [field], policy.input)
    for block in read_in if span is None else span.input(read_in):
        read = seconds(_column(block, field), nulls, form)
        times += np.where(read.bad | (np.abs(read.value) > _LATEST), math.nan, read.value).tolist()
        lines += block.line.tolist()
    found, newest = [], -math.inf
    for place, time in enumerate(times):
        behind = times[place + 1 : place + 101] if time > newest + allow else []
        if behind and sum(other + allow < time for other in behind) > len(behind) / 2:
            found.append(lines[place])
        elif time > newest:
            newest = time
    return np.array(found, np.int64)


class _Reader:
    def __init__(self, policy: Policy, trees: dict[str, Tree], late: float, ahead: Ints) -> None:
        self._policy, self._ahead = policy, ahead
        self._late, self._newest = late, -math.inf
        self._trees = trees
        self._leaves = {name: tree.leaf_of() for name, tree in trees.items()}
        self._marks = Marks(policy.input.decimal, policy.input.thousands)
        self._forms = policy.input.times
        names = list(policy.kept)
        if policy.time and policy.time.publish == "keep":
            names.append(policy.time.field)
        self._passed = {name: Passed() for name in names}
        self._quasi: dict[str, list[NDArray[Any]]] = {name: [] for name, _ in policy.quasi}
        self._person: list[pa.Array] = []
        self._item: dict[str, list[pa.Array]] = {name: [] for name in policy.item.names} if policy.item else {}
        self._time: list[Floats] = []
        self._line: list[Ints] = []
        self._rows = 0

    @property
    def fields(self) -> list[str]:
        policy = self._policy
        found = [*policy.attributes, *self._item]
        if policy.person is not None:
            found.append(policy.person)
        if policy.time:
            found.append(policy.time.field)
        return found

    def take(self, block: Block) -> None:
        policy, rows = self._policy, block.rows
        good = np.ones(rows, bool)
        person = self._persons(block, good) if policy.person is not None else None
        items = {name: self._texts(block, name, good, required=True) for name in self._item}
        time = None
        if policy.time:
            field = policy.time.field
            read = seconds(_column(block, field), self._nulls_of(field), self._forms.get(field))
            has_time = ~read.bad & (np.abs(read.value) <= _LATEST)
            time = read.value
            good &= has_time & ~np.isin(block.line, self._ahead)
        quasi = {
            name: self._numbers(block, name, attribute, good)
            if attribute.quasi == "numeric"
            else self._leaf_numbers(block, name, attribute, good)
            for name, attribute in policy.quasi
        }
        if time is not None:
            good &= ~self._behind(np.where(good, time, -math.inf))
        kept = slice(None) if good.all() else good
        for name, values in quasi.items():
            self._quasi[name].append(values[kept])
        if time is not None:
            self._time.append(time[kept])
        mask = None if good.all() else pa.array(good)
        if person is not None:
            self._person.append(person if mask is None else person.filter(mask))
        for name, text in items.items():
            self._item[name].append(text if mask is None else text.filter(mask))
        for name, passed in self._passed.items():
            column = _column(block, name)
            passed.take(column if mask is None else column.filter(mask))
        self._line.append(block.line[kept])
        self._rows = block.end

    def _behind(self, time: Floats) -> Flags:
        """Which records are too far behind the newest before them; those that are rejected have no time."""
        newest = np.maximum.accumulate(np.append(self._newest, time))
        self._newest = float(newest[-1])
        behind: Flags = time < newest[:-1] - self._late
        return behind

    def _nulls_of(self, name: str) -> frozenset[str]:
        return frozenset(self._policy.nulls_of(name))

    def _persons(self, block: Block, good: Flags) -> pa.Array:
        assert self._policy.person is not None
        return self._texts(block, self._policy.person, good, required=self._policy.person_missing == "reject")

    def _texts(self, block: Block, name: str, good: Flags, required: bool) -> pa.Array:
        text, bad = canonical_column(_column(block, name))
        if self._nulls_of(name):
            text = _blanked(text, self._nulls_of(name))
        good &= ~bad
        if required:
            good &= text.is_valid().to_numpy(zero_copy_only=False)
        return text

    def _numbers(self, block: Block, name: str, attribute: Attribute, good: Flags) -> Floats:
        column, nulls = _column(block, name), self._nulls_of(name)
        if attribute.part == "year":
            value, bad = years(column, nulls, self._forms.get(name))
        else:
            value, bad = numbers(column, nulls, self._marks)
        if attribute.out_of_range == "clip":
            value = np.clip(value, attribute.low, attribute.high)
        else:
            bad = bad | (value < attribute.low) | (value > attribute.high)
        good &= ~bad
        return value

    def _leaf_numbers(self, block: Block, name: str, attribute: Attribute, good: Flags) -> NDArray[np.int32]:
        column, nulls = _column(block, name), self._nulls_of(name)
        if name in self._forms:
            column, wrong = days(column, nulls, self._forms[name])
            good &= ~wrong
        found = texts(column)
        leaves = self._leaves[name]
        per_text = np.array(
            [MISSING if text is None or text in nulls else leaves.get(text, UNKNOWN) for text in found.text], np.int32
        )
        bad = found.bad | ((per_text == UNKNOWN) & (attribute.unknown == "reject"))
        good &= ~np.append(bad, False)[found.code]
        return np.append(per_text, np.int32(MISSING))[found.code]

    def done(self) -> Original:
        line = joined(self._line, np.int64)
        quasi: dict[str, Numeric | Category] = {}
        for name, attribute in self._policy.quasi:
            parts = self._quasi.pop(name)
            if attribute.quasi == "numeric":
                quasi[name] = Numeric(joined(parts, np.float64))
            else:
                quasi[name] = Category(joined(parts, np.int32), self._trees[name])
        passed = {name: each.done() for name, each in self._passed.items()}
        time = joined(self._time, np.float64) if self._policy.time else None
        person, persons = self._person_codes(len(line))
        item = {name: pa.chunked_array(parts, pa.string()) for name, parts in self._item.items()}
        return Original(quasi, person, time, passed, line, self._rows, persons, item)

    def _person_codes(self, rows: int) -> tuple[NDArray[np.int32], pa.Array]:
        """A number for each person, one of its own for each record without; and the texts of those that have one."""
        if self._policy.person is None or not rows:
            return np.arange(rows, dtype=np.int32), pa.nulls(0, pa.string())
        coded = pa.chunked_array(self._person, pa.string()).combine_chunks().dictionary_encode()
        self._person = []
        code = coded.indices.fill_null(-1).to_numpy().copy()
        without = code < 0
        code[without] = code.max(initial=-1) + 1 + np.arange(without.sum())
        return code, coded.dictionary


def _column(block: Block, name: str) -> pa.Array:
    column = block.columns.get(name)
    column = inside(block.columns, name) if column is None else column
    return pa.nulls(block.rows) if column is None else column


def _blanked(text: pa.Array, nulls: frozenset[str]) -> pa.Array:
    missing = pc.is_in(text, value_set=pa.array(sorted(nulls), pa.string()))
    return pc.if_else(missing, pa.scalar(None, pa.string()), text)
