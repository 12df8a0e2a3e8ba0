"""A pipeline into tables, beside the bare client that writes the same rows, and beside a loop that reads the same lines."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import shoal
from shoal.bench.benchmark import Figures
from shoal.bench.brokers import POLICY, _listens, _piped, _port, records
from shoal.connectors import SINKS, connector_class, flat_table, plain_table
from shoal.errors import ShoalError
from shoal.formats import lines
from shoal.storage import make_durable

ROWS = 2_000_000
PARSED = 400_000  # rows that are also parsed from JSON lines
COMMIT = {"postgres": 100_000}  # rows of a commit, as the sinks have them by default
USUAL_COMMIT = 1_000_000
NEEDED = {"parquet": "pyarrow", "postgres": "psycopg", "delta": "deltalake", "iceberg": "pyiceberg"}
Write = Callable[[pa.Table], None]  # one commit


def absent() -> list[str]:
    """Tables whose client, or whose server, is not installed."""
    return [name for name, needed in NEEDED.items() if not find_spec(needed) or (name == "postgres" and not _programs())]


def measure(home: Path, rounds: int, most: int, step: Callable[[str, int, int], None]) -> list[Figures]:
    """For each kind of table, rates in rows a second, which were measured in turns.

    `alone` is that of the bare client, which has the published rows in memory, `sink` that of the sink which is given the same
    rows, and `rate` that of a pipeline from Parquet, which also anonymizes them. `lines` is that of a pipeline from JSON lines,
    `loop` that of a loop that parses these lines and writes their fields.
    """
    count, found = min(ROWS, most), []
    parsed = min(PARSED, count)
    (home / "policy.yaml").write_text(POLICY)
    raw = pa.Table.from_pylist(records(count)).combine_chunks()
    pyarrow.parquet.write_table(raw, home / "raw_tables.parquet")
    (home / "raw_tables.jsonl").write_bytes(b"".join(map(lines, raw.slice(0, parsed).to_batches())))
    shoal.run(home / "policy.yaml", home / "raw_tables.parquet", home / "published.parquet")
    left = pyarrow.parquet.read_table(home / "published.parquet").to_batches()
    published = plain_table(left, "published").combine_chunks()
    names = [name for name in NEEDED if name not in absent()]
    for i, name in enumerate(names):
        step(f"a pipeline into {name}", i, len(names))
        rows, size = flat_table(published) if name == "postgres" else published, COMMIT.get(name, USUAL_COMMIT)
        seconds: dict[str, list[float]] = {"alone": [], "sink": [], "rate": [], "loop": [], "lines": []}
        with ExitStack() as stack:
            server = stack.enter_context(_postgres()) if name == "postgres" else {}
            for turn in range(rounds):

                def settings(kind: str, turn: int = turn, name: str = name, server: dict[str, Any] = server) -> dict[str, Any]:
                    return _settings(name, home, server, f"{kind}{turn}")

                seconds["alone"].append(
                    _alone(_CLIENTS[name](settings("alone"), stack), rows, size, home / f"{name}-alone{turn}")
                )
                seconds["sink"].append(_sunk(home, name, settings("sink"), left))
                seconds["loop"].append(_loop(_CLIENTS[name](settings("loop"), stack), home / "raw_tables.jsonl", size))
                for kind, source, tuples in (("rate", "raw_tables.parquet", count), ("lines", "raw_tables.jsonl", parsed)):
                    seconds[kind].append(_piped(home, f"{{file: {{path: {source}}}}}", str({name: settings(kind)}), tuples))
        amounts = {"loop": parsed, "lines": parsed}
        rates = {kind: amounts.get(kind, count) / median(each) for kind, each in seconds.items()}
        found.append({"name": name, "tuples": count, **rates})
    return found


def _settings(name: str, home: Path, server: dict[str, Any], table: str) -> dict[str, Any]:
    roll = {"roll": {"rows": COMMIT.get(name, USUAL_COMMIT), "every": "60s"}}
    folder = str(home / f"{name}-{table}")
    if name == "postgres":
        return {**server, "database": "postgres", "table": table, **roll}
    if name == "iceberg":
        os.makedirs(folder, exist_ok=True)
        catalog = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}"}
        return {"table": f"clean.{table}", "catalog": catalog, **roll}
    return {"path": folder, **roll}


def _alone(write: Write, rows: pa.Table, size: int, folder: Path) -> float:
    """Seconds in which a client writes rows that it has, and a local disk has them."""
    start = time.perf_counter()
    known: set[Path] = set()
    for at in range(0, len(rows), size):
        write(rows.slice(at, size))
        new = {path for path in folder.rglob("*") if path.is_file()} - known
        make_durable(map(str, new), str(folder)) if new else None
        known |= new
    return time.perf_counter() - start


def _sunk(home: Path, name: str, settings: dict[str, Any], batches: Sequence[pa.RecordBatch]) -> float:
    """Seconds in which a sink stores rows that it is given as a pipeline gives them."""
    kind = connector_class(SINKS, name)
    sink = kind(kind.Settings.model_validate(settings))
    sink.spool = home / "spool"
    sink.spool.unlink(missing_ok=True)
    sink.begin(None, 0)
    sink.caught_up(0)
    sink.make_durable()
    start, number = time.perf_counter(), 0
    for batch in batches:
        sink.write(batch, number)
        number += len(batch)
        sink.store_waiting()
    sink.store_waiting(everything=True)
    seconds = time.perf_counter() - start
    sink.close()
    return seconds


def _loop(write: Write, source: Path, size: int) -> float:
    """Seconds in which a plain loop parses lines, leaves the person out, and writes the rest."""
    start = time.perf_counter()
    waiting: list[dict[str, Any]] = []
    with open(source, encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            del record["pid"]
            waiting.append(record)
            if len(waiting) == size:
                write(pa.Table.from_pylist(waiting))
                waiting = []
    if waiting:
        write(pa.Table.from_pylist(waiting))
    return time.perf_counter() - start


def _parquet(settings: dict[str, Any], stack: ExitStack) -> Write:
    folder = Path(settings["path"])
    folder.mkdir()
    return lambda rows: pyarrow.parquet.write_table(rows, folder / f"{len(list(folder.iterdir()))}.parquet")


def _delta(settings: dict[str, Any], stack: ExitStack) -> Write:
    from deltalake import write_deltalake

    return lambda rows: write_deltalake(settings["path"], rows, mode="append")


def _iceberg(settings: dict[str, Any], stack: ExitStack) -> Write:
    from pyiceberg.catalog import load_catalog

    catalog = load_catalog("default", **settings["catalog"])
    catalog.create_namespace("clean")
    table: Any = None

    def write(rows: pa.Table) -> None:
        nonlocal table
        table = table or catalog.create_table(settings["table"], rows.schema)
        table.append(rows)

    return write


def _psycopg(settings: dict[str, Any], stack: ExitStack) -> Write:
    """By COPY of text that pyarrow makes, which is many times as fast as a row at a time."""
    import psycopg

    where = {"host": settings["host"], "port": settings["port"], "user": settings["user"], "dbname": settings["database"]}
    connection: Any = stack.enter_context(psycopg.connect(**where))
    kinds = {pa.bool_(): "boolean", pa.int64(): "bigint"}

    def write(rows: pa.Table) -> None:
        columns = ", ".join(f"{field.name} {kinds.get(field.type, 'double precision')}" for field in rows.schema)
        text = pa.BufferOutputStream()
        pyarrow.csv.write_csv(rows, text, pyarrow.csv.WriteOptions(include_header=False))
        with connection.cursor() as cursor:
            cursor.execute(f"create table if not exists {settings['table']} ({columns})")
            with cursor.copy(f"copy {settings['table']} from stdin (format csv)") as copy:
                copy.write(memoryview(text.getvalue()))
        connection.commit()

    return write


_CLIENTS: dict[str, Callable[[dict[str, Any], ExitStack], Write]] = {
    "parquet": _parquet, "postgres": _psycopg, "delta": _delta, "iceberg": _iceberg
}  # fmt: skip


def _programs() -> Path | None:
    found = shutil.which("initdb")
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return Path(found).resolve().parent if found else installed[-1].parent if installed else None


@contextmanager
def _postgres() -> Iterator[dict[str, Any]]:
    """A server of its own; root runs it as the user that Debian's package brings."""
    programs, port = _programs(), _port()
    assert programs
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
    with tempfile.TemporaryDirectory(prefix="shoal-bench-") as folder:
        if user:
            shutil.chown(folder, "postgres")
        data = Path(folder) / "data"
        setup = [*user, str(programs / "initdb"), "-D", str(data), "-U", "shoal", "-A", "trust", "-E", "UTF8"]
        subprocess.run(setup, check=True, stdout=subprocess.DEVNULL, cwd=folder)
        command = [*user, str(programs / "postgres"), "-D", str(data), "-p", str(port), "-k", folder, "-h", "127.0.0.1"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            until = time.monotonic() + 30
            while not _listens(port):
                if process.poll() is not None or time.monotonic() > until:
                    raise ShoalError("postgres: does not start; run it by hand to see why")
                time.sleep(0.05)
            time.sleep(1)  # it listens a moment before it answers
            yield {"host": "127.0.0.1", "port": port, "user": "shoal"}
        finally:
            process.terminate()
            process.wait(20)
