"""The time of a live stream: its clock, and records that are too late for it."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.anonymizer import Rejection
from shoal.columns import Rejections, event_times
from shoal.formats import Block
from shoal.pipeline.pipeline_file import Late
from shoal.policy import Policy


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

    @property
    def now(self) -> float | None:
        """None before the first record."""
        return None if self._ahead is None else self._ahead + self._monotonic()


class Lateness:
    """Knows the newest time of all records, and rejects records that are too far behind it."""

    def __init__(self, policy: Policy, late: Late | None) -> None:
        self._policy = policy
        self._late = late if late and late.then == "reject" else None
        self.newest = -np.inf

    def in_time(self, block: Block) -> tuple[Block, list[Rejection]]:
        """The block without the records that came too late, and their rejections."""
        times = self._times(block.batch)
        if not len(times):
            return block, []
        before = np.fmax.accumulate(np.concatenate([[self.newest], times]))
        self.newest = float(before[-1])
        if self._late is None or not (is_late := times < before[:-1] - self._late.allow).any():
            return block, []
        assert self._policy.time is not None
        reason = f"came more than {self._late.allow:g} s after newer ones; raise late.allow"
        refused = [Rejection(int(row), self._policy.time.field, reason) for row in block.rows[is_late]]
        return block._replace(batch=block.batch.filter(pa.array(~is_late)), rows=block.rows[~is_late]), refused

    def _times(self, batch: pa.RecordBatch) -> NDArray[np.float64]:
        if self._policy.time is None:
            return np.zeros(0)
        return event_times(batch, self._policy, Rejections(batch.num_rows))
