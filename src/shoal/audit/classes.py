"""Classes of rows that look alike, under each reading of nulls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from shoal.audit.evidence import Evidence
from shoal.audit.published import NO_CLASS, NULL_KEY, Keys, keys
from shoal.audit.values import Flags, Ints
from shoal.policy import Policy

_SMALL = 256  # rows that are compared without looking for fewer
_SAMPLE = 10_000
NO_GROUP = -1
_LAGS = 16  # rows back that a row is compared with, to find groups that left together
_SUBSETS = 4
_MOST = 30_000  # rows that are compared with all others one by one
_TRIES = 2_000  # further ones, in search of the smallest class
_ROWS = 5_000_000  # rows that may be gone through for those
_FEW = 0.5  # rows without a group, above which groups are looked for elsewhere
_EFFORT = 50_000_000  # comparisons of patterns with groups
_SMALL = 256
NullReading = Literal["basic", "extended", "maybe"]
READINGS: tuple[NullReading, ...] = get_args(NullReading)


class Comparison:
    """The different rows, one of each, to be compared with one of them."""

    def __init__(self, evidence: Evidence, columns: list[Keys], sample: Ints) -> None:
        self._keys = [each[sample] for each in columns]
        self.effort = 0  # rows that were found to match so far
        self._alike = evidence.alike.of
        self._person = evidence.persons
        self._order = np.argsort(self._alike, kind="stable")
        ends = np.searchsorted(self._alike[self._order], np.arange(len(sample) + 1))
        self._starts, self._counts = ends[:-1], np.diff(ends)
        self._ranked = sorted(range(len(self._keys)), key=lambda place: _commonness(self._keys[place]))
        self._every = np.arange(len(sample))
        self._paths: dict[tuple[int, ...], _Path] = {}

    def matching(self, row: int) -> int:
        """How many persons, or rows, match this row."""
        own = self._alike[row]
        asked = [place for place in self._ranked if self._keys[place][own] != NULL_KEY]
        found = self._candidates(asked, own)
        for place in asked:
            values = self._keys[place][found]
            found = found[(values == self._keys[place][own]) | (values == NULL_KEY)]
        count = self._counts[found]
        self.effort += int(count.sum())
        if self._person is None:
            return int(count.sum())
        inside = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        rows = self._order[np.repeat(self._starts[found], count) + inside]
        return len(np.unique(self._person[rows]))

    def _candidates(self, asked: list[int], own: int) -> Ints:
        """Those that share one of the first values with it, or have none of them."""
        found = []
        path: tuple[int, ...] = ()
        rest = self._every
        for place in asked:
            if len(rest) < _SMALL:
                break
            path = (*path, place)
            if path not in self._paths:
                order = rest[np.argsort(self._keys[place][rest], kind="stable")]
                self._paths[path] = _Path(order, self._keys[place][order])
            found.append(self._paths[path].of(self._keys[place][own]))
            rest = self._paths[path].of(NULL_KEY)
        return np.concatenate([*found, rest])


def _commonness(values: Keys) -> float:
    """The share of rows that a row has in common with others on average, estimated; nulls match every row."""
    sample = values[:: max(1, len(values) // _SAMPLE)]
    each, count = np.unique(sample, return_counts=True)
    null = count[each == NULL_KEY].sum() / len(sample)
    return float(((count / len(sample)) ** 2).sum() + null)


class _Path(NamedTuple):
    """Rows sorted by the value of one quasi-identifier."""

    order: Ints
    keys: Keys

    def of(self, value: np.uint64) -> Ints:
        """Those with this value."""
        low, high = (np.searchsorted(self.keys, value, side) for side in ("left", "right"))
        return self.order[low:high]


def counted(group: NDArray[np.integer], person: Ints | None) -> Ints:
    """How many persons, or rows where those are not known, there are in each row's group; 0 for rows without one."""
    inside = group >= 0
    if not inside.any():
        return np.zeros(len(group), np.int64)
    if person is None:
        counts = np.bincount(group[inside])
    else:
        width = int(person.max()) + 1
        pairs = group[inside].astype(np.int64) * width + person[inside]
        pairs.sort()
        pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])]
        counts = np.bincount(pairs // width)
    return np.where(inside, counts[group], 0)


class Wildcards:
    """Counts matching rows.

    Rows of one group match each other: the groups of the trace or, without one, those that can be found in the output.
    So the number is known from below, and only rows for which that is less than k are compared with all others.
    """

    def __init__(self, evidence: Evidence, size: Ints) -> None:
        self._evidence = evidence
        self._alike, self._nulls = evidence.alike
        self._size = size
        self._keys = list(keys(evidence.row))

    def matching(self) -> tuple[Ints, int, int, Flags]:
        """How many match each row, the smallest such number found, a bound below it, and for which rows there may be more."""
        k, person, alike = self._evidence.policy.privacy.k, self._evidence.persons, self._alike
        size = np.maximum(self._size, counted(self._groups(), person))
        shown = np.flatnonzero(alike >= 0)
        sample = np.empty(int(alike.max()) + 1, np.int64)  # a row of each class
        sample[alike[shown]] = shown
        most = np.zeros(len(sample), np.int64)
        np.maximum.at(most, alike[shown], size[shown])
        size[shown] = most[alike[shown]]
        order = sample[np.lexsort((self._nulls[sample], size[sample]))]
        few = int(np.searchsorted(size[order], k))
        table = Comparison(self._evidence, self._keys, sample)
        compared = order[: min(max(few, 1), _MOST)]
        exact = np.zeros(len(sample), np.int64)
        exact[alike[compared]] = [table.matching(int(row)) for row in compared]
        smallest = int(exact[alike[compared]].min())
        further = order[len(compared) :]
        tried, before = 0, table.effort
        while tried < min(len(further), _TRIES) and size[further[tried]] < smallest and table.effort - before < _ROWS:
            smallest = min(smallest, table.matching(int(further[tried])))
            tried += 1
        floor = smallest if tried == len(further) else min(smallest, int(size[further[tried]]))
        unknown = np.zeros(len(sample), bool)
        unknown[alike[order[len(compared) : max(few, len(compared))]]] = True
        size[shown] = np.where(exact[alike[shown]] > 0, exact[alike[shown]], size[shown])
        return size, smallest, floor, np.append(unknown, False)[alike]

    def _groups(self) -> Ints:
        trace = self._evidence.trace
        if trace is not None:
            return self._consistent(np.where(self._alike >= 0, trace.cluster, NO_GROUP))
        group = self._attached(self._consistent(self._runs()))
        if (group < 0).mean() < _FEW:
            return group
        return self._attached(self._consistent(self._by_parts()))

    def _runs(self) -> Ints:
        """Rows that follow each other and match: groups leave together."""
        clash = self._clashes()
        rows = len(clash)
        start, number = 0, 0
        group = np.empty(rows, np.int64)
        while start < rows:
            end = start + 1
            while end < rows:
                ahead = clash[end : end + _SMALL] >= start
                if ahead.any():
                    end += int(np.argmax(ahead))
                    break
                end += len(ahead)
            group[start:end] = number
            start, number = end, number + 1
        group[self._alike < 0] = NO_GROUP
        return group

    def _clashes(self) -> Ints:
        """For each row the nearest row before, within a few, that it does not match."""
        rows = len(self._alike)
        clash = np.full(rows, -1)
        for lag in range(min(_LAGS, rows - 1), 0, -1):
            differ = np.zeros(rows - lag, bool)
            for each in self._keys:
                now, before = each[lag:], each[:-lag]
                differ |= (now != before) & (now != NULL_KEY) & (before != NULL_KEY)
            differ |= (self._alike[lag:] < 0) | (self._alike[:-lag] < 0)
            clash[lag:][differ] = np.flatnonzero(differ)
        return clash

    def _by_parts(self) -> Ints:
        """Rows that are equal in all of some quasi-identifiers, joined over several sets of them."""
        columns = self._keys
        rows = len(self._alike)
        sample = np.linspace(0, rows - 1, min(_SAMPLE, rows)).astype(np.int64)
        varied = sorted(range(len(columns)), key=lambda place: -len(np.unique(columns[place][sample])))
        group = np.full(rows, NO_GROUP)
        for subset in (varied[start::_SUBSETS] for start in range(min(_SUBSETS, len(varied)))):
            total, there = np.zeros(rows, np.uint64), self._alike >= 0
            for place in subset:
                there &= columns[place] != NULL_KEY
                total += columns[place]
            part = np.full(rows, NO_GROUP)
            part[there] = np.unique(total[there], return_inverse=True)[1]
            part = self._consistent(part)
            group = _joined(group, part)
        return group

    def _consistent(self, group: Ints) -> Ints:
        """The groups whose rows all match each other; none for the rows of the others."""
        parts = _Parts.of(group)
        fine = np.ones(len(parts.starts), bool)
        for each in self._keys if len(parts.rows) else ():
            fine &= parts.agree(each[parts.rows])
        result = np.full(len(group), NO_GROUP)
        result[parts.rows] = np.where(parts.spread(fine), group[parts.rows], NO_GROUP)
        return result

    def _attached(self, group: Ints) -> Ints:
        """Rows without a group, or alone in one, get a group whose generalization they show."""
        single = (group >= 0) & (counted(group, None) < 2)
        group = np.where(single, NO_GROUP, group)
        parts = _Parts.of(group)
        free = np.flatnonzero((group < 0) & (self._alike >= 0))
        if not len(parts.rows) or not len(free):
            return group
        shared = [np.maximum.reduceat(each[parts.rows], parts.starts) for each in self._keys]
        total = np.add.reduce(shared)
        number = group[parts.rows[parts.starts]]
        for rows, nulls in self._patterns(free, len(total)):
            part = total - np.add.reduce([shared[place] for place in nulls]) if nulls else total
            order = np.argsort(part)
            shown = np.add.reduce([each[rows] for each in self._keys])
            place = np.minimum(np.searchsorted(part, shown, sorter=order), len(part) - 1)
            found = order[place]
            group[rows] = np.where(part[found] == shown, number[found], NO_GROUP)
        return group

    def _patterns(self, rows: Ints, groups: int) -> Iterator[tuple[Ints, list[int]]]:
        """These rows by which quasi-identifiers they miss, the most frequent patterns first, as many as can be afforded."""
        mask = np.zeros(len(rows), np.uint64)
        for place, each in enumerate(self._keys):
            mask |= (each[rows] == NULL_KEY).astype(np.uint64) << np.uint64(place)
        order = np.argsort(mask, kind="stable")
        starts = np.flatnonzero(np.append(True, mask[order][1:] != mask[order][:-1]))
        ends = np.append(starts[1:], len(order))
        for part in np.argsort(starts - ends)[: max(1, _EFFORT // groups)].tolist():
            inside = order[starts[part] : ends[part]]
            bits = int(mask[inside[0]])
            yield rows[inside], [place for place in range(len(self._keys)) if bits >> place & 1]


def _joined(group: Ints, part: Ints) -> Ints:
    """Rows without a group get that of their part, or a new one."""
    inside = part >= 0
    if not inside.any():
        return group
    most = np.iinfo(np.int64).max
    of_part = np.full(int(part.max()) + 1, most)
    labelled = inside & (group >= 0)
    np.minimum.at(of_part, part[labelled], group[labelled])
    new = of_part == most
    of_part[new] = group.max(initial=-1) + 1 + np.arange(int(new.sum()))
    return np.where(inside & (group < 0), of_part[part], group)


class _Parts(NamedTuple):
    """Rows sorted by their group, and where each group starts."""

    rows: Ints
    starts: Ints

    @classmethod
    def of(cls, group: Ints) -> _Parts:
        rows = np.flatnonzero(group >= 0)
        rows = rows[np.argsort(group[rows], kind="stable")]
        inside = group[rows]
        return cls(rows, np.flatnonzero(np.append(True, inside[1:] != inside[:-1])[: len(rows)]))

    def agree(self, values: Keys) -> Flags:
        """Which groups show one value, besides nulls."""
        largest = np.maximum.reduceat(values, self.starts)
        values[values == NULL_KEY] = np.iinfo(np.uint64).max
        return (np.minimum.reduceat(values, self.starts) == largest) | (largest == NULL_KEY)

    def spread(self, of_group: Flags) -> Flags:
        return np.repeat(of_group, np.diff(np.append(self.starts, len(self.rows))))


def promised(policy: Policy) -> NullReading:
    """The reading of nulls under which rows that look alike count k persons; where no nulls are shown, any."""
    return "maybe" if policy.privacy.nulls_match == "maybe" else "extended"


class Classes(NamedTuple):
    """Which rows look alike. Suppressed rows are no class.

    Under `basic` a null matches nothing: a row with one is alone. Under `extended` a null matches nulls alone. Under
    `maybe` it matches everything, which makes no classes, since a row may match two that do not match each other.
    """

    of: NDArray[np.int32]  # the class of each row, NO_CLASS if it is suppressed; under `maybe` as under `extended`
    size: Ints  # how many match each row, itself included: persons, or rows where those are not known; 0 if suppressed
    smallest: int  # of all sizes, as far as it was looked for; 0 where there are none
    floor: int  # no size is smaller; the same as `smallest` where that is certain
    unknown: Flags  # rows of which only that many are known to match, though there may be more and it is below k


def classes(evidence: Evidence, reading: NullReading) -> Classes:
    """The classes of the published rows under a reading of nulls, counted in persons if there is a trace."""
    if reading not in evidence.cache:
        evidence.cache[reading] = _classes(evidence, reading)
    found: Classes = evidence.cache[reading]
    return found


def _classes(evidence: Evidence, reading: NullReading) -> Classes:
    alike, nulls = evidence.alike
    person = evidence.persons
    if reading == "basic":
        lonely = np.flatnonzero((nulls > 0) & (alike != NO_CLASS))
        alike = alike.copy()
        alike[lonely] = alike.max(initial=-1) + 1 + np.arange(len(lonely), dtype=np.int32)
    size = counted(alike, person)
    if reading == "maybe" and nulls[alike != NO_CLASS].any():
        return Classes(alike, *Wildcards(evidence, size).matching())
    there = size[size > 0]
    smallest = int(there.min()) if len(there) else 0
    return Classes(alike, size, smallest, smallest, np.zeros(len(size), bool))
