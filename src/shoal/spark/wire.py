"""What travels between the steps of a query: few rows that hold many tuples, so that Spark moves bytes and no values.

A row is for one lane. It tells how many arrived in each lane, those of others included, and the newest time: so every lane
is called whenever anything arrives anywhere, and its clock is the stream's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

SCHEMA = (
    "key int, part int, seq bigint, newest double, counts binary, tuples binary, published binary, "
    "received bigint, rejected bigint"
)
_ARROW = pa.schema([
    ("key", pa.int32()), ("part", pa.int32()), ("seq", pa.int64()), ("newest", pa.float64()), ("counts", pa.binary()),
    ("tuples", pa.binary()), ("published", pa.binary()), ("received", pa.int64()), ("rejected", pa.int64()),
])  # fmt: skip


MOST = 32_768
"""Published rows in one row."""


class Row(NamedTuple):
    key: int
    part: int = 0  # what came in one part and one sequence was told of together
    seq: int = 0
    newest: float = -math.inf
    counts: bytes = b""
    tuples: bytes | None = None
    published: bytes | None = None
    received: int = 0
    rejected: int = 0

    @property
    def arrived(self) -> NDArray[np.int64]:
        return np.frombuffer(self.counts, np.int64)


def to_batch(rows: Iterable[Row]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([row._asdict() for row in rows], _ARROW)


def to_pandas(rows: Iterable[Row]) -> Any:
    return to_batch(rows).to_pandas()


def from_batch(batch: pa.RecordBatch) -> Iterator[Row]:
    for row in batch.select(_ARROW.names).to_pylist():
        yield Row(**row)


def from_pandas(frame: Any) -> Iterator[Row]:
    return from_batch(pa.RecordBatch.from_pandas(frame, _ARROW, preserve_index=False))


def stream(batches: Iterable[pa.RecordBatch]) -> bytes | None:
    """Batches as one Arrow stream; None if there are none."""
    whole = _together(batches)
    return None if whole is None else _stream(whole)


def streams(batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """Batches as Arrow streams of at most `MOST` rows each: Spark holds a value of a row several times.

    >>> batch = pa.record_batch({"age": range(MOST + 1)})
    >>> [pa.ipc.open_stream(found).read_all().num_rows for found in streams([batch])] == [MOST, 1]
    True
    """
    whole = _together(batches)
    if whole is None:
        return
    for start in range(0, len(whole), MOST):
        yield _stream(whole.slice(start, MOST))


def _together(batches: Iterable[pa.RecordBatch]) -> pa.Table | None:
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks() if tables else None


def _stream(table: pa.Table) -> bytes:
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return bytes(out.getvalue())
