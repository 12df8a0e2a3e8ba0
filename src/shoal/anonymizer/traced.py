"""The trace as a column: how each tuple left a lane in another process, beside what is published of it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.anonymizer.released import Released
from shoal.blocks import OUTCOMES

TRACE = "shoal_trace"
ARRIVED = "shoal_arrived"
"""The column of a payload with the clock of the stream at the end of the batch with which a tuple arrived."""

TRACE_TYPE = pa.struct([
    ("record", pa.int64()), ("how", pa.string()), ("cluster", pa.int64()), ("arrived", pa.float64()),
    ("released", pa.float64()), ("lane", pa.int64()), ("place", pa.int64()),
])  # fmt: skip
"""`record` is the row number that the record came with, and `place` counts the tuples that left its lane."""


def with_trace(
    published: pa.RecordBatch, left: Released, rows: NDArray[np.int64], lane: int, lanes: int, before: int,
    moments: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> pa.RecordBatch:  # fmt: skip
    """What is published, with the trace. A tuple that is not published has a row of nulls beside its trace.

    The moments are those when the tuples arrived and left.
    """
    tuples, number = left.tuples, left.groups.number
    outside = tuples.group < 0
    if len(published) < len(rows):
        place = np.cumsum(~outside) - 1
        published = published.take(pa.array(place, mask=outside))
    cluster = number[tuples.group] * (lanes + 1) + lane if len(number) else np.zeros(len(rows), np.int64)
    columns = [
        pa.array(rows), pa.array(np.array(OUTCOMES, object)[tuples.how], pa.string()), pa.array(cluster, mask=outside),
        *map(pa.array, moments), pa.array(np.full(len(rows), lane)),
        pa.array(before + np.arange(len(rows))),
    ]  # fmt: skip
    return published.append_column(TRACE, pa.StructArray.from_arrays(columns, fields=list(TRACE_TYPE)))
