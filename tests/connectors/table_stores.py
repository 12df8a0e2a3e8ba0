"""What sinks write tables to, in a test: Parquet files, PostgreSQL, Delta Lake, Iceberg."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import deltalake
import psycopg
import pyarrow as pa
import pyarrow.parquet
import pytest
from pyiceberg.catalog import load_catalog

from connectors.conformance import Store
from connectors.processes import Broker
from shoal.connectors.connector import Sink
from shoal.connectors.delta_sink import DeltaSink
from shoal.connectors.iceberg_sink import IcebergSink
from shoal.connectors.parquet_sink import ParquetSink
from shoal.connectors.postgres_sink import PostgresSink
from shoal.connectors.rolling import RollingSink

AT_ONCE = {"rows": 1}
LATER = {"rows": "1M", "every": "1h"}
_names = map("t{}".format, itertools.count())


class TableStore(Store):
    """A table with the number of each tuple in the column `nr`."""

    roll: dict[str, Any] = AT_ONCE
    spool: Path | None = None

    def opened(self, kind: type[RollingSink], **settings: Any) -> RollingSink:
        sink = kind(kind.Settings.model_validate({"roll": self.roll, "number": "nr", **settings}))  # type: ignore[attr-defined]
        sink.spool = self.spool
        return sink

    def rows(self) -> list[dict[str, Any]]:
        """All rows, in the order of their numbers."""
        raise NotImplementedError

    def held(self) -> list[tuple[int, int]]:
        return [(row["nr"], row["n"]) for row in self.rows()]


class ParquetStore(TableStore):
    def __init__(self, folder: Path) -> None:
        self.path = folder / "clean"

    def sink(self) -> Sink:
        return self.opened(ParquetSink, path=self.path)

    def rows(self) -> list[dict[str, Any]]:
        found: list[pa.Table] = []
        for entry in sorted(self.path.glob("_manifest/*.json")):
            for name, count in json.loads(entry.read_text())["files"].items():
                table = pyarrow.parquet.read_table(self.path / name, partitioning=None)
                assert table.num_rows == count
                found.append(table)
        assert len(list(self.path.rglob("[0-9]*.parquet"))) == len(found)
        return pa.concat_tables(found, promote_options="default").sort_by("nr").to_pylist()


class DeltaStore(TableStore):
    def __init__(self, folder: Path) -> None:
        self.path = folder / "delta"

    def sink(self) -> Sink:
        return self.opened(DeltaSink, path=self.path)

    def rows(self) -> list[dict[str, Any]]:
        return pa.table(deltalake.DeltaTable(self.path).to_pyarrow_table()).sort_by("nr").to_pylist()


class IcebergStore(TableStore):
    def __init__(self, folder: Path) -> None:
        self.catalog = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/warehouse"}

    def sink(self) -> Sink:
        return self.opened(IcebergSink, table="clean.people", catalog=self.catalog)

    def rows(self) -> list[dict[str, Any]]:
        return load_catalog("default", **self.catalog).load_table("clean.people").scan().to_arrow().sort_by("nr").to_pylist()


class PostgresStore(TableStore):
    def __init__(self, broker: Broker) -> None:
        self.broker, self.table = broker, next(_names)

    @property
    def server(self) -> dict[str, Any]:
        assert self.broker
        return {"host": "127.0.0.1", "port": self.broker.port, "user": "shoal", "database": "postgres"}

    def sink(self) -> Sink:
        return self.opened(PostgresSink, table=self.table, **self.server)

    def rows(self) -> list[dict[str, Any]]:
        return self.query(f"select * from {self.table} order by nr")

    def query(self, text: str) -> list[dict[str, Any]]:
        with self._connection() as connection:
            return connection.execute(text).fetchall()  # type: ignore[call-overload]

    def execute(self, text: str) -> None:
        with self._connection() as connection:
            connection.execute(text)  # type: ignore[call-overload]

    def _connection(self) -> Any:
        server = {("dbname" if key == "database" else key): value for key, value in self.server.items()}
        return psycopg.connect(**server, row_factory=psycopg.rows.dict_row)


KINDS = ["parquet", "delta", "iceberg", "postgres"]


def made(kind: str, folder: Path, request: pytest.FixtureRequest) -> TableStore:
    if kind == "postgres":
        return PostgresStore(request.getfixturevalue("postgres_server"))
    return {"parquet": ParquetStore, "delta": DeltaStore, "iceberg": IcebergStore}[kind](folder)
