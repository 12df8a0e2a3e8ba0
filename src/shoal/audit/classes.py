"""Classes of rows that look alike, under each reading of nulls."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from shoal.audit.evidence import Evidence
from shoal.audit.keys import NO_CLASS, NULL_KEY, Keys, key, keys
from shoal.audit.values import Flags

Reading = Literal["basic", "extended", "maybe"]
READINGS: tuple[Reading, ...] = get_args(Reading)
Numbers = NDArray[np.int64]

_SUBSETS = 4
_SAMPLE = 10_000
_MOST = 20_000  # rows that are compared with all others one by one


class Classes(NamedTuple):
    """Which rows look alike. Suppressed rows are no class.

    Under `basic` a null matches nothing: a row with one is alone. Under `extended` a null matches nulls alone. Under
    `maybe` it matches everything, which makes no classes, since a row may match two that do not match each other.
    """

    of: NDArray[np.int32]  # the class of each row, NO_CLASS if it is suppressed; under `maybe` as under `extended`
    size: Numbers  # how many match each row, itself included: persons, or rows where those are not known; 0 if suppressed
    smallest: int  # of all sizes; 0 where there are none
    exact: bool = True  # else sizes from k on may be larger than told, and of a few rows sizes below k too


def classes(evidence: Evidence, reading: Reading) -> Classes:
    """The classes of the published rows under a reading of nulls, counted in persons if there is a trace."""
    alike, nulls = evidence.alike
    person = evidence.persons
    if reading == "basic":
        lonely = np.flatnonzero((nulls > 0) & (alike != NO_CLASS))
        alike = alike.copy()
        alike[lonely] = alike.max(initial=-1) + 1 + np.arange(len(lonely), dtype=np.int32)
    size = _counted(alike, person)
    if reading == "maybe":
        return _Wildcards(evidence, alike, nulls, person, size).classes()
    return Classes(alike, size, _smallest(size))


def _counted(group: NDArray[np.integer], person: Numbers | None) -> Numbers:
    """How many there are in each row's group, 0 for rows without one."""
    inside = group >= 0
    if not inside.any():
        return np.zeros(len(group), np.int64)
    if person is None:
        counts = np.bincount(group[inside])
    else:
        width = int(person.max()) + 1
        pairs = np.unique(group[inside].astype(np.int64) * width + person[inside])
        counts = np.bincount(pairs // width)
    return np.where(inside, counts[group], 0)


def _smallest(size: Numbers) -> int:
    there = size[size > 0]
    return int(there.min()) if len(there) else 0


class _Wildcards:
    """How many rows match each row, if nulls match everything.

    Rows of one group match each other: the groups of the trace or, without one, those found by parts of the rows that
    are equal. So their number is known from below, and only rows with fewer than k there are compared with all others.
    """

    def __init__(
        self, evidence: Evidence, alike: NDArray[np.int32], nulls: NDArray[np.uint8], person: Numbers | None, size: Numbers
    ) -> None:
        self._evidence = evidence
        self._alike = alike
        self._nulls = nulls
        self._person = person
        self._size = size

    def classes(self) -> Classes:
        k = self._evidence.policy.privacy.k
        if not self._nulls[self._alike >= 0].any():
            return Classes(self._alike, self._size, _smallest(self._size))
        size = np.maximum(self._size, _counted(self._groups(), self._person))
        representative = np.full(int(self._alike.max()) + 1, -1)
        shown = np.flatnonzero(self._alike >= 0)
        representative[self._alike[shown]] = shown
        order = representative[np.lexsort((self._nulls[representative], size[representative]))]
        few = int(np.searchsorted(size[order], k))
        table = _Table(self._evidence, self._alike, representative, self._person)
        compared = order[: min(max(few, 1), _MOST)]
        exact = np.zeros(len(representative), np.int64)
        exact[self._alike[compared]] = [table.matching(int(row)) for row in compared]
        smallest = int(exact[self._alike[compared]].min())
        for row in order[len(compared) : len(compared) + _MOST // 10]:
            if smallest <= size[row]:
                break
            smallest = min(smallest, table.matching(int(row)))
        size[shown] = np.where(exact[self._alike[shown]] > 0, exact[self._alike[shown]], size[shown])
        return Classes(self._alike, size, smallest, few <= _MOST)

    def _groups(self) -> Numbers:
        told = self._evidence.trace
        groups = self._found() if told is None else np.where(self._alike >= 0, told.cluster, -1)
        return self._consistent(groups)

    def _found(self) -> Numbers:
        """Groups without a trace: rows that share all of some quasi-identifiers, joined over several sets of them."""
        columns = list(self._evidence.published.values())
        sample = np.linspace(0, len(self._alike) - 1, min(_SAMPLE, len(self._alike))).astype(np.int64)
        telling = sorted(range(len(columns)), key=lambda place: -len(np.unique(key(columns[place], place)[sample])))
        group = np.full(len(self._alike), -1)
        for subset in (telling[start::_SUBSETS] for start in range(min(_SUBSETS, len(telling)))):
            total, there = np.zeros(len(group), np.uint64), self._alike >= 0
            for place in subset:
                each = key(columns[place], place)
                there &= each != NULL_KEY
                total += each
            part = np.full(len(group), -1)
            part[there] = np.unique(total[there], return_inverse=True)[1]
            part = self._consistent(part)
            inside = part >= 0
            if inside.any():
                group = _joined(group, part, inside)
        return group

    def _consistent(self, group: Numbers) -> Numbers:
        """The groups whose rows all match each other; -1 for the rows of the others."""
        inside = np.flatnonzero(group >= 0)
        if not len(inside):
            return group
        inside = inside[np.argsort(group[inside], kind="stable")]
        sorted_group = group[inside]
        starts = np.flatnonzero(np.append(True, sorted_group[1:] != sorted_group[:-1]))
        fine = np.ones(len(starts), bool)
        for each in keys(self._evidence.published):
            values = each[inside]
            largest = np.maximum.reduceat(values, starts)
            values[values == NULL_KEY] = np.iinfo(np.uint64).max
            smallest = np.minimum.reduceat(values, starts)
            fine &= (smallest == largest) | (largest == NULL_KEY)
        result = np.full(len(group), -1)
        lengths = np.diff(np.append(starts, len(inside)))
        result[inside] = np.where(np.repeat(fine, lengths), sorted_group, -1)
        return result


def _joined(group: Numbers, part: Numbers, inside: Flags) -> Numbers:
    """Rows without a group get that of their part, or a new one."""
    most = np.iinfo(np.int64).max
    of_part = np.full(int(part.max()) + 1, most)
    labelled = inside & (group >= 0)
    np.minimum.at(of_part, part[labelled], group[labelled])
    new = of_part == most
    of_part[new] = group.max(initial=-1) + 1 + np.arange(int(new.sum()))
    return np.where(inside & (group < 0), of_part[part], group)


class _Table:
    """The different rows, one of each, to be compared with one of them."""

    def __init__(
        self, evidence: Evidence, alike: NDArray[np.int32], representative: Numbers, person: Numbers | None
    ) -> None:
        self._keys = [each[representative] for each in keys(evidence.published)]
        self._alike = alike
        self._person = person
        self._order = np.argsort(alike, kind="stable")
        self._starts = np.searchsorted(alike[self._order], np.arange(len(representative) + 1))
        nulls = [int((each == NULL_KEY).sum()) for each in self._keys]
        self._ranked = sorted(range(len(self._keys)), key=nulls.__getitem__)
        self._candidates: dict[int, _Candidates] = {}

    def matching(self, row: int) -> int:
        """How many persons, or rows, match this row."""
        own = self._alike[row]
        asked = [place for place in self._ranked if self._keys[place][own] != NULL_KEY]
        found = np.arange(len(self._starts) - 1)
        if asked:
            found = self._candidate(asked[0]).of(self._keys[asked[0]][own])
        for place in asked[1:]:
            values = self._keys[place][found]
            found = found[(values == self._keys[place][own]) | (values == NULL_KEY)]
        rows = np.concatenate([self._order[self._starts[each] : self._starts[each + 1]] for each in found])
        return len(rows) if self._person is None else len(np.unique(self._person[rows]))

    def _candidate(self, place: int) -> _Candidates:
        if place not in self._candidates:
            order = np.argsort(self._keys[place], kind="stable")
            self._candidates[place] = _Candidates(order, self._keys[place][order])
        return self._candidates[place]


class _Candidates(NamedTuple):
    """The different rows by the value of one quasi-identifier."""

    order: Numbers
    keys: Keys

    def of(self, value: np.uint64) -> Numbers:
        """Those with this value or none."""
        low, high = (np.searchsorted(self.keys, value, side) for side in ("left", "right"))
        nulls = np.searchsorted(self.keys, NULL_KEY, "right")
        return np.concatenate([self.order[:nulls], self.order[low:high]])
