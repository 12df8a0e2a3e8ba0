"""A pipeline's figures where brokers are not installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import deltalake
import pyarrow.parquet
import pytest

from shoal.bench import brokers, pipe, tables
from shoal.bench.timing import timing

pytestmark = pytest.mark.slow
ONCE = timing([1.0], 10)
FOUND: dict[str, Any] = {
    "rows": [{"format": "csv", "run": ONCE, "pipe": ONCE, "ratio": 1.0}], "brokers": [], "tables": [],
    "absent": ["nats"], "seconds": 1.0,
    "lateness": {"tide": {"median": 1.0, "p99": 2.0, "most": 4.0, "saving": 3.0}}, "held": 10, "pauses": [1.0], "size": 100,
}  # fmt: skip


def test_brokers_that_are_not_installed_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brokers, "NEEDED", dict.fromkeys(brokers.NEEDED, ("no_such_client",)))
    assert brokers.absent() == ["nats", "kafka", "http"]
    assert brokers.measure(tmp_path, 1, 10, lambda doing, done, total: None) == []


def test_tables_beside_their_clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_BENCH_KEY", "k" * 40)
    monkeypatch.setattr(tables, "NEEDED", {name: tables.NEEDED[name] for name in ("parquet", "delta", "iceberg")})
    monkeypatch.setattr(tables, "USUAL_COMMIT", 700)
    found = tables.measure(tmp_path, 1, 2000, lambda doing, done, total: None)
    assert [row["name"] for row in found] == ["parquet", "delta", "iceberg"]
    for kind in ("alone0", "loop0"):
        assert pyarrow.parquet.read_table(tmp_path / f"parquet-{kind}").num_rows == 2000
        assert deltalake.DeltaTable(tmp_path / f"delta-{kind}").to_pyarrow_table().num_rows == 2000
    for kind in ("sink0", "rate0", "lines0"):
        assert deltalake.DeltaTable(tmp_path / f"delta-{kind}").to_pyarrow_table().num_rows == 2000
    rates = {"alone": 100.0, "sink": 90.0, "rate": 70.0, "lines": 30.0, "loop": 10.0}
    (*_, stored) = pipe.tables({**FOUND, "tables": [{**found[0], **rates}]})
    assert stored.rows == [("parquet", "100", "90.0", "0.90 x", "70.0", "0.70 x", "10.0", "30.0", "3.00 x")]


def test_what_was_left_out_is_told() -> None:
    (files,) = pipe.tables(FOUND)
    assert files.notes[0] == (
        "At 1,000 tuples per second for 1 s, tide lets tuples leave after their deadline by 1.0 ms (median), 2.0 ms (99 %), "
        "4.0 ms (the most); by 3.0 ms (99 %) while a checkpoint is written."
    )
    assert files.notes[-1] == "Not measured, since they are not installed: nats."
    row = {"name": "HTTP", "tuples": 10, "rate": 5.0, "alone": None}
    _, over = pipe.tables({**FOUND, "brokers": [row]})
    assert over.notes[-1] == "Not measured, since they are not installed: nats."
