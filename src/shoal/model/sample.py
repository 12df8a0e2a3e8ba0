"""What a sample of observations shows: which users are there in a window of time, and which items they expose."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import ModelError
from shoal.model.binomial import Floats

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sample:
    """Observations: time, user, item. Users and items are numbers.

    >>> sample = Sample([0, 1, 5, 9, 10], [7, 8, 7, 7, 8], [1, 1, 2, 1, 1])
    >>> sample.span, sample.users, sample.items
    (10.0, 2, 2)
    """

    time: Floats
    user: Codes
    item: Codes

    def __init__(self, time: ArrayLike, user: ArrayLike, item: ArrayLike) -> None:
        columns = np.asarray(time, np.float64), np.asarray(user), np.asarray(item)
        if len({column.shape for column in columns}) != 1 or columns[0].ndim != 1:
            raise ModelError("time, user, item: differ in length; give one of each for every observation")
        if columns[0].size == 0:
            raise ModelError("the sample has no observations; a plan needs some")
        if not np.isfinite(columns[0]).all():
            raise ModelError("time: one is not finite; leave such observations out")
        object.__setattr__(self, "time", columns[0])
        for name, column in (("user", columns[1]), ("item", columns[2])):
            object.__setattr__(self, name, np.unique(column, return_inverse=True)[1].astype(np.int64))

    @property
    def span(self) -> float:
        """The time from the first observation to the last."""
        return float(np.ptp(self.time))

    @cached_property
    def users(self) -> int:
        return int(self.user.max()) + 1

    @cached_property
    def items(self) -> int:
        return int(self.item.max()) + 1

    def cut(self, window: float) -> Windows:
        """The sample cut into windows of this length: those that are full."""
        if not 0 < window <= self.span:
            raise ModelError(
                f"window: {window:g} s lies outside 0 to {self.span:g} s, the time that the sample spans; choose one within"
            )
        return Windows(self, window)


class Windows:
    """A sample replayed under one Δt: what each observation would count, and which users were there in each window.

    Identities last for a window, counting looks back over the last Δt. The first window, which has no past, is left out if
    there are others. `number` counts the windows, `users` those who expose anything in one of them, on average; `exposed` is
    p^X of each item: the part of those users who expose it.
    """

    def __init__(self, sample: Sample, window: float) -> None:
        number = np.floor((sample.time - sample.time.min()) / window).astype(np.int64)
        full = int(sample.span / window)
        used = np.flatnonzero((number < full) & (number >= (full > 1)))
        self._seen = trailing(sample.time, sample.user, sample.item, window)[used]
        item = sample.item[used]
        present, at = np.unique(number[used] * sample.users + sample.user[used], return_inverse=True)
        pairs, pair = np.unique(at * sample.items + item, return_inverse=True)
        self._most = np.zeros(len(pairs), np.int64)  # the most that any observation of a user's item counts
        np.maximum.at(self._most, pair, self._seen)
        self._item = pairs % sample.items
        self._window = present // sample.users
        self._first = np.searchsorted(pairs, np.arange(len(present)) * sample.items)
        self.number = len(np.unique(self._window))
        self.users = max(1, round(len(present) / max(1, self.number)))
        self.exposed = np.bincount(self._item, minlength=sample.items) / max(1, len(present))

    def share(self, z: int, k: int) -> float:
        """The part of the users who would have been k-anonymous in their window.

        >>> windows = Sample([0, 0, 0, 1, 1, 9, 10], [1, 2, 3, 1, 2, 1, 1], [5, 5, 5, 6, 6, 7, 7]).cut(10)
        >>> [round(windows.share(z, 2), 3) for z in (1, 2, 3, 4)]
        [0.0, 0.0, 0.667, 1.0]
        """
        keys = np.random.default_rng(0).integers(1, 1 << 63, int(self._item.max(initial=0)) + 1, np.uint64)
        shown = np.where(self._most >= z, keys[self._item], np.uint64(0))
        sets = np.add.reduceat(shown, self._first) if len(shown) else shown
        order = np.lexsort((sets, self._window))
        sets, window = sets[order], self._window[order]
        starts = np.flatnonzero(np.append(True, (sets[1:] != sets[:-1]) | (window[1:] != window[:-1])))
        sizes = np.diff(np.append(starts, len(sets)))
        return float(sizes[sizes >= k].sum() / max(1, len(sets)))

    def silent(self, z: int) -> float:
        """The part of the users who would have published nothing."""
        return float((np.maximum.reduceat(self._most, self._first) < z).mean()) if len(self._first) else 1.0

    def kept(self, z: int) -> float:
        """The part of the observations that would have been published."""
        return float((self._seen >= z).mean()) if len(self._seen) else 0.0


def trailing(time: Floats, user: Codes, item: Codes, window: float) -> Codes:
    """For each observation, how many users exposed its item in the last Δt, itself included: what is compared with z.

    Along one item, a user enters with an observation if it had none in the last Δt, and leaves Δt after an observation if it
    has none in between. The users there are those that entered so far, less those that left before.

    >>> trailing(np.array([0.0, 1, 2, 3, 10]), np.array([0, 1, 0, 2, 3]), np.zeros(5, int), 6)
    array([1, 2, 2, 3, 1])
    """
    order = np.lexsort((time, item))
    time, user, item = time[order], user[order], item[order]
    again = np.lexsort((np.arange(len(time)), user, item))
    same = (item[again][1:] == item[again][:-1]) & (user[again][1:] == user[again][:-1])
    follows = same & (time[again][:-1] >= time[again][1:] - window)
    enters, leaves = np.ones(len(time), np.int64), np.ones(len(time), np.int64)
    enters[again[1:][follows]] = 0
    leaves[again[:-1][follows]] = 0
    starts = np.flatnonzero(np.append(True, item[1:] != item[:-1]))
    begin = np.repeat(starts, np.diff(np.append(starts, len(item))))
    oldest = _oldest(time, begin, window)
    entered, left = np.append(0, np.cumsum(enters)), np.append(0, np.cumsum(leaves))
    found = np.empty(len(time), np.int64)
    found[order] = entered[1:] - entered[begin] - (left[oldest] - left[begin])
    return found


def _oldest(time: Floats, begin: Codes, window: float) -> Codes:
    """The first place of the same item whose time is not before t - Δt, by bisection in all places at once."""
    low, high = begin.copy(), np.arange(len(time))
    while True:
        open_ = low < high
        if not open_.any():
            return low
        middle = (low + high) // 2
        old = time[middle] < time - window
        low = np.where(open_ & old, middle + 1, low)
        high = np.where(open_ & ~old, middle, high)
