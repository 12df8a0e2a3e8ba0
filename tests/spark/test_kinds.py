"""Streams of Spark by what the policy asks for: windows that count, our own algorithm, z-anonymity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal-stream[spark]'")

from shoal import Policy
from shoal.spark import anonymize
from spark import visits
from spark.stream import KEY, POLICY, SCHEMA, classes, write


def streamed(spark: Any, folder: Path, schema: str, policy: Policy) -> tuple[list[Any], list[dict[str, int]]]:
    """What has left when all files have been taken in, one file per micro-batch, and what was counted in each."""
    source, home = f"{folder}/in", str(folder)
    records = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(source)
    sample = spark.read.schema(schema).json(source)
    found = anonymize(records, policy, lanes=2, sample=sample, split_tree=f"{home}/split_tree", key=KEY, observation="shoal")
    writer = found.writeStream.format("parquet").option("path", f"{home}/out").option("checkpointLocation", f"{home}/state")
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    counted = [each["observedMetrics"]["shoal"].asDict() for each in query.recentProgress if each["observedMetrics"]]
    return spark.read.schema(found.schema).parquet(f"{home}/out").collect(), counted


def test_a_window_that_counts_and_our_own_algorithm(spark: Any, tmp_path: Path) -> None:
    for number in range(2):
        write(tmp_path / "in", f"a{number}", 300 * number, 300)
    policy = Policy.parse(POLICY.format(window="{count: 100}").replace("fads", "tide"))
    rows, _ = streamed(spark, tmp_path, SCHEMA, policy)
    ids = [row.id for row in rows]
    assert len(set(ids)) == len(ids)
    assert len(ids) >= 490  # a window waits, and a few more: an arrival stands where its lane puts it
    assert classes(rows, 5) == []


def test_z_anonymity(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_SECRET", "at least sixteen bytes")
    visits.write(tmp_path / "in", [visits.VISITS[:200], visits.VISITS[200:]])
    whole = anonymize(spark.createDataFrame(visits.VISITS, visits.SCHEMA), visits.POLICY, lanes=1).collect()
    assert 0 < len(whole) < 400
    rows, counted = streamed(spark, tmp_path, visits.SCHEMA, visits.POLICY)
    assert sorted(rows) == sorted(whole)
    assert counted == 2 * [{"received": 200, "rejected": 0}]


def test_observations_that_come_too_late_are_counted(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_SECRET", "at least sixteen bytes")
    late = [(0, "u0", site) for site in ("s0", "s1", "s2")]
    visits.write(tmp_path / "in", [visits.VISITS, [*late, (399, "u0", "s0"), (None, "u0", "s0")]])
    _, counted = streamed(spark, tmp_path, visits.SCHEMA, visits.POLICY)
    assert counted == [{"received": 400, "rejected": 0}, {"received": 5, "rejected": 4}]
