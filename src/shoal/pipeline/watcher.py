"""Whoever watches a pipeline: what it is told, and when."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from shoal.anonymizer import Anonymizer, FilterStats, Stats


class Watcher(Protocol):
    """Is told what happens, in figures, by the thread of the pipeline."""

    def started(self, stats: Stats | FilterStats) -> None:
        """It is ready, and goes on from these figures."""

    def after(self, anonymizer: Anonymizer, answer: pa.RecordBatch) -> None:
        """The anonymizer was given something, and this left."""

    def checkpointed(self, seconds: float, size: int) -> None:
        """A checkpoint of so many bytes was written, which took so long."""

    def lag(self, waiting: int | None) -> None:
        """So much waits in the source; None where that cannot be known."""

    def stopped(self, reason: str) -> None:
        """It is over. The reason holds no data."""
