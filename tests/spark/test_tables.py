"""Tables as sinks of a pipeline on Spark, which is killed and started again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal-stream[spark]'")

from shoal import InputError, PolicyError
from shoal.pipeline import PipelineFile
from shoal.spark import tables
from shoal.spark.pipe import pipe
from spark import jars
from spark.cluster import descendants, end, wait_until
from spark.stream import KEY, POLICY, write

PIPELINE = """
policy: policy.yaml
source: {{file: {{path: "{path}", follow: {follow}}}}}
sink: {sink}
state: {{dir: state, checkpoint: 1s, key: {{env: SHOAL_KEY}}}}
"""
SINKS = {
    "parquet": "{parquet: {path: clean}}",
    "delta": "{delta: {path: clean}}",
    "iceberg": "{iceberg: {table: lake.clean, catalog: {type: hadoop, warehouse: WAREHOUSE}}}",
}
EACH = 400
ROWS = """
import sys
from pyspark.sql import SparkSession
name, home = sys.argv[1:]
catalog = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "hadoop", ".warehouse": home + "/warehouse"}
builder = SparkSession.builder.master("local[1]")
if name == "delta":
    builder = builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    builder = builder.config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
for key, value in catalog.items():
    builder = builder.config("spark.sql.catalog.shoal" + key, value)
spark = builder.getOrCreate()
found = spark.table("shoal.lake.clean") if name == "iceberg" else spark.read.format(name).load(home + "/clean")
assert dict(found.dtypes)["age"] == "struct<lo:double,hi:double,or_missing:boolean>", found.dtypes
print("ids", *(row.id for row in found.select("id").collect()))
"""


def file(folder: Path, name: str, path: str = "in/*.jsonl", follow: str = "true") -> PipelineFile:
    sink = SINKS[name].replace("WAREHOUSE", f"{folder}/warehouse")
    (folder / "policy.yaml").write_text(POLICY.format(window="{time: 2s}") + "lanes: 2\n")
    (folder / "pipeline.yaml").write_text(PIPELINE.format(path=path, follow=follow, sink=sink))
    return PipelineFile.parse((folder / "pipeline.yaml").read_text(), folder)


@pytest.mark.jars
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", SINKS)
def test_what_is_killed_writes_each_tuple_once(tmp_path: Path, name: str) -> None:
    if shutil.which("java") is None:
        jars.absent("there is no Java on this machine")
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(f"spark.jars {jars.found()}\nspark.ui.enabled false\n")
    file(tmp_path, name)
    known = {"SHOAL_KEY": KEY, "SPARK_CONF_DIR": str(tmp_path / "conf"), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment = {**os.environ, **known, "PYSPARK_PYTHON": sys.executable}
    commits = tmp_path / "state" / "checkpoint" / "commits"

    def rows() -> list[int]:
        command = [sys.executable, "-c", ROWS, name, str(tmp_path)]
        said = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        (ids,) = [line for line in said.stdout.splitlines() if line.startswith("ids")] or [said.stderr[-2000:]]
        return sorted(map(int, ids.split()[1:]))

    def start(*options: str) -> subprocess.Popen[bytes]:
        log = (tmp_path / "log").open("ab")
        command = [sys.executable, "-m", "shoal.cli", "pipe", str(tmp_path / "pipeline.yaml"), "--on", "local[2]", *options]
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)

    def kill(process: subprocess.Popen[bytes]) -> None:
        for pid in [*descendants(process.pid), process.pid]:
            end(pid)
        process.wait()

    def run(until: int) -> None:
        """Until so many batches are done; then it is killed."""
        process = start()
        try:
            wait_until(lambda: process.poll() is not None or (commits / str(until)).exists())
            assert process.poll() is None, (tmp_path / "log").read_text()[-3000:]
        finally:
            kill(process)

    write(tmp_path / "in", "0", 0, EACH, suffix="jsonl")
    run(until=0)
    write(tmp_path / "in", "1", EACH, EACH, suffix="jsonl")
    run(until=2)
    process = start("--drain")
    try:
        assert process.wait(800) == 0, (tmp_path / "log").read_text()[-3000:]
    finally:
        kill(process)
    assert rows() == list(range(2 * EACH))


@pytest.mark.parametrize("name", ["delta", "iceberg"])
def test_a_connector_that_is_not_there_is_named(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("SHOAL_KEY", KEY)
    monkeypatch.setattr(tables.DeltaTable, "session", lambda self: {})  # it would break the session that tests share
    write(tmp_path / "in", "raw", 0, 20, suffix="jsonl")
    package = {"delta": tables.DeltaTable, "iceberg": tables.IcebergTable}[name].package
    with pytest.raises(InputError) as raised:
        pipe(file(tmp_path, name, "in/raw.jsonl", "false"), "local[2]")
    remedy = f"set spark.jars.packages to {package} in spark-defaults.conf"
    assert str(raised.value) == f"sink.{name}: Spark's connector for it is not there; {remedy}"


def test_what_tables_on_spark_have_not_is_refused(tmp_path: Path) -> None:
    given = (
        "{parquet: {path: clean, partition: {by: ts}, roll: {rows: 5}, number: n}}",
        "{delta: {path: clean, options: {a: b}}}",
        "{iceberg: {table: lake.clean, catalog: {type: sql, uri: 'sqlite:///c.db', warehouse: w}}}",
    )
    problems = []
    for sink in given:
        text = PIPELINE.format(path="in/raw.jsonl", follow="false", sink=sink)
        with pytest.raises(PolicyError) as raised:
            pipe(PipelineFile.parse(text, tmp_path), "local[2]")
        problems.extend(raised.value.problems)
    assert problems == [
        "sink.parquet.roll: is not supported on Spark: a commit is a micro-batch; remove it, and set state.checkpoint",
        "sink.parquet.number: is not supported on Spark; remove it",
        "sink.parquet.partition: is not supported on Spark; remove it",
        "sink.delta.options: are of another client than Spark's; set what Spark needs in spark-defaults.conf",
        "sink.iceberg.catalog.type: sql is pyiceberg's; on Spark use rest, hive, glue, jdbc or hadoop",
    ]
