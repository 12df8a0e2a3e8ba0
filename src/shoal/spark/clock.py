"""The clock of a streaming query with a time window: a source that gives a tick when a waiting tuple is due, and nothing else.

Spark has timers. But as long as a query may set one, Spark starts batch after batch, also when none is set: such a query never
rests, and never ends with `availableNow`. With this clock, no batch starts that has nothing to do. In each batch the lanes
report when the next tuple is due. A listener on the driver writes that moment to a file, and the clock looks there. If the
moment is not known, as after a restart, the clock ticks; so a report that is lost costs a batch, and no tuple stays.

The same source tells the lanes that the input has ended, if a `Drain` asks for it: under `count` it does nothing else.
"""

from __future__ import annotations

import contextlib
import math
import secrets
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming import StreamingQueryListener

from shoal.spark.drain import asked
from shoal.spark.job import Job
from shoal.spark.lane import LAST
from shoal.spark.message import SCHEMA

TICK = -1
"""The part number of a tick; that of the end of the input is `LAST`."""

_WRAPPED = "spark.sql.streaming.triggerAvailableNowWrapper.enabled"
"""With this, `availableNow` runs as many batches as the input needs, also beside a source in Python; else it runs one."""

PATIENCE = 2.0
"""The clock waits so many seconds for the report on a batch, then it ticks."""


class Clock(DataSource):  # type: ignore[misc]
    """A source with one row for each tick."""

    @classmethod
    def name(cls) -> str:
        return "shoal_clock"

    def schema(self) -> str:
        return "tick int"

    def streamReader(self, schema: Any) -> ClockReader:
        report = self.options["report"]
        return ClockReader(Path(report) if report else None, Path(self.options["ended"]))


class ClockReader(DataSourceStreamReader):  # type: ignore[misc]
    """Spark asks it for an offset before each batch, and reports each batch that is done. The offset is the time of the last
    tick, and the last time at which the input was declared to have ended."""

    def __init__(self, report: Path | None, ended: Path) -> None:
        self._report, self._ended, self._ran, self._tick = report, ended, 0.0, 0.0

    def initialOffset(self) -> dict[str, int]:
        return {"tick": 0, "ended": 0}

    def latestOffset(self) -> dict[str, int]:
        now = time.time()
        if self._report is not None:
            written, due = self._read(self._report)
            if due <= now if written >= self._ran else now >= self._ran + PATIENCE:
                self._ran = self._tick = now
        return {"tick": int(1000 * self._tick), "ended": asked(self._ended)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        if start == end:
            return []
        return [InputPartition(LAST if end["ended"] > start["ended"] else TICK)]

    def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
        yield (partition.value,)

    def commit(self, end: dict[str, int]) -> None:
        self._ran = time.time()  # another batch has begun, and what was reported before is old

    @staticmethod
    def _read(report: Path) -> tuple[float, float]:
        """When the last report was written, and when the next tuple is due."""
        try:
            written, due = report.read_text().split()
        except (OSError, ValueError):  # there is none yet
            return 0.0, 0.0
        return float(written), float(due)


class Reports(StreamingQueryListener):  # type: ignore[misc]
    """Writes to a file, for the clock, when the next tuple is due in any running query of one DataFrame."""

    def __init__(self) -> None:
        self.name = f"shoal clock {secrets.token_hex(8)}"
        self._due: dict[Any, float] = {}
        self._folder = TemporaryDirectory(prefix="shoal-clock-", ignore_cleanup_errors=True)
        self.file = Path(self._folder.name, "report")

    def onQueryStarted(self, event: Any) -> None: ...

    def onQueryIdle(self, event: Any) -> None: ...

    def onQueryProgress(self, event: Any) -> None:
        found = event.progress.observedMetrics.get(self.name)
        if found is None or not found["lanes"]:
            return
        self._due[event.progress.runId] = math.inf if found["due"] is None else found["due"] / 1000
        draft = self.file.with_name("draft")
        with contextlib.suppress(OSError):  # then the clock ticks
            draft.write_text(f"{time.time()} {min(self._due.values())}")
            draft.rename(self.file)

    def onQueryTerminated(self, event: Any) -> None:
        self._due.pop(event.runId, None)


def ticks(spark: SparkSession, job: Job, report: Path | str, ended: Path) -> DataFrame:
    """A message for each lane at each tick, and when the input has ended."""
    spark.dataSource.register(Clock)
    spark.conf.set(_WRAPPED, "true")
    rows = spark.readStream.format(Clock.name()).options(report=str(report), ended=str(ended)).load()
    keys = F.explode(F.array(*map(F.lit, job.routing.keys[: job.lanes])))
    none = bytearray(job.counts(np.zeros(job.lanes, np.int64)))
    known = {"key": F.col("key"), "part": F.col("tick"), "newest": F.lit(-math.inf), "counts": F.lit(none)}
    kinds = dict(field.split() for field in SCHEMA.split(", "))
    zero = {name: F.lit(0) for name in ("seq", "received", "rejected", "at")}
    columns = {**dict.fromkeys(kinds, F.lit(None)), **zero, **known}
    return rows.select("tick", keys.alias("key")).select(
        *(columns[name].cast(kind).alias(name) for name, kind in kinds.items())
    )


def at_batch_time(messages: DataFrame) -> DataFrame:
    """Messages with the time of their batch, which Spark keeps with the batch, so that it is the same if it is run again."""
    return messages.withColumn("at", F.unix_millis(F.current_timestamp()))


def observed(messages: DataFrame, reports: Reports) -> DataFrame:
    """Report to Spark when the next tuple is due; lanes is 0 if none has said."""
    return messages.observe(reports.name, F.count("moment").alias("lanes"), F.min(F.nullif("moment", F.lit(0))).alias("due"))
