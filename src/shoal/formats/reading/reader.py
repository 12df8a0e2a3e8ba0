"""What a reader yields, and what every reader can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa


class Block(NamedTuple):
    """Some consecutive records of an input."""

    batch: pa.RecordBatch  # the asked fields, in the asked order
    rows: npt.NDArray[np.int64]  # the input row of each record, counted from 0, malformed records included
    bad: list[tuple[int, str]]  # (row, reason) of the malformed records; a reason never holds data
    names: Collection[str] = ()  # all fields of the records, as far as they were looked at, also those not asked for


class Reader(ABC):
    """Iterates over the blocks of one input."""

    @abstractmethod
    def __iter__(self) -> Iterator[Block]: ...

    @abstractmethod
    def progress(self) -> tuple[int, int | None]:
        """`(bytes done, bytes in all)`; the second is None where it cannot be known."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def slices(batch: pa.RecordBatch, rows: int) -> Iterator[pa.RecordBatch]:
    """The batch in pieces of at most `rows` records.

    >>> [piece.num_rows for piece in slices(pa.record_batch({"a": [1, 2, 3]}), 2)]
    [2, 1]
    """
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)
