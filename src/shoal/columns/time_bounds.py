"""Which event times of a live stream are accepted, and the newest of them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shoal.columns.rejection import Rejections


class TimeBounds:
    """Rejects records that are too far behind the newest accepted one, or too far ahead of the time of day.

    Records that are rejected, for whatever reason, do not move the newest time.

    >>> bounds, rejections = TimeBounds(late=10, ahead=3600), Rejections(3)
    >>> bounds.today = 100.0
    >>> bounds.check(np.array([95.0, 1e9, 80.0]), "t", rejections)
    >>> rejections.accepted.tolist(), bounds.newest
    ([True, False, False], 95.0)
    """

    def __init__(self, late: float | None = None, ahead: float | None = None) -> None:
        self._late, self._ahead = late, ahead
        self.newest = -math.inf  # the newest time of all accepted records
        self.today = math.inf  # the time of day, in seconds since 1970

    def check(self, time: NDArray[np.float64], field: str, rejections: Rejections) -> None:
        """Reject records by their times; records that were rejected for other reasons do not count."""
        if self._ahead is not None:
            reason = f"more than {self._ahead:g} s ahead of the clock; set the sender's clock, or raise ahead.allow"
            rejections.add(time > self.today + self._ahead, field, reason)
        accepted = np.where(rejections.accepted, time, -math.inf)
        before = np.maximum.accumulate(np.concatenate([[self.newest], accepted]))
        self.newest = float(before[-1])
        if self._late is not None:
            reason = f"came more than {self._late:g} s after newer ones; raise late.allow"
            rejections.add(time < before[:-1] - self._late, field, reason)
