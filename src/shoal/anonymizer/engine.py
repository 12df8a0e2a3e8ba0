"""The engine of an anonymizer. One kind holds a window; the other releases or withholds each record at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.anonymizer.snapshot import Snapshot
from shoal.anonymizer.stats import FilterStats, Stats
from shoal.columns import Rejection


class Answer(NamedTuple):
    """The records that leave, how they left, and the records that were not accepted."""

    published: pa.RecordBatch
    trace: Callable[[], pa.RecordBatch]  # can be called only until the next answer is made
    rejected: list[Rejection]


BAG_SCHEMA = pa.schema([("attribute", pa.string()), ("bag", pa.int64()), ("value", pa.string())])
"""The second output of a policy with `as: bag`: one row per value."""

NO_BAGS = pa.RecordBatch.from_pylist([], BAG_SCHEMA)


class UserCounts(NamedTuple):
    """The numbers of users in the last window of z-anonymity."""

    users: int
    exposed: NDArray[np.int64]  # for each item of that window: how many users exposed it


class Engine(ABC):
    fields: tuple[str, ...]
    """The fields of a record that the engine reads."""

    generalized: frozenset[str]
    """The published fields that may be intervals."""

    @property
    @abstractmethod
    def no_trace(self) -> pa.RecordBatch:
        """A trace without rows."""

    @abstractmethod
    def arrive(self, batch: pa.RecordBatch, rows: NDArray[np.int64]) -> Answer:
        """Take in records with these row numbers."""

    def arrive_alone(self, record: Mapping[str, Any], row: int) -> Answer | None:
        """Take in one record; None if that takes a batch."""
        return None

    @abstractmethod
    def tick(self, now: float) -> Answer:
        """Move the clock on."""

    @abstractmethod
    def set_clock(self, now: float) -> None:
        """Set the clock back, after records with wrong times moved it ahead."""

    @abstractmethod
    def flush(self) -> Answer:
        """Release everything that waits."""

    def relearn(self) -> None:
        """Learn again, from the next records, how to split the stream; does nothing if the stream is not split."""
        return

    @abstractmethod
    def stats(self, received: int, reasons: Mapping[str, int]) -> Stats | FilterStats: ...

    @property
    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """How much is held, by kind."""

    def bags(self) -> pa.RecordBatch:
        """The bags of exact values that became full since the last call; see `BAG_SCHEMA`."""
        return NO_BAGS

    def user_counts(self) -> UserCounts | None:
        """The counts that the model of z-anonymity needs; None for other engines. Counting takes some time."""
        return None

    @abstractmethod
    def saved(self) -> Snapshot:
        """The whole state."""

    @abstractmethod
    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a saved state."""


def joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """All batches as one. Empty batches do not decide the types, unless all batches are empty."""
    some = [batch for batch in batches if batch.num_rows] or batches[-1:]
    return some[0] if len(some) == 1 else pa.concat_batches(some)
