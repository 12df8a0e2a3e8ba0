"""The first step: records become tuples, each on its way to its lane."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.anonymizer.travellers import Travellers, packed
from shoal.columns.encode import Encoder
from shoal.columns.observations import ObservationEncoder
from shoal.spark.job import Job
from shoal.spark.wire import Row, stream, to_batch

ROW = "shoal_row"
"""A digest of a record, by which those of one time are put in order: the same order whenever a batch is run again."""

TOGETHER = 65_536
"""Records that are told of together."""


class Intake:
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
            split = self._observed if self._job.policy.is_filter else self._encoded
            yield to_batch(split(encoder, records, rows, seq))

    def _encoded(self, encoder: Encoder, records: pa.RecordBatch, rows: NDArray[np.int64], seq: int) -> Iterator[Row]:
        encoded = encoder.encode(records, rows)
        tree, time, size = self._job.cells.tree, encoded.batch.time, len(encoded.rows)
        lane = tree.lanes(encoded.batch.values) if tree else np.zeros(size, np.int64)
        newest = float(time.max()) if size else -np.inf
        went = np.zeros(size, np.int64)
        everyone = Travellers(encoded.batch, pa.Table.from_batches([encoded.kept]), encoded.rows, went)
        for row, mine in self._rows(lane, seq, newest, len(rows), len(rows) - size):
            yield row._replace(tuples=packed(everyone.part(mine)))

    def _observed(
        self, encoder: ObservationEncoder, records: pa.RecordBatch, rows: NDArray[np.int64], seq: int
    ) -> Iterator[Row]:
        observed = encoder.encode(records, rows)
        lane = (observed.item[:, 0] % np.uint64(self._job.lanes)).astype(np.int64)
        for row, mine in self._rows(lane, seq, -np.inf, len(rows), len(rows) - len(observed.rows)):
            if len(mine) or row.received:
                some = observed.batch.take(pa.array(mine)).append_column(ROW, pa.array(observed.rows[mine]))
                yield row._replace(tuples=stream([some]))

    def _rows(
        self, lane: NDArray[np.int64], seq: int, newest: float, received: int, rejected: int
    ) -> Iterator[tuple[Row, NDArray[np.int64]]]:
        """A row for each lane, and which records are its own."""
        counts = np.bincount(lane, minlength=self._job.lanes)
        order = np.split(np.argsort(lane, kind="stable"), np.cumsum(counts)[:-1])
        for number, mine in enumerate(order):
            row = Row(self._job.cells.keys[number], _part(), seq, newest, counts.astype(np.int64).tobytes())
            yield (row._replace(received=received, rejected=rejected) if number == 0 else row), mine


def _part() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context else 0


def _chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Small batches together."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= TOGETHER:
            yield pa.concat_batches(waiting)
            waiting = []
    if sum(map(len, waiting)):
        yield pa.concat_batches(waiting)
