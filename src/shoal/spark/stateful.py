"""The stateful step of a streaming query. A lane is a key; its state is one sealed snapshot.

The clock of the stream stands where the newest record put it, and moves on with the times of Spark's batches. Spark keeps
these times with the batches, so that a batch that is run again does the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from shoal.spark.job import Job
from shoal.spark.lane import KeyedLane, lane
from shoal.spark.message import Message, from_pandas, to_batch

STATE = "sealed binary, timer bigint"


class StreamStep(StatefulProcessor):  # type: ignore[misc]
    """Lanes between batches; messages for other keys than `keys` pass through."""

    def __init__(self, job: Job, keys: tuple[int, ...]) -> None:
        self._job, self._keys = job, keys

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._state = handle.getValueState("lane", STATE)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        if key[0] not in self._keys:
            yield from rows
            return
        messages = [message for frame in rows for message in from_pandas(frame)]
        at = timerValues.getCurrentProcessingTimeInMs()
        here, reached, since, timer = self._restored(key[0])
        answer = here.take_in(messages, in_order=False)
        if here.newest > reached:
            reached, since = here.newest, at
        self._save(here, reached, since, timer, at)
        yield from _frames(answer)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:
        at = timerValues.getCurrentProcessingTimeInMs()
        here, reached, since, _ = self._restored(key[0])
        answer = here.tick(reached + max(at - since, 0) / 1000)
        self._save(here, reached, since, 0, at)
        yield from _frames(answer)

    def close(self) -> None:
        """Nothing is held open."""

    def _restored(self, key: int) -> tuple[KeyedLane, float, int, int]:
        """A lane; the newest time of the stream, when it came, and the time of the lane's timer."""
        here = lane(self._job, key)
        if not self._state.exists():
            return here, -math.inf, 0, 0
        sealed, timer = self._state.get()
        header, state = self._job.opened(bytes(sealed))
        here.restore(state)
        reached = -math.inf if header["reached"] is None else header["reached"]
        here.newest = reached
        return here, reached, header["since"], timer

    def _save(self, here: KeyedLane, reached: float, since: int, timer: int, at: int) -> None:
        moment = here.next
        wanted = 0 if moment is None else max(at + 1, since + math.ceil(1000 * (moment - reached)))
        if wanted != timer:
            if timer > at:
                self._handle.deleteTimer(timer)
            if wanted:
                self._handle.registerTimer(wanted)
        header = {"reached": reached if math.isfinite(reached) else None, "since": since}
        self._state.update((self._job.sealed(header, here.snapshot()), wanted))


def _frames(messages: list[Message]) -> Iterator[Any]:
    """A data frame for each message."""
    for message in messages:
        yield to_batch([message]).to_pandas()
