"""Pipelines into tables that are killed at any moment, again and again, while a reader looks at the table."""

from __future__ import annotations

import json
import os
import random
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import psycopg
import pyarrow as pa
import pyarrow.parquet
import pytest
from pyarrow.fs import FileSelector, FileSystem
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import NoSuchTableError

from connectors.conftest import postgres_program, postgres_server, s3_address  # noqa: F401
from connectors.processes import Broker
from examples import times
from shoal.audit import audit

from .base import _FORKS, kill, lines, place, start, wait_until
from .test_kill import Growing

PIPELINE = """
policy: policy.yaml
source: {{file: {{path: raw.jsonl, follow: true}}}}
sink: {sink}
state: {{dir: state, checkpoint: 50ms, key: {{env: SHOAL_KEY}}}}
trace: trace.jsonl
"""
LAKES = ["parquet", "delta", "iceberg"]
KINDS = ["postgres", *LAKES]
CLIENTS = ["psycopg", "deltalake", "pyiceberg.catalog.sql", "pyiceberg.io.pyarrow"]  # some take seconds to load
_FORKS.set_forkserver_preload(["shoal.pipeline.pipe", "shoal.anonymizer.windowed", *CLIENTS])
Reader = Callable[[], pa.Table]  # the table as anyone sees it, with the numbers of its tuples


def parquet(folder: Path, server: Broker | None, lake: str) -> tuple[dict[str, Any], Reader]:
    address = f"{lake}/clean"
    system, root = FileSystem.from_uri(address)

    def read() -> pa.Table:
        found = system.get_file_info(FileSelector(f"{root}/_manifest", allow_not_found=True))
        entries = sorted(each.path for each in found if re.fullmatch(r"\d+\.json", each.base_name))
        files = [name for entry in entries for name in json.loads(system.open_input_stream(entry).read())["files"]]
        tables = [pyarrow.parquet.ParquetFile(system.open_input_file(f"{root}/{name}")).read() for name in files]
        return pa.concat_tables(tables) if tables else pa.table({"nr": []})

    path = address if lake.startswith("s3:") else "clean"
    return {"parquet": {"path": path, "partition": {"by": "t", "every": "hour"}}}, read


def postgres(folder: Path, server: Broker | None, lake: str) -> tuple[dict[str, Any], Reader]:
    assert server
    table = f"clean_{time.monotonic_ns()}"
    where = {"host": "127.0.0.1", "port": server.port, "user": "shoal"}

    def read() -> pa.Table:
        with psycopg.connect(**where, dbname="postgres", row_factory=psycopg.rows.dict_row) as connection:
            if not connection.execute("select 1 from pg_tables where tablename = %s", (table,)).fetchone():
                return pa.table({"nr": []})
            rows = connection.execute(f"select * from {table}").fetchall()
            return pa.Table.from_pylist(rows) if rows else pa.table({"nr": []})

    return {"postgres": {**where, "database": "postgres", "table": table}}, read


def delta(folder: Path, server: Broker | None, lake: str) -> tuple[dict[str, Any], Reader]:
    address = f"{lake}/delta"

    def read() -> pa.Table:
        if not deltalake.DeltaTable.is_deltatable(address):
            return pa.table({"nr": []})
        return deltalake.DeltaTable(address).to_pyarrow_table()

    return {"delta": {"path": address if lake.startswith("s3:") else "delta"}}, read


def iceberg(folder: Path, server: Broker | None, lake: str) -> tuple[dict[str, Any], Reader]:
    catalog = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"{lake}/warehouse"}
    if lake.startswith("s3:"):
        catalog["s3.endpoint"] = os.environ["AWS_ENDPOINT_URL"]

    def read() -> pa.Table:
        try:
            return load_catalog("default", **catalog).load_table("clean.people").scan().to_arrow()
        except NoSuchTableError:
            return pa.table({"nr": []})

    return {"iceberg": {"table": "clean.people", "catalog": catalog}}, read


