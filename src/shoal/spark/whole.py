"""The steps of a batch query: the rows of a lane come one after the other, and the stream has an end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

import pyarrow as pa

from shoal.spark.job import Job
from shoal.spark.lane import lane
from shoal.spark.wire import Row, from_batch, to_batch


class Whole:
    """Every lane from its first row to its last; rows of other keys than `keys` pass through."""

    def __init__(self, job: Job, keys: tuple[int, ...]) -> None:
        self._job, self._keys = job, keys

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in from_batch(batch))
        for key, some in groupby(rows, lambda row: row.key):
            for told in self._lane(key, some) if key in self._keys else ([row] for row in some):
                if told:
                    yield to_batch(told)

    def _lane(self, key: int, rows: Iterable[Row]) -> Iterator[list[Row]]:
        here = lane(self._job, key)
        for _, together in groupby(rows, lambda row: (row.part, row.seq)):
            yield here.take_in(list(together), in_order=True)
        yield here.close()
