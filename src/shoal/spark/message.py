"""The messages between the steps of a query: Spark rows that hold many tuples each, as bytes that Spark need not read.

A message goes to one lane. It says what the newest time is, and under `count` how many tuples arrived in each lane. So every
lane runs whenever a tuple arrives in any lane, and its clock is the clock of the stream.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.anonymizer import streamed

if TYPE_CHECKING:
    from shoal.spark.job import Job

SCHEMA = (
    "key int, part int, seq bigint, newest double, counts binary, tuples binary, published binary, "
    "received bigint, rejected bigint, at bigint, moment bigint"
)
_ARROW = pa.schema([
    ("key", pa.int32()), ("part", pa.int32()), ("seq", pa.int64()), ("newest", pa.float64()), ("counts", pa.binary()),
    ("tuples", pa.binary()), ("published", pa.binary()), ("received", pa.int64()), ("rejected", pa.int64()),
    ("at", pa.int64()), ("moment", pa.int64()),
])  # fmt: skip

MOST = 32_768
"""The highest number of published records in one message."""


class Message(NamedTuple):
    key: int
    part: int = 0  # messages of one part and one sequence number belong together
    seq: int = 0
    newest: float = -math.inf
    counts: bytes = b""
    tuples: bytes | None = None
    published: bytes | None = None
    received: int = 0
    rejected: int = 0
    at: int = 0  # the time of Spark's batch, in milliseconds
    moment: int | None = None  # when the lane's next tuple is due, in milliseconds; 0 if none waits

    @property
    def arrived(self) -> NDArray[np.int64]:
        """How many tuples arrived: in each lane under `count`, else in all of them."""
        return np.frombuffer(self.counts, np.int64)


def to_batch(messages: Iterable[Message]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([message._asdict() for message in messages], _ARROW)


def from_batch(batch: pa.RecordBatch) -> Iterator[Message]:
    for row in batch.select(_ARROW.names).to_pylist():
        yield Message(**row)


def from_pandas(frame: Any) -> Iterator[Message]:
    return from_batch(pa.RecordBatch.from_pandas(frame, _ARROW, preserve_index=False))


def counts(messages: Sequence[Message]) -> tuple[int, int]:
    """How many records were received and rejected."""
    return sum(message.received for message in messages), sum(message.rejected for message in messages)


def one_per_lane(
    job: Job, lane: NDArray[np.int64], cause: Message, newest: float
) -> Iterator[tuple[Message, NDArray[np.int64]]]:
    """A message for each lane, and the numbers of its records; `lane` says where each record goes.

    Part, sequence number and what was received are those of `cause`; the first message has what was received.
    """
    counts = np.bincount(lane, minlength=job.lanes)
    order = np.split(np.argsort(lane, kind="stable"), np.cumsum(counts)[:-1])
    lane_counts = job.counts(counts)
    for number, own in enumerate(order):
        seen = (cause.received, cause.rejected) if number == 0 else (0, 0)
        yield Message(job.routing.keys[number], cause.part, cause.seq, newest, lane_counts, None, None, *seen), own


def streams(batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """Batches as Arrow streams of at most `MOST` records each, because Spark holds several copies of a value.

    >>> batch = pa.record_batch({"age": range(MOST + 1)})
    >>> [pa.ipc.open_stream(found).read_all().num_rows for found in streams([batch])] == [MOST, 1]
    True
    """
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    if not tables:
        return
    table = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
    for start in range(0, len(table), MOST):
        yield bytes(streamed(table.slice(start, MOST)))
