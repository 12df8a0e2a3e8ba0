"""The clock of a live stream: the records' own time, which goes on while no records come."""

from __future__ import annotations

import time
from collections.abc import Callable


class StreamClock:
    """Stands where the newest record put it, and moves on as time passes. Clocks of the day that jump do not matter.

    >>> seconds = iter([100.0, 103.5])
    >>> clock = StreamClock(lambda: next(seconds))
    >>> clock.reached(5000.0)
    >>> clock.now
    5003.5
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._ahead: float | None = None

    def reached(self, moment: float) -> None:
        """A record, or an earlier tick, was there."""
        ahead = moment - self._monotonic()
        self._ahead = ahead if self._ahead is None else max(self._ahead, ahead)

    @property
    def now(self) -> float | None:
        """None before the first record."""
        return None if self._ahead is None else self._ahead + self._monotonic()
