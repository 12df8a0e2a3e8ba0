"""The time of a live stream: its clock, and the bounds of event times."""

from __future__ import annotations

import time
from collections.abc import Callable

from shoal.columns import TimeBounds
from shoal.pipeline.pipeline_file import PipelineFile


class StreamClock:
    """The time of the newest record plus the time since then. It does not depend on the time of day, which may jump.

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
        """A record or a tick has this time."""
        ahead = moment - self._monotonic()
        self._ahead = ahead if self._ahead is None else max(self._ahead, ahead)

    def set_back(self, moment: float) -> None:
        """The time is this, although a record or a tick was later."""
        self._ahead = moment - self._monotonic()

    @property
    def now(self) -> float | None:
        """None before the first record."""
        return None if self._ahead is None else self._ahead + self._monotonic()


def time_bounds(file: PipelineFile) -> TimeBounds:
    """The bounds that a pipeline's file sets for event times."""
    late = file.late.allow if file.late and file.late.then == "reject" else None
    return TimeBounds(late, file.ahead.allow if file.ahead.then == "reject" else None)
