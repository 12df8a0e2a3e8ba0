"""A query that ends when its input ends and everything has left; and the options of `shoal pipe` that stop one on Spark."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal-stream[spark]'")

from shoal import InputError, Policy
from shoal.cli import app
from shoal.errors import StateError
from shoal.spark import Drain, anonymize
from spark import visits
from spark.cluster import descendants, end, wait_until
from spark.stream import FOLLOWING, KEY, POLICY, SCHEMA, classes, committed, write


def query(spark: Any, folder: Path, policy: Policy, lanes: int) -> tuple[Drain, Any]:
    source = str(folder / "in")
    records = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(source)
    sample = spark.read.schema(SCHEMA).json(source)
    drain = Drain()
    found = anonymize(records, policy, lanes, sample=sample, split_tree=f"{folder}/tree", key=KEY, drain=drain)
    writer = found.writeStream.format("parquet").option("path", f"{folder}/out")
    return drain, writer.option("checkpointLocation", f"{folder}/state")


@pytest.mark.parametrize(("window", "lanes", "algorithm"), [("{count: 100}", 2, "tide"), ("{time: 1h}", 1, "fads")])
def test_with_available_now(spark: Any, tmp_path: Path, window: str, lanes: int, algorithm: str) -> None:
    policy = Policy.parse(POLICY.format(window=window).replace("fads", algorithm))
    for number in range(3):
        write(tmp_path / "in", f"a{number}", 200 * number, 200)
    drain, writer = query(spark, tmp_path, policy, lanes)
    started: list[Any] = []
    assert not drain.run(writer.trigger(availableNow=True), started.append).isActive
    assert [sum(each["numInputRows"] > 1 for each in query.recentProgress) for query in started] == [3, 0]  # a file each
    rows = spark.read.parquet(f"{tmp_path}/out").collect()
    assert sorted(row.id for row in rows) == list(range(600))
    assert classes(rows, 5) == []
    write(tmp_path / "in", "b", 600, 200)  # and the query can go on
    drain, writer = query(spark, tmp_path, policy, lanes)
    drain.run(writer.trigger(availableNow=True))
    assert sorted(row.id for row in spark.read.parquet(f"{tmp_path}/out").collect()) == list(range(800))


def test_with_a_trigger_that_goes_on(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "in", "a", 0, 300)
    drain, writer = query(spark, tmp_path, Policy.parse(POLICY.format(window="{time: 1h}")), 2)
    drain.run(writer.trigger(processingTime="1 second"))
    assert spark.read.parquet(f"{tmp_path}/out").count() == 300


def test_a_query_that_is_stopped_before_says_so(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "in", "a", 0, 300)
    drain, writer = query(spark, tmp_path, Policy.parse(POLICY.format(window="{count: 100}")), 2)
    started = []
    drain.file = tmp_path / "ended"  # its lanes do not see this: else all may have left before it is stopped

    def stop_the_second(query: Any) -> None:
        started.append(query)
        if len(started) == 2:
            query.stop()

    with pytest.raises(StateError) as raised:
        drain.run(writer.trigger(availableNow=True), stop_the_second)
    assert str(raised.value) == "drain: the query was stopped before everything had left; start it again"


def test_z_anonymity_needs_none(spark: Any) -> None:
    records = spark.createDataFrame(visits.VISITS, visits.SCHEMA)
    with pytest.raises(InputError) as raised:
        anonymize(records, visits.POLICY, drain=Drain())
    assert str(raised.value) == "drain: z-anonymity holds no tuple back; leave it out, and use trigger(availableNow=True)"


@pytest.mark.skipif(shutil.which("java") is None, reason="no Java on this machine")
def test_a_pipeline_is_stopped_and_drained(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY.format(window="{count: 100}") + "lanes: 2\n")
    (tmp_path / "pipeline.yaml").write_text(FOLLOWING)
    write(tmp_path / "in", "a", 0, 400, suffix="jsonl")
    (tmp_path / "conf").mkdir()
    told = {"SPARK_CONF_DIR": str(tmp_path / "conf"), "SPARK_LOCAL_IP": "127.0.0.1", "SHOAL_KEY": KEY}
    command = [sys.executable, "-m", "shoal.cli", "pipe", str(tmp_path / "pipeline.yaml"), "--on", "local[2]"]
    sink = tmp_path / "clean.jsonl"

    def run(*options: str) -> subprocess.Popen[bytes]:
        with (tmp_path / "log").open("ab") as log:
            return subprocess.Popen(
                [*command, *options], env={**os.environ, **told}, stdout=log, stderr=log, start_new_session=True
            )

    def left() -> list[int]:
        return [row["id"] for row in committed(sink)]

    process = run()
    try:
        wait_until(lambda: process.poll() is not None or len(left()) > 0)
        process.send_signal(signal.SIGTERM)
        assert process.wait(300) == 0, (tmp_path / "log").read_text()[-2000:]
        assert 0 < len(left()) < 400
        write(tmp_path / "in", "b", 400, 100, suffix="jsonl")
        process = run("--drain")
        assert process.wait(600) == 0, (tmp_path / "log").read_text()[-2000:]
    finally:
        for pid in [*descendants(process.pid), process.pid]:
            end(pid)
    assert sorted(left()) == list(range(500))


def test_a_drain_that_is_stopped_is_not_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = [Event(), Event()]

    def two_queries(file: Any, master: str, started: Any, drain: bool) -> None:
        for number, stopped in enumerate(queries):
            started(SimpleNamespace(stop=stopped.set))
            if number == 0:
                signal.raise_signal(signal.SIGTERM)
            assert stopped.wait(60)

    monkeypatch.setattr("shoal.spark.pipe.pipe", two_queries)
    (tmp_path / "pipeline.yaml").write_text(FOLLOWING)
    found = CliRunner().invoke(app, ["pipe", str(tmp_path / "pipeline.yaml"), "--on", "local[2]", "--drain"])
    assert found.exit_code == 0, found.output


def test_options_that_are_not_there_on_spark_are_refused(tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text(FOLLOWING)
    command = ["pipe", str(tmp_path / "pipeline.yaml"), "--on", "local[2]"]
    found = CliRunner().invoke(app, [*command, "--page", "8080", "--set-clock", "now"])
    assert found.exit_code == 2
    text = "--set-clock, --page: are not supported with --on; leave it out; Spark's own UI shows the query"
    assert text in " ".join(found.output.split())
