"""The clock of a query ticks when a tuple is due, and when it does not know."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal-stream[spark]'")

from shoal.spark import clock
from shoal.spark.clock import PATIENCE, TICK, ClockReader, Reports
from shoal.spark.lane import LAST

NOT_ENDED = Path("a file that is not there")


class Time:
    """A time that a test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(clock.time, "time", lambda: self.now)


def progress(reports: Reports, due: float | None, lanes: int = 3, run: str = "a") -> Any:
    return SimpleNamespace(progress=SimpleNamespace(runId=run, observedMetrics={reports.name: {"lanes": lanes, "due": due}}))


def test_it_ticks_when_a_tuple_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    time, reports = Time(monkeypatch), Reports()
    reader = ClockReader(reports.file, NOT_ENDED)
    first = reader.latestOffset()
    assert first == {"tick": 1_000_000, "ended": 0}  # what waits is not known
    time.now += 1
    assert reader.latestOffset() == first  # the report on that batch may come yet
    reports.onQueryProgress(progress(reports, 1_005_000))
    time.now = 1004.9
    assert reader.latestOffset() == first
    time.now = 1005
    assert reader.latestOffset() == {"tick": 1_005_000, "ended": 0}
    reports.onQueryProgress(progress(reports, None))
    time.now = 1e9
    assert reader.latestOffset() == {"tick": 1_005_000, "ended": 0}  # nothing waits
    before = {"tick": 1, "ended": 0}
    parts = [reader.partitions(before, {"tick": tick, "ended": ended}) for tick, ended in ((1, 0), (2, 0), (2, 5))]
    assert [[part.value for part in found] for found in parts] == [[], [TICK], [LAST]]


def test_it_ticks_if_a_report_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    time, reports = Time(monkeypatch), Reports()
    reader = ClockReader(reports.file, NOT_ENDED)
    reports.onQueryProgress(progress(reports, None))
    assert reader.latestOffset() == {"tick": 0, "ended": 0}
    time.now += 1
    reader.commit({"tick": 0, "ended": 0})  # a batch of records has begun
    assert reader.latestOffset() == {"tick": 0, "ended": 0}
    time.now += PATIENCE
    assert reader.latestOffset() == {"tick": int(1000 * time.now), "ended": 0}


def test_two_queries_of_one_data_frame_share_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    Time(monkeypatch)
    reports = Reports()
    reader = ClockReader(reports.file, NOT_ENDED)
    reports.onQueryProgress(progress(reports, 1_003_000, run="a"))
    reports.onQueryProgress(progress(reports, None, run="b"))
    assert reader._read(reports.file) == (1000.0, 1003.0)
    reports.onQueryProgress(progress(reports, None, lanes=0, run="a"))  # a batch without lanes says nothing
    assert reader._read(reports.file) == (1000.0, 1003.0)
    reports.onQueryTerminated(SimpleNamespace(runId="a"))
    reports.onQueryProgress(progress(reports, None, run="b"))
    assert reader._read(reports.file) == (1000.0, math.inf)
