"""One row compared with all others, a null matching everything."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.audit.evidence import Evidence
from shoal.audit.keys import NULL_KEY, Keys

Numbers = NDArray[np.int64]

_SMALL = 256  # rows that are compared without looking for fewer
_SAMPLE = 10_000


class Comparison:
    """The different rows, one of each, to be compared with one of them."""

    def __init__(self, evidence: Evidence, columns: list[Keys], sample: Numbers) -> None:
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

    def _candidates(self, asked: list[int], own: int) -> Numbers:
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

    order: Numbers
    keys: Keys

    def of(self, value: np.uint64) -> Numbers:
        """Those with this value."""
        low, high = (np.searchsorted(self.keys, value, side) for side in ("left", "right"))
        return self.order[low:high]
