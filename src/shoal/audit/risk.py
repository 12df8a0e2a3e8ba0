"""Risk of re-identification, by the number of persons that a published row could be about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.audit.alignment import NullsMatch
from shoal.audit.classes import Classes
from shoal.audit.evidence import Evidence
from shoal.audit.original import MISSING, Category, Numeric
from shoal.audit.published import NULL, Band, Node
from shoal.audit.values import Flags, Integers

DRAWN = 100
SMALLEST = 100
ENOUGH = 1_000
SEED = 99
_CHUNK = 1 << 14


@dataclass(frozen=True)
class Histogram:
    """Counts between edges, of which there is one more; a value on an inner edge counts to its right."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


def by_doubling(sizes: Integers) -> Histogram:
    """Bars that double in width: 1, 2-3, 4-7, and so on; the count is of the sizes, those of 0 left out.

    >>> by_doubling(np.array([1, 2, 3, 0, 9]))
    Histogram(edges=(1.0, 2.0, 4.0, 8.0, 16.0), counts=(1, 2, 0, 1))
    """
    sizes = sizes[sizes > 0]
    if not len(sizes):
        return Histogram((), ())
    place = np.floor(np.log2(sizes)).astype(np.int64)
    counts = np.bincount(place)
    return Histogram(tuple((2.0 ** np.arange(len(counts) + 1)).tolist()), tuple(counts.tolist()))


@dataclass(frozen=True)
class Threat:
    """What one kind of attacker can hope for: the highest and the average risk, and the share of records above a threshold."""

    highest: float
    average: float
    above: float

    @classmethod
    def of(cls, sizes: Integers, threshold: float) -> Threat:
        """The threat to records that hide among so many each.

        >>> Threat.of(np.array([2, 2, 4, 4, 4, 4]), threshold=0.25)
        Threat(highest=0.5, average=0.3333333333333333, above=0.3333333333333333)
        """
        if not len(sizes):
            return cls(0.0, 0.0, 0.0)
        risks = 1.0 / sizes
        return cls(float(risks.max()), float(risks.mean()), float((risks > threshold).mean()))


@dataclass(frozen=True)
class Population:
    """How many persons of the population records drawn at random hide among (`sizes`), and the fewest seen anywhere.

    `exact` says whether these are the fewest of all, or of the records that were looked at.
    """

    sizes: Integers
    smallest: int
    exact: bool


@dataclass(frozen=True)
class Risk:
    """Risk as ARX names it; records that were suppressed are in no class and left out.

    - *prosecutor*: the attacker knows that the person is in the stream; a record's risk is 1 / size of its class.
    - *journalist*: the attacker does not know; the size is that of the class in the population, here the accepted input:
      every person whose record the published row could show.
    - *marketer*: the share of the records that an attacker links rightly who links them all with the population.

    Sizes count persons where these are known, otherwise records. Without a population the last two are None. `average` is the
    average size of a class: the inverse of the prosecutor's average risk.
    """

    records: int
    smallest: int
    average: float
    threshold: float
    prosecutor: Threat
    journalist: Threat | None = None
    marketer: float | None = None
    exact: bool = True


def risk(size: Integers, threshold: float, population: Population | None = None, smallest: int = 1) -> Risk:
    """The risk of records that hide among so many each, 0 standing for a suppressed one; none hides among less than `smallest`.

    >>> found = risk(np.array([2, 2, 4, 4, 4, 4, 0]), threshold=0.25)
    >>> found.records, found.smallest, found.average, found.prosecutor.highest
    (6, 2, 3.0, 0.5)
    """
    each = np.maximum(size[size > 0], smallest)
    prosecutor = Threat.of(each, threshold)
    found = Risk(
        records=len(each),
        smallest=int(each.min()) if len(each) else 0,
        average=1.0 / prosecutor.average if len(each) else 0.0,
        threshold=threshold,
        prosecutor=prosecutor,
    )
    if population is None or not len(population.sizes):
        return found
    drawn = Threat.of(population.sizes, threshold)
    journalist = replace(drawn, highest=1.0 / population.smallest)
    return replace(found, journalist=journalist, marketer=drawn.average, exact=population.exact)


def members(classes: Integers) -> Integers:
    """How many records each class has; a record whose class is negative is in none.

    >>> members(np.array([0, 1, 1, -1, 1]))
    array([1, 3])
    """
    return np.bincount(classes[classes >= 0])


def population(evidence: Evidence, classes: Classes, patterns: bool) -> Population:
    """The classes in the population of records drawn at random, and the smallest of all, if few enough need to be looked at.

    With `patterns`, a row is about records that miss exactly what it does not show; where the policy blanks what a group does
    not share, about those that have what it shows; where it is blurred, about those that also miss what is missing, and may
    miss what is in doubt. Without, a null fits anything.

    Counting ends at 1,000 (or twice k), so that a risk may be lower than stated, never higher. A class of the population
    is no smaller than that of the output; so the search for the smallest goes from the smallest class of the output on, and
    ends where these are no smaller than the smallest found.
    """
    rows = np.flatnonzero(classes.size > 0)
    if not len(rows):
        return Population(np.zeros(0, dtype=np.int64), 0, True)
    accepted = Accepted(evidence, patterns)
    drawn = np.random.default_rng(SEED).choice(rows, min(DRAWN, len(rows)), replace=False)
    sizes = np.array([accepted.fitting(int(row)) for row in drawn])
    smallest = int(sizes.min())
    _, first = np.unique(classes.of[rows], return_index=True)
    candidates = rows[first]
    candidates = candidates[np.argsort(classes.size[candidates], kind="stable")][: SMALLEST + 1]
    for row in candidates[:SMALLEST].tolist():
        if classes.size[row] >= smallest:
            return Population(sizes, smallest, True)
        smallest = min(smallest, accepted.fitting(row))
    exact = len(candidates) <= SMALLEST or bool(classes.size[candidates[-1]] >= smallest)
    return Population(sizes, smallest, exact)


