"""How long tuples wait by the clock of this machine, beside the clock of the stream."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms import algorithm
from shoal.anonymizer import FilterStats, Stats
from shoal.policy import Policy
from shoal.telemetry.arrivals import Arrivals
from shoal.telemetry.histogram import Histogram

_BINS = 20  # of the deadline
_OTHER = 0.25  # seconds that the machine may do something else
_UNBOUND = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 300, 1800, 7200, 86400)
_MINUTE = 60


class WallWaits:
    """Waits from the read of a record to its release.

    A `time` window has a deadline by the wall clock too, since the clock of a stream goes on as that of the machine does. A
    tuple leaves at the first step after its deadline, so it waits a little longer: `tolerance` says how much longer is to be
    expected. Tuples that came before this process began are not measured.
    """

    def __init__(self, policy: Policy, tick: float) -> None:
        deadline = algorithm(policy).deadline
        self.is_bound = policy.window.timed and math.isfinite(deadline)
        self.deadline = deadline if self.is_bound else math.inf
        self._tick = tick
        self._arrivals = Arrivals(coarsest=max(0.1, self.deadline / 100) if self.is_bound else 1.0)
        edges = [deadline * n / _BINS for n in range(1, _BINS + 1)] if self.is_bound else list(_UNBOUND)
        self._histogram = Histogram([*edges, deadline + self.tolerance] if self.is_bound else edges)
        self._received, self._accepted, self._stretched = 0, 0, 0
        self._since_stretched = _MINUTE  # seconds since a tuple waited on because fewer than k persons were there
        self.last_second = math.nan  # the longest wait of the second that runs
        self._longest: list[float] = []  # of the last seconds
        self._ever: float | None = None

    @property
    def is_due(self) -> bool:
        """Whether the deadline held for all that left in the last minute."""
        return self.is_bound and self._since_stretched >= _MINUTE

    @property
    def tolerance(self) -> float:
        """How much longer than its deadline a tuple may wait by the wall clock: ticks, this measurement, and the machine."""
        return self._tick + self._arrivals.step + _OTHER

    @property
    def longest(self) -> float:
        """The longest wait of the last minute; NaN if nothing left."""
        known = [wait for wait in (*self._longest, self.last_second) if not math.isnan(wait)]
        return max(known, default=math.nan)

    def begin(self, stats: Stats | FilterStats) -> None:
        """What came until now has no known arrival."""
        self._received, self._accepted = stats.received, stats.accepted
        self._stretched = getattr(stats, "stretched", 0)
        self._arrivals.begin(stats.received)

    def note(self, stats: Stats | FilterStats, rows: NDArray[np.int64] | None, read: float, now: float) -> None:
        """After a step: records that were read at a time, and the rows of those that left."""
        if stats.received > self._received:
            self._arrivals.came(stats.received, stats.accepted - self._accepted, read)
            self._received, self._accepted = stats.received, stats.accepted
        stretched = getattr(stats, "stretched", 0)
        if stretched > self._stretched:
            self._stretched, self._since_stretched = stretched, 0
        if rows is None or not len(waits := self._arrivals.left(rows, now)):
            return
        self._histogram.add(waits)
        longest = float(waits.max())
        self.last_second = longest if math.isnan(self.last_second) else max(self.last_second, longest)
        self._ever = max(self._ever or 0.0, longest)

    def advance(self, seconds: int) -> None:
        self._histogram.advance(seconds)
        self._since_stretched += seconds
        quiet = [math.nan] * min(seconds - 1, _MINUTE)
        self._longest = [*self._longest, self.last_second, *quiet][-_MINUTE:]
        self.last_second = math.nan

    def figures(self) -> dict[str, Any]:
        longest = self.longest
        return {
            **self._histogram.figures(), "deadline": self.deadline if self.is_bound else None, "tolerance": self.tolerance,
            "longest": None if math.isnan(longest) else longest, "ever": self._ever,
        }  # fmt: skip
