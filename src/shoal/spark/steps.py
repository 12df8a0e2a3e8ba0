"""The steps of a query: encode records as messages, run the lanes of a streaming or a batch query, decode messages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import TaskContext
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from shoal.anonymizer import Transfer, streamed
from shoal.columns import Encoder, ObservationEncoder
from shoal.spark.budget import Bucket, bucket_of, lane_of
from shoal.spark.given import with_dots
from shoal.spark.job import Job
from shoal.spark.lane import LAST, ROW, KeyedLane, lane
from shoal.spark.message import Message, counts, from_batch, from_pandas, one_per_lane, to_batch
from shoal.spark.rejected import check_share, refuse_strictly

CHUNK = 65_536
"""Small batches are joined until they have this many records, then encoded."""

_STATE = "sealed binary"


class EncodeStep:
    """The first step: records become tuples, in one message per lane."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        encoder: Any = None
        for seq, batch in enumerate(_chunks(batches)):
            if encoder is None:
                kind = ObservationEncoder if self._job.policy.is_filter else Encoder
                encoder = kind(self._job.policy, self._job.key)
            rows = np.asarray(batch.column(ROW).to_numpy())
            records = batch.drop_columns([ROW])
            records = records.rename_columns(with_dots(records.schema.names))
            split = self._observed if self._job.policy.is_filter else self._encoded
            yield to_batch(split(encoder, records, rows, seq))

    def _encoded(self, encoder: Encoder, records: pa.RecordBatch, rows: NDArray[np.int64], seq: int) -> Iterator[Message]:
        encoded = encoder.encode(records, rows)
        if self._job.strict:
            refuse_strictly(encoded.rejected)
        size = len(encoded.rows)
        transfer = Transfer.of(encoded)
        to = bucket_of if self._job.policy.releases else lane_of
        cause = Message(0, _part(), seq, received=len(rows), rejected=len(rows) - size)
        newest = float(encoded.time.max()) if size else -np.inf
        for message, own in one_per_lane(self._job, to(self._job, transfer), cause, newest):
            yield message._replace(tuples=transfer.select(own).to_bytes())

    def _observed(
        self, encoder: ObservationEncoder, records: pa.RecordBatch, rows: NDArray[np.int64], seq: int
    ) -> Iterator[Message]:
        observed = encoder.encode(records, rows)
        if self._job.strict:
            refuse_strictly(observed.rejected)
        lane = (observed.item[:, 0] % np.uint64(self._job.lanes)).astype(np.int64)
        cause = Message(0, _part(), seq, received=len(rows), rejected=len(rows) - len(observed.rows))
        for message, own in one_per_lane(self._job, lane, cause, -np.inf):
            if len(own) or message.received:
                some = observed.batch.take(pa.array(own)).append_column(ROW, pa.array(observed.rows[own]))
                yield message._replace(tuples=bytes(streamed(pa.Table.from_batches([some]))))


class BudgetStep(StatefulProcessor):  # type: ignore[misc]
    """The budgets of a streaming query, between the first step and the lanes; each bucket has a state."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState("budget", _STATE)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        here = Bucket(self._job)
        if self._state.exists():
            (sealed,) = self._state.get()
            here.restore(self._job.opened(bytes(sealed))[1])
        answer = here.take_in([message for frame in rows for message in from_pandas(frame)])
        self._state.update((self._job.sealed({}, here.snapshot()),))
        yield from _frames(answer)

    def close(self) -> None:
        """There is nothing to close."""


class BatchBudgetStep:
    """The budgets of a batch query."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        messages = (message for batch in batches for message in from_batch(batch))
        for _, some in groupby(messages, lambda message: message.key):
            here = Bucket(self._job)
            for _, together in groupby(some, lambda message: (message.part, message.seq)):
                yield to_batch(here.take_in(list(together)))