def jsonl(table: pa.Table, path: Path) -> None:
    """The rows of a table as the audit reads them, in the order of their numbers."""
    table = table.sort_by("nr")
    rows = table.drop_columns([name for name in ("nr", "hour") if name in table.schema.names]).to_pylist()
    if "age_lo" in table.schema.names:
        rows = [
            {
                "t": None if row["t_lo"] is None else {"lo": row["t_lo"], "hi": row["t_hi"]},
                "age": None
                if row["age_lo"] is None
                else {"lo": row["age_lo"], "hi": row["age_hi"], "or_missing": row["age_or_missing"]},
                "city": None if row["city"] is None else {"value": row["city"], "or_missing": row["city_or_missing"]},
                "disease": row["disease"],
            }
            for row in rows
        ]
    path.write_text(lines(rows))


def store() -> dict[str, str]:
    """How a process reaches the object store: by its environment."""
    return {name: value for name, value in os.environ.items() if name.startswith("AWS_")}


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def survives(folder: Path, kind: str, server: Broker | None, kills: int, seed: int, lake: str | None = None) -> None:
    """Kill a pipeline so many times while its input grows; in the end every promise was kept, and at every look no group
    was there in parts. `lake` is the address under which the table is; by default it is in the folder."""
    place(folder, window="{time: 300ms}", follow=True)
    policy = folder / "policy.yaml"
    policy.write_text(policy.read_text().replace("{field: t}", "{field: t, publish: generalize, grid: 10s}"))
    sink, read = globals()[kind](folder, server, lake or folder.as_uri())
    next(iter(sink.values())).update({"number": "nr", "roll": {"rows": 200, "every": "200ms"}})
    (folder / "pipeline.yaml").write_text(PIPELINE.format(sink=json.dumps(sink)))
    chance, growing, seen = random.Random(seed), Growing(folder / "raw.jsonl"), set()
    trace = folder / "trace.jsonl"
    growing.start()
    for _ in range(kills):
        process = start(folder / "pipeline.yaml", environment=store())
        if chance.random() < 0.8:  # else it is killed while it starts
            known = size(trace)
            wait_until(lambda known=known: size(trace) > known)  # type: ignore[misc]
        time.sleep(chance.random() * (4 if lake else 0.5))  # a commit into an object store takes longer
        kill(process)
        numbers = sorted(read()["nr"].to_pylist())
        assert numbers == list(range(len(numbers)))
        seen.add(len(numbers))
    count = growing.end()
    process = start(folder / "pipeline.yaml", environment=store())
    wait_until(lambda: trace.exists() and len(trace.read_bytes().splitlines()) == count)
    process.terminate()
    process.join()
    assert process.exitcode == 0
    table = read()
    assert sorted(table["nr"].to_pylist()) == list(range(count))
    left = [json.loads(line) for line in trace.read_text().splitlines()]
    for number in seen - {0, count}:
        parts = {(row["cluster"], row["released"]) for row in (left[number - 1], left[number]) if row["how"] == "cluster"}
        both = left[number - 1]["how"] == left[number]["how"] == "cluster"
        assert not both or len(parts) == 2, f"the group of tuple {number} was there in parts"
    assert len(seen) > kills // 10  # the pipeline went on between kills
    jsonl(table, folder / "clean.jsonl")
    report = audit(folder / "policy.yaml", folder / "raw.jsonl", folder / "clean.jsonl", trace=trace)
    assert report.held, report.to_dict()


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Broker | None:
    return request.getfixturevalue("postgres_server") if "postgres" in request.node.name else None


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_or_twice(tmp_path: Path, kind: str, server: Broker | None) -> None:
    survives(tmp_path, kind, server, kills=3, seed=1)


@pytest.mark.long
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_or_twice_over_many_kills(tmp_path: Path, kind: str, server: Broker | None) -> None:
    survives(tmp_path, kind, server, kills=times(100), seed=2)


@pytest.mark.long
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("kind", LAKES)
def test_nothing_is_lost_or_twice_in_an_object_store(tmp_path: Path, kind: str, s3_address: str) -> None:  # noqa: F811
    survives(tmp_path, kind, None, kills=times(100), seed=3, lake=f"{s3_address}/{time.monotonic_ns()}")
