"""What does the work behind an anonymizer: one engine holds a window, another releases or withholds at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.anonymizer.snapshot import Snapshot
from shoal.anonymizer.stats import FilterStats, Stats
from shoal.columns.rejection import Rejection


class Answer(NamedTuple):
    """What leaves, how it left, and the records that were not accepted."""

    published: pa.RecordBatch
    trace: Callable[[], pa.RecordBatch]  # can be asked until there is another answer
    rejected: list[Rejection]


class Crowd(NamedTuple):
    """Who was there in the last window of z-anonymity, as numbers."""

    users: int
    exposed: NDArray[np.int64]  # of each item that anyone exposed: how many of them did


class Engine(ABC):
    fields: tuple[str, ...]
    """What it reads of a record."""

    generalized: frozenset[str]
    """The published fields that may be intervals."""

    @property
    @abstractmethod
    def no_trace(self) -> pa.RecordBatch:
        """The trace of nothing."""

    @abstractmethod
    def arrive(self, batch: pa.RecordBatch, rows: NDArray[np.int64]) -> Answer:
        """Take in records with these row numbers."""

    @abstractmethod
    def tick(self, now: float) -> Answer:
        """Move the clock on."""

    @abstractmethod
    def flush(self) -> Answer:
        """Let go of everything that waits."""

    def relearn(self) -> None:
        """Learn anew from what comes next how to split the stream; nothing where it is not split."""
        return

    @abstractmethod
    def stats(self, received: int, reasons: Mapping[str, int]) -> Stats | FilterStats: ...

    @property
    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """How much is held, by name."""

    def crowd(self) -> Crowd | None:
        """What the model of z-anonymity needs to know, where there is any; counting it takes some time."""
        return None

    @abstractmethod
    def saved(self) -> Snapshot:
        """All that is needed to go on."""

    @abstractmethod
    def restore(self, snapshot: Snapshot) -> None:
        """Go on from there."""


def joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """One batch; those without rows do not decide its types, unless all are."""
    some = [batch for batch in batches if batch.num_rows] or batches[-1:]
    return some[0] if len(some) == 1 else pa.concat_batches(some)
