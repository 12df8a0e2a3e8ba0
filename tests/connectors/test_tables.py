"""Sinks that write tables keep what every sink promises, each against the real thing."""

from __future__ import annotations

from pathlib import Path

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
