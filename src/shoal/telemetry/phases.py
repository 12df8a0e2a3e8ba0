"""Where the time of a pipeline goes: waiting for its source, waiting for its sink, or work."""

from __future__ import annotations

import math

WAITS = ("source", "sink")


class Phases:
    """The time spent in each phase, also in one that still lasts.

    >>> phases = Phases()
    >>> for name, at in (("source", 0.0), ("work", 3.0), ("sink", 4.0)):
    ...     phases.enter(name, at)
    >>> phases.shares(6.0), phases.shares(10.0), phases.read_at
    ((0.5, 0.3333333333333333), (0.0, 1.0), 3.0)
    """

    def __init__(self) -> None:
        self._name: str | None = None
        self._since = self._told = math.nan
        self._spent = dict.fromkeys(WAITS, 0.0)
        self.read_at: float | None = None  # when the last read of the source ended

    def enter(self, name: str, now: float) -> None:
        if self._name is None:
            self._told = now
        elif self._name in self._spent:
            self._spent[self._name] += now - self._since
        if self._name == "source":
            self.read_at = now
        self._name, self._since = name, now

    def shares(self, now: float) -> tuple[float, float]:
        """The parts of the time since the last call that were spent waiting for the source and the sink."""
        if self._name is None or now <= self._told:
            return math.nan, math.nan
        self.enter(self._name, now)
        source, sink = (min(self._spent[name] / (now - self._told), 1.0) for name in WAITS)
        self._spent, self._told = dict.fromkeys(WAITS, 0.0), now
        return source, sink
