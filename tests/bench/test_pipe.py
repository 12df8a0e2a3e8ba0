"""A pipeline's figures where brokers are not installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.bench import brokers, pipe
from shoal.bench.timing import timing

pytestmark = pytest.mark.slow


def test_brokers_that_are_not_installed_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brokers, "NEEDED", dict.fromkeys(brokers.NEEDED, ("no_such_client",)))
    assert brokers.absent() == ["nats", "kafka", "http"]
    assert brokers.measure(tmp_path, 1, 10, lambda doing, done, total: None) == []


def test_what_was_left_out_is_told() -> None:
    once = timing([1.0], 10)
    found = {
        "rows": [{"format": "csv", "run": once, "pipe": once, "ratio": 1.0}], "brokers": [], "tables": [],
        "absent": ["nats"], "seconds": 1.0,
        "lateness": {"tide": {"median": 1.0, "p99": 2.0, "most": 4.0, "saving": 3.0}}, "held": 10, "pauses": [1.0], "size": 100,
    }  # fmt: skip
    (files,) = pipe.tables(found)
    assert files.notes[0] == (
        "At 1,000 tuples a second for 1 s, tide lets tuples leave after their deadline by 1.0 ms (median), 2.0 ms (99 %), "
        "4.0 ms (the most); by 3.0 ms (99 %) while a checkpoint is written."
    )
    assert files.notes[-1] == "Not measured, since they are not installed: nats."
    row = {"name": "HTTP", "tuples": 10, "rate": 5.0, "alone": None}
    _, over = pipe.tables({**found, "brokers": [row]})
    assert over.notes[-1] == "Not measured, since they are not installed: nats."
