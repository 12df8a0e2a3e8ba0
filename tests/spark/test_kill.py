"""A pipeline on a real cluster whose driver, executors, workers and Python processes are killed in the middle."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal-stream[spark]'")

from shoal.audit import audit
from spark.cluster import Cluster, descendants, end, wait_until
from spark.stream import FOLLOWING, KEY, POLICY, committed, write

EACH, FILES = 400, 10


@pytest.mark.long
@pytest.mark.skipif(shutil.which("java") is None, reason="no Java on this machine")
@pytest.mark.timeout(3600)
def test_nothing_is_lost_or_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_KEY", KEY)
    (tmp_path / "policy.yaml").write_text(POLICY.format(window="{time: 2s}"))
    (tmp_path / "pipeline.yaml").write_text(FOLLOWING)
    source, sink = tmp_path / "in", tmp_path / "clean.jsonl"
    write(source, "0", 0, EACH, suffix="jsonl")
    cluster = Cluster(tmp_path)
    command = (sys.executable, "-m", "shoal.cli", "pipe", str(tmp_path / "pipeline.yaml"), "--on", cluster.url)

    def go_on(number: int) -> None:
        """Two files more, and wait until some of them have left."""
        for each in (number, number + 1):
            write(source, str(each), EACH * each, EACH, suffix="jsonl")
        wait_until(lambda: len(committed(sink)) > EACH * number)

    try:
        driver = cluster.start(*command)
        wait_until(lambda: len(committed(sink)) > 0)
        go_on(1)
        pythons = cluster.pythons()
        assert pythons
        for pid in pythons:
            end(pid)
        go_on(3)
        end(cluster.executors()[0])
        go_on(5)
        end(cluster.workers.pop().pid)
        cluster.workers.append(cluster.worker())
        go_on(7)
        write(source, "9", EACH * 9, EACH, suffix="jsonl")
        for pid in [*descendants(driver.pid), driver.pid]:
            end(pid)
        cluster.start(*command)
        wait_until(lambda: len(committed(sink)) >= EACH * FILES)
    finally:
        cluster.close()
    rows = committed(sink)
    assert sorted(row["id"] for row in rows) == list(range(EACH * FILES))
    everything = "".join((source / f"{number}.jsonl").read_text() for number in range(FILES))
    (tmp_path / "raw.jsonl").write_text(everything)
    (tmp_path / "published.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = audit(tmp_path / "policy.yaml", tmp_path / "raw.jsonl", tmp_path / "published.jsonl")
    assert report.held, report.to_dict()
