"""The budget of releases: how many tuples of one person leave in a span of time."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.columns.stable import one_number
from shoal.policy import Releases


class Budget:
    """Counts the tuples of each person in the last span, on the clock of the stream, which never runs backwards.

    It holds the moments of these tuples and no older ones: what it needs is bounded by the span.

    >>> budget = Budget(Releases(per_person=2, per=10.0))
    >>> one = np.array([[1, 1]] * 5, np.uint64)
    >>> budget.beyond(one, np.array([0.0, 4.0, 9.0, 10.0, 11.0])).tolist()
    [False, False, True, False, True]
    >>> budget.exceeded
    2
    """

    def __init__(self, releases: Releases) -> None:
        self.releases = releases
        self.exceeded = 0
        """How many tuples were beyond the budget so far."""
        self._now = -math.inf
        self._held: deque[tuple[float, int]] = deque()
        self._counts: dict[int, int] = {}

    def __len__(self) -> int:
        """How many tuples it remembers."""
        return len(self._held)

    def beyond(self, person: NDArray[np.uint64], time: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which of these tuples, in order of arrival, are beyond the budget; those are not counted."""
        found = np.zeros(len(time), bool)
        held, counts, now = self._held, self._counts, self._now
        most, span = self.releases.per_person, self.releases.per
        for place, (key, moment) in enumerate(zip(one_number(person).tolist(), time.tolist(), strict=True)):
            if moment > now:
                now = moment
                while held and held[0][0] <= now - span:
                    self._forget(held.popleft()[1])
            count = counts.get(key, 0)
            if count >= most:
                found[place] = True
            else:
                counts[key] = count + 1
                held.append((now, key))
        self._now = now
        self.exceeded += int(found.sum())
        return found

    def _forget(self, key: int) -> None:
        left = self._counts[key] - 1
        if left:
            self._counts[key] = left
        else:
            del self._counts[key]

    def set_clock(self, now: float) -> None:
        """Set the clock back: no moment that is remembered is later."""
        if now < self._now:
            self._now = now
            self._held = deque((min(moment, now), key) for moment, key in self._held)

    def saved(self) -> dict[str, NDArray[Any]]:
        moments, keys = zip(*self._held, strict=True) if self._held else ((), ())
        return {
            "budget.time": np.array([self._now, *moments]),
            "budget.person": np.array(keys, np.uint64),
            "budget.exceeded": np.array([self.exceeded]),
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._now, *moments = arrays["budget.time"].tolist()
        self._held = deque(zip(moments, arrays["budget.person"].tolist(), strict=True))
        self.exceeded = int(sum(arrays.get("budget.exceeded", ())))  # snapshots of earlier builds do not have it
        self._counts = {}
        for _, key in self._held:
            self._counts[key] = self._counts.get(key, 0) + 1