class StreamStep(StatefulProcessor):  # type: ignore[misc]
    """The lanes of a streaming query; the state of a lane is one encrypted snapshot. Messages for other keys pass through.

    The clock of the stream is the time of the newest record, plus the processing time since that record came. Spark stores the
    processing time of each batch, so a batch that is run again gives the same result.
    """

    def __init__(self, job: Job, keys: tuple[int, ...]) -> None:
        self._job, self._keys = job, keys

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState("lane", _STATE)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        if key[0] not in self._keys:
            yield from rows
            return
        messages = [message for frame in rows for message in from_pandas(frame)]
        check_share(*counts(messages), self._job.max_rejected)
        at = messages[0].at
        here, reached, since = self._restored(key[0])
        was_empty = here.next is None
        answer = here.take_in(messages, in_order=False)
        if any(message.part == LAST for message in messages):
            answer += here.close()
        if here.newest > reached or was_empty:
            reached, since = max(here.newest, reached), at
        now = reached + max(at - since, 0) / 1000
        if here.next is not None and here.next <= now:
            answer += here.tick(now)
            reached, since = now, at  # the clock never goes back: else what comes next would wait as long as it ran ahead
        moment = 0 if here.next is None else max(at + 1, since + math.ceil(1000 * (here.next - reached)))
        header = {"reached": reached if math.isfinite(reached) else None, "since": since}
        self._state.update((self._job.sealed(header, here.snapshot()),))
        yield from _frames([message._replace(at=at) for message in answer])
        yield from _frames([Message(key[0], at=at, moment=moment)])

    def close(self) -> None:
        """There is nothing to close."""

    def _restored(self, key: int) -> tuple[KeyedLane, float, int]:
        """The lane, the newest time of the stream, and the processing time when it came."""
        here = lane(self._job, key)
        if not self._state.exists():
            return here, -math.inf, 0
        (sealed,) = self._state.get()
        header, state = self._job.opened(bytes(sealed))
        here.restore(state)
        here.newest = -math.inf if header["reached"] is None else header["reached"]
        return here, here.newest, header["since"]


class BatchStep:
    """The lanes of a batch query. Each lane runs from its first message to its last; messages for other keys pass through."""

    def __init__(self, job: Job, keys: tuple[int, ...]) -> None:
        self._job, self._keys = job, keys

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        messages = (message for batch in batches for message in from_batch(batch))
        for key, some in groupby(messages, lambda message: message.key):
            for answer in self._lane(key, some) if key in self._keys else ([message] for message in some):
                if answer:
                    yield to_batch(answer)

    def _lane(self, key: int, messages: Iterable[Message]) -> Iterator[list[Message]]:
        here = lane(self._job, key)
        received = rejected = 0
        for _, together in groupby(messages, lambda message: (message.part, message.seq)):
            some = list(together)
            received, rejected = (a + b for a, b in zip((received, rejected), counts(some), strict=True))
            yield here.take_in(some, in_order=not self._job.policy.releases)  # buckets know no common order
        check_share(received, rejected, self._job.max_rejected, never_all=True)
        yield here.close()


class DecodeStep:
    """The last step: published messages become rows, with the types of the query's schema."""

    def __init__(self, job: Job) -> None:
        self._schema = job.published

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for message in from_batch(batch):
                if message.published:
                    for found in pa.ipc.open_stream(message.published):
                        arrays = [_cast(array, field.type) for array, field in zip(found.columns, self._schema, strict=True)]
                        yield pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def _frames(messages: list[Message]) -> Iterator[Any]:
    """A data frame for each message."""
    for message in messages:
        yield to_batch([message]).to_pandas()


def plain(kind: Any) -> Any:
    """A type without dictionaries, inside structs (such as intervals) and lists (such as sets) too.

    >>> plain(pa.dictionary(pa.int32(), pa.string()))
    DataType(string)
    """
    if pa.types.is_dictionary(kind):
        return plain(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, plain(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(plain(kind.value_type))
    return kind


def _cast(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_struct(array.type) and pa.types.is_struct(kind) and array.type != kind:
        children = [array.field(i) for i in range(array.type.num_fields)]
        cast = [_cast(child, field.type) for child, field in zip(children, kind, strict=True)]
        return pa.StructArray.from_arrays(cast, fields=list(kind), mask=array.is_null())
    return array if array.type == kind else array.cast(kind)


def _part() -> int:
    context = TaskContext.get()
    return context.partitionId() if context else 0


def _chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same records in larger batches: small batches are joined."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= CHUNK:
            yield pa.concat_batches(waiting)
            waiting = []
    if sum(map(len, waiting)):
        yield pa.concat_batches(waiting)
