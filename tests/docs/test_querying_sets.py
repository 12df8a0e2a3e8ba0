"""docs/querying-sets.md: every snippet gives the same answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from connectors.conftest import postgres_program, postgres_server  # noqa: F401
from connectors.processes import Broker
from connectors.table_stores import PostgresStore
from tests.docs.base import blocks, read
from tests.formats.base import write

SETS = [["Canal"], ["Canal"], ["Canal", "Mill"], ["South"], ["Canal", None], ["Mill", None], ["Hill", "Mill"], None, ["City"]]
ASKED = {"surely": 2, "possibly": 6, "surely_not": 3}


@pytest.fixture(autouse=True)
def _published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = pa.list_(pa.dictionary(pa.int32(), pa.string()))
    write(tmp_path / "published.parquet", pa.record_batch({"home": pa.array(SETS, kind)}))
    monkeypatch.chdir(tmp_path)


def snippet(before: str) -> str:
    return next(block.text for block in blocks(read("docs/querying-sets.md")) if block.before.startswith(before))


def test_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")
    found = duckdb.sql(snippet("In **SQL**"))
    assert dict(zip(found.columns, found.fetchall()[0], strict=True)) == ASKED


def test_postgres(postgres_server: Broker) -> None:  # noqa: F811
    """As the sink wrote it."""
    psycopg = pytest.importorskip("psycopg")
    store = PostgresStore(postgres_server)
    store.table = "people"
    sink = store.sink()
    sink.begin(None, 0)
    sink.write(pa.record_batch({"home": pa.array(SETS)}), 0)
    sink.close()
    with psycopg.connect(host="127.0.0.1", port=postgres_server.port, user="shoal", dbname="postgres") as connection:
        found = connection.execute(snippet("In **PostgreSQL**"))
        assert dict(zip([column.name for column in found.description], found.fetchone(), strict=True)) == ASKED


def test_pandas() -> None:
    pytest.importorskip("pandas")
    found: dict[str, Any] = {}
    exec(snippet("In **pandas**"), found)
    assert {name: int(found[name].sum()) for name in ASKED} == ASKED


def test_polars() -> None:
    pytest.importorskip("polars")
    found: dict[str, Any] = {}
    exec(snippet("In **polars**"), found)
    assert found["answers"].to_dicts() == [ASKED]
