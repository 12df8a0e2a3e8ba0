"""The published stream as an attacker sees it: different rows, and how often each appears."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.audit.alignment import is_root
from shoal.audit.evidence import Evidence
from shoal.audit.original import MISSING, UNKNOWN, Numeric
from shoal.audit.published import NULL, Band, Node
from shoal.audit.trace import Trace
from shoal.audit.values import Integers


@dataclass(frozen=True)
class Target:
    """A released record that an attacker looks for: its output row, all rows about its person, and the classes that fit.

    `fitting` could show its values, nulls read as any value; of these, `alike` could also show what it misses: under `maybe`
    they are null exactly where it is; under `blurred` they are null or in doubt there, and null nowhere else; under `extended`
    they may be null elsewhere too, under `root` the root stands for null.
    """

    row: int
    own: Integers
    fitting: Integers
    alike: Integers


@dataclass(frozen=True)
class View:
    """The different unsuppressed rows as boxes, and the truth behind them.

    A box is a pair of ends for each quasi-identifier, in numbers or in leaves, that lets all pass where it is null; the root
    also lets pass what is in no hierarchy. `mask` has a bit for each quasi-identifier whose value may stand for a missing one,
    `bare` for each that is surely missing. Where sets are published, a box reaches around all values of a set, and `sets` holds
    the sets themselves, with the number that each class shows.
    `rows` are the output's rows in the order of their classes, those of class c from `start[c]` to `start[c+1]`. `person` is
    the person of each output row, -1 if unknown.
    """

    evidence: Evidence
    trace: Trace
    classes: Integers
    low: list[NDArray[Any]]
    high: list[NDArray[Any]]
    mask: NDArray[np.uint64]
    bare: NDArray[np.uint64]
    sets: list[tuple[Node, Integers] | None]
    rows: Integers
    start: Integers
    person: Integers

    def target(self, row: int) -> Target:
        """The record behind an output row, as an attacker looks for it."""
        values, mask = self._known(int(self.trace.row[row]))
        fitting = self._fitting(values)
        missing = np.uint64(mask)
        alike = fitting[((self.mask[fitting] & missing) == missing) & ((self.bare[fitting] | missing) == missing)]
        return Target(row, self.own(int(self.person[row])), fitting, alike)

    def own(self, person: int) -> Integers:
        """The output's rows about a person."""
        order, about = self._by_person
        first, last = np.searchsorted(about, [person, person + 1])
        return order[first:last]

    def count(self, found: Integers) -> int:
        """How many rows these classes have."""
        return int(self.size[found].sum())

    def inside(self, rows: Integers, found: Integers) -> int:
        """How many of these rows are in these classes, which are in order."""
        if not len(found):
            return 0
        classes = self.classes[rows]
        place = np.minimum(np.searchsorted(found, classes), len(found) - 1)
        return int((found[place] == classes).sum())

    def rows_of(self, found: Integers) -> Integers:
        """The rows of these classes."""
        size = self.size[found]
        ends = np.cumsum(size)
        return self.rows[np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(self.start[found] - (ends - size), size)]

    @cached_property
    def size(self) -> Integers:
        """How many rows each class has."""
        return np.diff(self.start)

    @cached_property
    def _by_person(self) -> tuple[Integers, Integers]:
        order = np.argsort(self.person, kind="stable")
        return order, self.person[order]

    def _known(self, record: int) -> tuple[list[float], int]:
        values, mask = [], 0
        for place, (name, _) in enumerate(self.evidence.policy.quasi):
            original = self.evidence.original[name]
            value = original.value[record] if isinstance(original, Numeric) else original.leaf[record]
            missing = bool(np.isnan(value)) if isinstance(original, Numeric) else bool(value == MISSING)
            values.append(np.nan if missing else float(value))
            mask |= int(missing) << place
        return values, mask

    def _fitting(self, values: list[float]) -> Integers:
        fits = np.ones(len(self.size), dtype=bool)
        for value, low, high, sets in zip(values, self.low, self.high, self.sets, strict=True):
            if not np.isnan(value):
                fits &= low <= low.dtype.type(value)
                fits &= high >= high.dtype.type(value)
                if sets is not None:
                    shown, node = sets
                    in_set = node >= len(shown.tree.first)
                    fits[in_set] &= shown.holds(node[in_set], np.full(int(in_set.sum()), int(value)))
        return np.flatnonzero(fits).astype(np.int32)


def view(evidence: Evidence, trace: Trace, classes: Integers) -> View:
    """The attacker's view of rows with these classes; suppressed rows have none and are negative."""
    rows = np.argsort(classes, kind="stable")
    rows = rows[int((classes < 0).sum()) :]
    start = np.append(np.flatnonzero(np.diff(classes[rows], prepend=-1)), len(rows))
    first = rows[start[:-1]]
    low, high, mask, bare = _boxes(evidence, first)
    each = evidence.published.values()
    sets = [(shown, shown.node[first]) if isinstance(shown, Node) and shown.sets else None for shown in each]
    person = np.append(evidence.person, -1)[trace.row]
    return View(evidence, trace, classes, low, high, mask, bare, sets, rows, start, person)


_Boxes = tuple[list[NDArray[Any]], list[NDArray[Any]], NDArray[np.uint64], NDArray[np.uint64]]


def _boxes(evidence: Evidence, first: Integers) -> _Boxes:
    lows: list[NDArray[Any]] = []
    highs: list[NDArray[Any]] = []
    mask, bare = np.zeros(len(first), dtype=np.uint64), np.zeros(len(first), dtype=np.uint64)
    reading = evidence.policy.privacy.nulls_match
    for place, (name, attribute) in enumerate(evidence.policy.quasi):
        shown = evidence.published[name]
        if isinstance(shown, Band):
            low, high = shown.lo[first], shown.hi[first]
            null = np.isnan(low)
            lows.append(np.where(null, -np.inf, low))
            highs.append(np.where(null, np.inf, high))
        else:
            small = np.int16 if shown.tree.leaves < np.iinfo(np.int16).max else np.int32
            node = np.maximum(shown.node[first], NULL)
            null = node == NULL
            around = [(min(shown.tree.first[list(each)]), max(shown.tree.last[list(each)])) for each in shown.sets]
            least, most = np.array(around, np.int64).reshape(-1, 2).T
            lows.append(np.concatenate([shown.tree.first, least, [UNKNOWN]]).astype(small)[np.where(node == 0, NULL, node)])
            highs.append(np.concatenate([shown.tree.last, most, [shown.tree.leaves]]).astype(small)[node])
        hides = is_root(shown, attribute, first) if reading == "root" else null | shown.doubt[first]
        mask |= hides.astype(np.uint64) << np.uint64(place)
        bare |= (null & (reading in ("blurred", "maybe"))).astype(np.uint64) << np.uint64(place)
    return lows, highs, mask, bare
