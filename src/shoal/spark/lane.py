"""What becomes of the rows that reach a lane, the common lane, or a lane of z-anonymity; between batches it is sealed."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.anonymizer.filter import Filter
from shoal.anonymizer.member import Left, Member
from shoal.anonymizer.snapshot import Snapshot
from shoal.anonymizer.snapshot import packed as packed_snapshot
from shoal.anonymizer.snapshot import unpacked as unpacked_snapshot
from shoal.anonymizer.travellers import Travellers, packed, together, unpacked
from shoal.columns.encode import event_times
from shoal.columns.rejection import Rejections
from shoal.spark.intake import ROW
from shoal.spark.job import Job
from shoal.spark.wire import Row, streams

LAST = 2**31 - 1
"""The part that comes after all others."""


class Lane(ABC):
    """What a key of Spark's stands for."""

    next: float | None = None
    """When something may have to be done even if nothing arrives."""

    newest = -math.inf
    """The newest time that it was told of."""

    def __init__(self, job: Job, number: int) -> None:
        self._job, self._number = job, number
        self._key = job.cells.keys[number]

    @abstractmethod
    def take_in(self, rows: Sequence[Row], in_order: bool) -> list[Row]:
        """Rows that were told of together. If what they hold is not in order yet, it is put in order by time and digest."""

    def _published(self, batches: Iterable[pa.RecordBatch], row: Row) -> list[Row]:
        """What left, as an answer to a row."""
        return [Row(self._key, row.part, row.seq, published=some) for some in streams(batches)]

    def tick(self, now: float) -> list[Row]:
        """Move the clock on while nothing arrives."""
        return []

    def close(self) -> list[Row]:
        """The end of the stream."""
        return []

    @abstractmethod
    def snapshot(self) -> bytes: ...

    @abstractmethod
    def restore(self, data: bytes) -> None: ...


class Own(Lane):
    """One of several lanes, or the only one."""

    def __init__(self, job: Job, number: int) -> None:
        super().__init__(job, number)
        self._member = Member(job.policy, job.key, np.array(job.whole, bool), number)

    @property
    def next(self) -> float | None:  # type: ignore[override]
        return self._member.next

    def take_in(self, rows: Sequence[Row], in_order: bool) -> list[Row]:
        counts = np.sum([row.arrived for row in rows], axis=0)
        own = together([unpacked(row.tuples) for row in rows if row.tuples])
        if not in_order:
            own = own.part(np.lexsort((own.rows, own.tuples.time)))
        self.newest = max(self.newest, *(row.newest for row in rows))
        return self._told(self._member.arrive(own, counts, self.newest), rows[0], counts.tobytes())

    def tick(self, now: float) -> list[Row]:
        self.newest = max(self.newest, now)
        return self._told(self._member.tick(now), Row(self._key), np.zeros(self._job.lanes, np.int64).tobytes())

    def close(self) -> list[Row]:
        is_only = self._job.lanes == 1
        left = self._member.flush() if is_only else self._member.hand_over_all()
        return self._told(left, Row(self._key, LAST), np.zeros(self._job.lanes, np.int64).tobytes())

    def snapshot(self) -> bytes:
        return self._member.snapshot()

    def restore(self, data: bytes) -> None:
        self._member.restore(data)

    def _told(self, left: Left, row: Row, counts: bytes) -> list[Row]:
        """What left, and, to the common lane, who goes there and what it should know of."""
        told = self._published(left.published, row)
        if self._job.lanes > 1:
            handed = packed(left.handed) if len(left.handed.rows) else None
            told.append(Row(self._job.cells.keys[-1], row.part, row.seq, self.newest, counts, handed))
        return told


class Common(Own):
    """The lane to which thin lanes hand over."""

    def take_in(self, rows: Sequence[Row], in_order: bool) -> list[Row]:
        arrived = max(int(row.arrived.sum()) for row in rows)
        handed = [unpacked(row.tuples) for row in rows if row.tuples]
        self.newest = max(self.newest, *(row.newest for row in rows))
        if handed or arrived:
            left = self._member.join(together(handed) if handed else self._nobody(), arrived, self.newest)
        else:
            left = self._member.tick(self.newest)
        return self._told(left, rows[0], b"")

    def close(self) -> list[Row]:
        return self._told(self._member.flush(), Row(self._key, LAST), b"")

    def _nobody(self) -> Travellers:
        return self._member.hand_over_none()

    def _told(self, left: Left, row: Row, counts: bytes) -> list[Row]:
        return self._published(left.published, row)


class Items(Lane):
    """A lane of z-anonymity: what is counted of an item is counted in its lane alone."""

    def __init__(self, job: Job, number: int) -> None:
        super().__init__(job, number)
        self._filter = Filter(job.policy, job.pseudonyms)

    def take_in(self, rows: Sequence[Row], in_order: bool) -> list[Row]:
        told = rows[0]
        received, rejected = sum(row.received for row in rows), sum(row.rejected for row in rows)
        batch = self._together(rows, in_order)
        answer = self._filter.arrive(batch, np.arange(len(batch))) if batch is not None else self._filter.flush()
        counted = Row(self._key, told.part, told.seq, received=received, rejected=rejected + len(answer.rejected))
        return [counted, *self._published([answer.published], told)]

    def _together(self, rows: Sequence[Row], in_order: bool) -> pa.RecordBatch | None:
        tables = [pa.ipc.open_stream(row.tuples).read_all() for row in rows if row.tuples]
        batches = pa.concat_tables(tables).combine_chunks().to_batches() if tables else []
        if not batches:
            return None
        batch = batches[0]
        digest = np.asarray(batch.column(ROW).to_numpy())
        batch = batch.drop_columns([ROW])
        if in_order:
            return batch
        time = event_times(batch, self._job.policy, Rejections(len(batch)))
        return batch.take(pa.array(np.lexsort((digest, time))))

    def snapshot(self) -> bytes:
        header, arrays, kept = self._filter.saved()
        return packed_snapshot(Snapshot({"policy": self._job.policy.fingerprint, **header}, arrays, kept))

    def restore(self, data: bytes) -> None:
        self._filter.restore(unpacked_snapshot(data, self._job.policy.fingerprint))


def lane(job: Job, key: int) -> Lane:
    """The lane that a key stands for."""
    number = job.cells.keys.index(key)
    kind: Any = Items if job.policy.is_filter else Common if number == job.lanes else Own
    return kind(job, number)
