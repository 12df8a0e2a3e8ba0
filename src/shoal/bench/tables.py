"""A pipeline into tables, beside the same client that reads the same file and writes the same rows without shoal."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet

import shoal
from shoal.bench.benchmark import Figures
from shoal.bench.brokers import POLICY, _listens, _piped, _port, records
from shoal.connectors import SINKS, connector_class
from shoal.errors import ShoalError

ROWS = 400_000
COMMIT = 100_000  # rows of a commit
NEEDED = {"parquet": "pyarrow", "postgres": "psycopg", "delta": "deltalake", "iceberg": "pyiceberg"}


def absent() -> list[str]:
    """Tables whose client, or whose server, is not installed."""
    return [name for name, needed in NEEDED.items() if not find_spec(needed) or (name == "postgres" and not _programs())]


def measure(home: Path, rounds: int, most: int, step: Callable[[str, int, int], None]) -> list[Figures]:
    """One row for each kind of table; `alone` is the rate of its client, in rows a second."""
    count, found = min(ROWS, most), []
    (home / "policy.yaml").write_text(POLICY)
    raw = home / "raw_tables.parquet"
    pyarrow.parquet.write_table(pa.Table.from_pylist(records(count)), raw)
    shoal.run(home / "policy.yaml", raw, home / "published.parquet")
    published = pyarrow.parquet.read_table(home / "published.parquet").combine_chunks().to_batches()
    names = [name for name in NEEDED if name not in absent()]
    for i, name in enumerate(names):
        step(f"a pipeline into {name}", i, len(names))
        alone, piped = [], []
        with ExitStack() as stack:
            server = stack.enter_context(_postgres()) if name == "postgres" else {}
            for turn in range(rounds):
                alone.append(_alone(name, _settings(name, home, server, f"alone{turn}"), raw, published))
                sink = _settings(name, home, server, f"piped{turn}")
                piped.append(_piped(home, f"{{file: {{path: {raw.name}}}}}", str({name: sink}), count))
        found.append({"name": name, "tuples": count, "rate": count / median(piped), "alone": count / median(alone)})
    return found


def _settings(name: str, home: Path, server: dict[str, Any], table: str) -> dict[str, Any]:
    roll = {"roll": {"rows": COMMIT, "every": "60s"}}
    folder = str(home / f"{name}-{table}")
    if name == "postgres":
        return {**server, "database": "postgres", "table": table, **roll}
    if name == "iceberg":
        os.makedirs(folder, exist_ok=True)
        catalog = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}"}
        return {"table": f"clean.{table}", "catalog": catalog, **roll}
    return {"path": folder, **roll}


def _alone(name: str, settings: dict[str, Any], raw: Path, published: list[pa.RecordBatch]) -> float:
    """Seconds in which the client reads the input, and writes the published rows in commits of the same size."""
    kind = connector_class(SINKS, name)
    start = time.perf_counter()
    pyarrow.parquet.read_table(raw)
    sink = kind(kind.Settings.model_validate(settings))
    sink.begin(None, 0)
    done = 0
    for batch in published:
        for at in range(0, len(batch), COMMIT):
            part = batch.slice(at, COMMIT)
            sink.write(part, done)
            done += len(part)
    sink.store_waiting(everything=True)
    sink.close()
    return time.perf_counter() - start


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