class Accepted:
    """The accepted records, to be compared with a published row; without a trace each counts, as each published row does."""

    def __init__(self, evidence: Evidence, patterns: bool) -> None:
        self._evidence = evidence
        self._person: Integers = evidence.person if evidence.trace is not None else np.arange(evidence.accepted)
        self._enough = max(ENOUGH, 2 * evidence.policy.privacy.k)
        self._order: Integers | None = None
        reading = evidence.policy.privacy.nulls_match
        self._shared: NullsMatch | None = reading if patterns and reading != "maybe" else None
        if patterns and reading == "maybe":
            masks = _masks(evidence)
            self._order = np.argsort(masks, kind="stable")
            self._masks = masks[self._order]

    def fitting(self, row: int) -> int:
        """How many persons have a record that this row could show, at least one."""
        order = _narrowest(self._evidence, row, self._shared)
        persons: Integers = np.zeros(0, dtype=np.int64)
        for part in self._parts(row):
            persons = np.union1d(persons, self._person[part][self._found(row, order, part)])
            if len(persons) >= self._enough:
                return self._enough
        return max(1, len(persons))

    def _parts(self, row: int) -> Iterator[slice | Integers]:
        """The records to compare with, in ever larger parts."""
        first, last = 0, len(self._person)
        if self._order is not None:
            mask = _mask(self._evidence, row)
            first, last = (int(np.searchsorted(self._masks, mask, side)) for side in ("left", "right"))
        step = _CHUNK
        while first < last:
            part = slice(first, min(first + step, last))
            yield part if self._order is None else self._order[part]
            first, step = first + step, 2 * step

    def _found(self, row: int, order: list[str], part: slice | Integers) -> Integers:
        found: Integers | None = None
        for name in order:
            fits = self._fits(name, row, part, found)
            found = np.flatnonzero(fits) if found is None else found[fits]
        return np.arange(len(self._person[part])) if found is None else found

    def _fits(self, name: str, row: int, part: slice | Integers, among: Integers | None) -> Flags:
        original, shown = self._evidence.original[name], self._evidence.published[name]
        if isinstance(original, Numeric) and isinstance(shown, Band):
            value = original.value[part] if among is None else original.value[part][among]
            inside, missing = (shown.lo[row] <= value) & (value <= shown.hi[row]), np.isnan(value)
            return inside | (missing & self._may_miss(shown, row))
        assert isinstance(original, Category) and isinstance(shown, Node)
        leaf = original.leaf[part] if among is None else original.leaf[part][among]
        node = shown.node[row]
        inside = shown.holds(np.full(len(leaf), max(node, 0)), leaf) & (node >= 0)
        inside |= (node == 0) & (leaf != MISSING)
        return inside | ((leaf == MISSING) & self._may_miss(shown, row))

    def _may_miss(self, shown: Band | Node, row: int) -> bool:
        """Whether a record without a value may be behind what a row shows."""
        return self._shared is None or bool(shown.doubt[row]) or (self._shared == "blurred" and _is_null(shown, row))


def _is_null(shown: Band | Node, row: int) -> bool:
    return bool(np.isnan(shown.lo[row]) if isinstance(shown, Band) else shown.node[row] == NULL)


def _masks(evidence: Evidence) -> NDArray[np.uint64]:
    mask = np.zeros(len(evidence.person), dtype=np.uint64)
    for place, (name, _) in enumerate(evidence.policy.quasi):
        mask |= evidence.original[name].missing.astype(np.uint64) << np.uint64(place)
    return mask


def _mask(evidence: Evidence, row: int) -> np.uint64:
    mask = 0
    for place, (name, _) in enumerate(evidence.policy.quasi):
        mask |= int(_is_null(evidence.published[name], row)) << place
    return np.uint64(mask)


def _narrowest(evidence: Evidence, row: int, shared: NullsMatch | None) -> list[str]:
    """The quasi-identifiers that rule some record out, the narrowest first.

    What groups share rules out more: a root, under `extended` and if it is not in doubt under `blurred`, those that lack it;
    a null, under `blurred`, those that have it.
    """
    widths = {}
    for name, attribute in evidence.policy.quasi:
        shown = evidence.published[name]
        if _is_null(shown, row):
            if shared == "blurred":
                widths[name] = 0.0
            continue
        if isinstance(shown, Band):
            width = float(shown.hi[row] - shown.lo[row]) / (attribute.high - attribute.low)
        else:
            node = shown.node[row]
            width = float(shown.sizes[node]) / shown.tree.leaves
        if width < 1 or (shared in ("blurred", "extended") and width == 1 and not shown.doubt[row]):
            widths[name] = width
    return sorted(widths, key=widths.__getitem__)
