"""Sinks that write tables keep what every sink promises, each against the real thing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

from connectors.conformance import SinkConformance
from connectors.processes import Broker
from connectors.table_stores import DeltaStore, IcebergStore, ParquetStore, PostgresStore, TableStore


class TestParquet(SinkConformance):
    @pytest.fixture
    def store(self, tmp_path: Path) -> TableStore:
        return ParquetStore(tmp_path)


class TestDelta(SinkConformance):
    @pytest.fixture
    def store(self, tmp_path: Path) -> TableStore:
        return DeltaStore(tmp_path)


class TestIceberg(SinkConformance):
    @pytest.fixture
    def store(self, tmp_path: Path) -> TableStore:
        return IcebergStore(tmp_path)


class TestPostgres(SinkConformance):
    @pytest.fixture
    def store(self, postgres_server: Broker) -> TableStore:
        return PostgresStore(postgres_server)


class Forced:
    """Watches what is forced to the disk."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._times: dict[str, float] = {}
        real = os.fsync

        def watched(file: int) -> None:
            real(file)
            path = os.readlink(f"/proc/self/fd/{file}")
            self._times[path] = os.stat(path).st_mtime_ns
            self._times[str(os.stat(path).st_ino)] = self._times[path]  # it may be renamed

        monkeypatch.setattr(os, "fsync", watched)

    def check(self, folder: Path) -> None:
        """Files and folders, but for SQLite's own."""
        for path in folder.rglob("*"):
            if not path.name.startswith(("catalog.db", "_lock", "00000-")):  # the last is of the table before its first commit
                found = self._times.get(str(path), self._times.get(str(path.stat().st_ino)))
                assert found is not None and found >= path.stat().st_mtime_ns, path


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> Forced:
    return Forced(monkeypatch)


@pytest.mark.parametrize("store", [ParquetStore, DeltaStore, IcebergStore])
def test_a_commit_is_forced_to_the_disk(tmp_path: Path, forced: Forced, store: Any) -> None:
    """Only then may the journal count it."""
    sink = store(tmp_path).sink()
    sink.begin(None, 0)
    sink.caught_up(0)
    for number in range(3):
        sink.write(pa.record_batch({"n": [number, number]}), 2 * number)
        sink.store_waiting()
        forced.check(tmp_path)
    sink.close()


def test_a_checkpoint_of_delta_is_forced_to_the_disk(tmp_path: Path, forced: Forced) -> None:
    """Readers begin at it, so a torn one would make the table unreadable."""
    store = DeltaStore(tmp_path)
    sink = store.sink()
    sink.begin(None, 0)
    sink.write(pa.record_batch({"n": [0, 0]}), 0)
    mark = sink.mark
    sink.close()
    deltalake.DeltaTable(store.path).alter.set_table_properties({"delta.checkpointInterval": "2"})
    sink = store.sink()
    sink.begin(mark, 2)
    for number in range(1, 4):
        sink.write(pa.record_batch({"n": [number, number]}), 2 * number)
        forced.check(tmp_path)
    sink.close()
    assert list(store.path.rglob("*.checkpoint.parquet"))
