"""The lanes of a query, one per key: a lane with a window, the common lane, or a lane of z-anonymity takes in messages."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.anonymizer import Filter, RemoteLane, Result, Snapshot, Transfer
from shoal.columns import Rejections, event_times
from shoal.errors import RecordError
from shoal.spark.job import Job
from shoal.spark.message import Message, streams
from shoal.spark.message import counts as message_counts
from shoal.spark.rejected import refuse_strictly

LAST = 2**31 - 1
"""The part number at the end of the stream, after all others."""

ROW = "shoal_row"
"""The column with the digest of each record. It orders records of the same time: a repeated batch has the same order."""


class KeyedLane(ABC):
    """The lane of one Spark key."""

    next: float | None = None
    """The time at which `tick` is due if nothing arrives; None if it is not."""

    newest = -math.inf
    """The newest time in any message."""

    def __init__(self, job: Job, number: int) -> None:
        self._job, self._number = job, number
        self._key = job.routing.keys[number]

    @abstractmethod
    def take_in(self, messages: Sequence[Message], in_order: bool) -> list[Message]:
        """Take in messages that belong together. Unless `in_order`, their tuples are first sorted by time and digest."""

    def _published(self, batches: Iterable[pa.RecordBatch], cause: Message) -> list[Message]:
        """Messages with the published records, in answer to `cause`."""
        return [Message(self._key, cause.part, cause.seq, published=some) for some in streams(batches)]

    def tick(self, now: float) -> list[Message]:
        """Move the clock while nothing arrives."""
        return []

    def close(self) -> list[Message]:
        """End the stream."""
        return []

    @abstractmethod
    def snapshot(self) -> bytes: ...

    @abstractmethod
    def restore(self, data: bytes) -> None: ...


class WindowLane(KeyedLane):
    """One of several lanes with a window, or the only one."""

    def __init__(self, job: Job, number: int) -> None:
        super().__init__(job, number)
        self._lane = RemoteLane(job.policy, job.key, np.array(job.whole, bool), number, job.traced)

    @property
    def next(self) -> float | None:  # type: ignore[override]
        return self._lane.next

    def take_in(self, messages: Sequence[Message], in_order: bool) -> list[Message]:
        counts = np.sum([message.arrived for message in messages], axis=0)
        brought = [Transfer.from_bytes(message.tuples) for message in messages if message.tuples]
        if not brought:  # only the clock ticks, and the common lane may have something to do
            return self._answer(Result([], self._lane.hand_over_none()), messages[0], counts.tobytes())
        own = Transfer.concat(brought)
        if not in_order:
            own = own.select(np.lexsort((own.rows, own.tuples.time)))
        late = None if self._job.late is None else own.tuples.time < self.newest - self._job.late
        if late is not None and late.any():
            own = own.select(~late)
        self._see(messages)
        answer = self._answer(self._lane.arrive(own, counts, self.newest), messages[0], counts.tobytes())
        return [*answer, *self._rejected(late, messages[0])]

    def _rejected(self, late: NDArray[np.bool_] | None, cause: Message) -> list[Message]:
        """A message with the number of late records."""
        number = 0 if late is None else int(late.sum())
        if number and self._job.strict:
            raise RecordError("a record was rejected under strict: it came too late")
        return [Message(self._key, cause.part, cause.seq, rejected=number)] if number else []

    def tick(self, now: float) -> list[Message]:
        self.newest = max(self.newest, now)
        return self._answer(self._lane.tick(now), Message(self._key), self._no_arrivals)

    def close(self) -> list[Message]:
        result = self._lane.flush() if self._job.lanes == 1 else self._lane.hand_over_all()
        return self._answer(result, Message(self._key, LAST), self._no_arrivals)

    def snapshot(self) -> bytes:
        return self._lane.snapshot()

    def restore(self, data: bytes) -> None:
        self._lane.restore(data)

    def _see(self, messages: Sequence[Message]) -> None:
        self.newest = max(self.newest, *(message.newest for message in messages))

    @property
    def _no_arrivals(self) -> bytes:
        return self._job.counts(np.zeros(self._job.lanes, np.int64))

    def _answer(self, result: Result, cause: Message, counts: bytes) -> list[Message]:
        """The published records, and a message to the common lane with the tuples that are handed over."""
        answer = self._published(result.published, cause)
        if self._job.lanes > 1:
            handed = result.handed_over.to_bytes() if len(result.handed_over.rows) else None
            answer.append(Message(self._job.routing.keys[-1], cause.part, cause.seq, self.newest, counts, handed))
        return answer


class CommonLane(WindowLane):
    """The lane that takes over tuples from lanes with fewer than k persons."""

    def take_in(self, messages: Sequence[Message], in_order: bool) -> list[Message]:
        arrived = max(int(message.arrived.sum()) for message in messages)
        handed = [Transfer.from_bytes(message.tuples) for message in messages if message.tuples]
        self._see(messages)
        if handed or arrived:
            handed = handed or [self._lane.hand_over_none()]
            result = self._lane.join(Transfer.concat(handed), arrived, self.newest)
        elif self.newest > -math.inf:
            result = self._lane.tick(self.newest)
        else:
            return []
        return self._published(result.published, messages[0])

    def tick(self, now: float) -> list[Message]:
        self.newest = max(self.newest, now)
        return self._published(self._lane.tick(now).published, Message(self._key))

    def close(self) -> list[Message]:
        return self._published(self._lane.flush().published, Message(self._key, LAST))


class FilterLane(KeyedLane):
    """A lane of z-anonymity: all observations of an item are in the same lane."""

    def __init__(self, job: Job, number: int) -> None:
        super().__init__(job, number)
        self._filter = Filter(job.policy, job.pseudonyms)

    def take_in(self, messages: Sequence[Message], in_order: bool) -> list[Message]:
        first = messages[0]
        received, rejected = message_counts(messages)
        batch = self._records(messages, in_order)
        answer = self._filter.arrive(batch, np.arange(len(batch))) if batch is not None else self._filter.flush()
        if self._job.strict:
            refuse_strictly(answer.rejected)
        counted = Message(self._key, first.part, first.seq, received=received, rejected=rejected + len(answer.rejected))
        return [counted, *self._published([answer.published], first)]

    def _records(self, messages: Sequence[Message], in_order: bool) -> pa.RecordBatch | None:
        tables = [pa.ipc.open_stream(message.tuples).read_all() for message in messages if message.tuples]
        batches = pa.concat_tables(tables).combine_chunks().to_batches() if tables else []
        if not batches:
            return None
        digest = np.asarray(batches[0].column(ROW).to_numpy())
        batch = batches[0].drop_columns([ROW])
        if in_order:
            return batch
        time = event_times(batch, self._job.policy, Rejections(len(batch)))
        return batch.take(pa.array(np.lexsort((digest, time))))

    def snapshot(self) -> bytes:
        header, arrays, kept = self._filter.saved()
        return Snapshot({"policy": self._job.policy.fingerprint, **header}, arrays, kept).to_bytes()

    def restore(self, data: bytes) -> None:
        self._filter.restore(Snapshot.from_bytes(data, self._job.policy.fingerprint))


def lane(job: Job, key: int) -> KeyedLane:
    """The lane of a key."""
    number = job.routing.keys.index(key)
    kind: Any = FilterLane if job.policy.is_filter else CommonLane if number == job.lanes else WindowLane
    return kind(job, number)
