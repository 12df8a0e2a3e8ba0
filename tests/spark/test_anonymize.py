"""DataFrames of Spark, in batches and streaming, through the real thing."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal-stream[spark]'")

from shoal import InputError, Policy, PolicyError
from shoal.errors import StateError
from shoal.spark import anonymize
from spark import visits
from spark.stream import KEY, POLICY, SCHEMA, classes, write


def policy(window: str) -> Policy:
    return Policy.parse(POLICY.format(window=window))


def idle_for(query: Any, seconds: float) -> bool:
    """Whether a query starts no batch for so long, once its last one has ended."""
    until = time.monotonic() + 600
    while time.monotonic() < until:
        batch = query.lastProgress["batchId"]
        time.sleep(seconds)
        if query.lastProgress["batchId"] - batch <= 1 and not query.lastProgress["observedMetrics"]:
            return True
    return False


def test_a_batch_leaves_once_in_the_published_schema(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "in", "a", 0, 1500)
    records = spark.read.schema(SCHEMA).json(str(tmp_path / "in")).repartition(3)
    found = anonymize(records, policy("{count: 100}"), lanes=2)
    interval = "struct<lo:bigint,hi:bigint,or_missing:boolean>"
    assert found.schema.simpleString() == f"struct<age:{interval},pulse:{interval},ill:string,id:bigint>"
    rows = found.collect()
    assert sorted(row.id for row in rows) == list(range(1500))
    assert classes(rows, 5) == []
    before = {row.id: row for row in records.collect()}
    grouped = [row for row in rows if row.age is None or (row.age.lo, row.age.hi) != (0, 120)]
    for row in grouped:
        for value, shown in ((before[row.id].age, row.age), (before[row.id].pulse, row.pulse)):
            assert (shown is None or shown.or_missing) if value is None else shown.lo <= value <= shown.hi
    assert len(grouped) > 1400


def test_a_stream_leaves_once_over_a_restart_and_when_nothing_arrives(spark: Any, tmp_path: Path) -> None:
    source, sink, state = tmp_path / "in", tmp_path / "out", tmp_path / "checkpoint"
    for number in range(2):
        write(source, f"a{number}", 300 * number, 300)

    def start() -> Any:
        records = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(source))
        sample = spark.read.schema(SCHEMA).json(str(source))
        found = anonymize(
            records, policy("{time: 2s}"), lanes=2, sample=sample, split_tree=f"{tmp_path}/tree", key=KEY, observation="shoal"
        )
        assert KEY not in found._jdf.queryExecution().toString()
        writer = found.writeStream.format("parquet").option("path", str(sink))
        return writer.option("checkpointLocation", str(state)).trigger(processingTime="1 second").start()

    def left() -> list[Any]:
        return spark.read.schema(found).parquet(str(sink)).collect() if (sink / "_spark_metadata").exists() else []

    def wait(query: Any, rows: int) -> None:
        until = time.monotonic() + 600
        while len(left()) < rows and query.isActive and time.monotonic() < until:
            time.sleep(0.3)
        assert query.exception() is None

    found = "age struct<lo:bigint,hi:bigint>, pulse struct<lo:bigint,hi:bigint>, ill string, id bigint"
    query = start()
    wait(query, 200)
    query.stop()
    assert 200 <= len(left()) <= 600
    write(source, "b", 600, 300)
    query = start()
    wait(query, 900)
    assert idle_for(query, 8)
    counted = [each["observedMetrics"]["shoal"].asDict() for each in query.recentProgress if each["observedMetrics"]]
    query.stop()
    rows = left()
    assert sorted(row.id for row in rows) == list(range(900))
    assert classes(rows, 5) == []
    assert {"received": 300, "rejected": 0} in counted
    raw = b"".join(file.read_bytes() for file in (state / "state").rglob("*") if file.is_file())
    assert b"p299" not in raw and b"flu" not in raw


def test_a_query_with_a_time_window_ends_with_what_is_available(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "in", "a", 0, 300)
    records = spark.readStream.schema(SCHEMA).json(str(tmp_path / "in"))
    sample = spark.read.schema(SCHEMA).json(str(tmp_path / "in"))
    found = anonymize(records, policy("{time: 2s}"), lanes=1, sample=sample, split_tree=f"{tmp_path}/tree", key=KEY)
    writer = found.writeStream.format("parquet").option("path", f"{tmp_path}/out")
    query = writer.option("checkpointLocation", f"{tmp_path}/checkpoint").trigger(availableNow=True).start()
    assert query.awaitTermination(600)
    assert 0 < len(spark.read.parquet(f"{tmp_path}/out").collect()) < 300


def test_z_anonymity_is_split_by_items_exactly(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_SECRET", "at least sixteen bytes")
    records = spark.createDataFrame(visits.VISITS, visits.SCHEMA)
    split = anonymize(records, visits.POLICY, lanes=4)
    assert split.schema.simpleString() == "struct<t:int,user:string,site:string>"
    alone = anonymize(records, visits.POLICY, lanes=1).collect()
    assert 0 < len(alone) < 400
    assert sorted(split.collect()) == sorted(alone)


def test_what_cannot_be_used_is_refused(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "in", "a", 0, 10)
    stream = spark.readStream.schema(SCHEMA).json(str(tmp_path / "in"))
    rule = policy("{time: 2s}")
    with pytest.raises(PolicyError, match=r"lanes: 0 is below 1; use at least 1"):
        anonymize(stream, rule, lanes=0)
    with pytest.raises(InputError, match=r"pulse: no such column; correct the policy or the DataFrame"):
        anonymize(stream.drop("pulse"), rule)
    with pytest.raises(StateError, match=r"key: there is none, and SHOAL_KEY is not set; a streaming query keeps"):
        anonymize(stream, rule)
    with pytest.raises(InputError, match=r"split_tree: name a folder, such as one beside the checkpoint"):
        anonymize(stream, rule, key=KEY)
    with pytest.raises(InputError, match=r"sample: is needed to learn the split tree of a streaming query"):
        anonymize(stream, rule, key=KEY, split_tree=str(tmp_path / "split_tree"))
