"""Streams of Spark by what the policy asks for: windows that count, our own algorithm, z-anonymity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal[spark]'")

from shoal import Policy
from shoal.spark import anonymize
from spark import visits
from spark.stream import KEY, POLICY, SCHEMA, classes, write


def streamed(spark: Any, folder: Path, schema: str, policy: Policy) -> list[Any]:
    """What has left when all files have been taken in, a file a micro-batch."""
    source, home = f"{folder}/in", str(folder)
    records = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(source)
    sample = spark.read.schema(schema).json(source)
    found = anonymize(records, policy, lanes=2, sample=sample, cells=f"{home}/cells", key=KEY)
    writer = found.writeStream.format("parquet").option("path", f"{home}/out").option("checkpointLocation", f"{home}/state")
    writer.trigger(availableNow=True).start().awaitTermination()
    return spark.read.schema(found.schema).parquet(f"{home}/out").collect()


def test_a_window_that_counts_and_our_own_algorithm(spark: Any, tmp_path: Path) -> None:
    for number in range(2):
        write(tmp_path / "in", f"a{number}", 300 * number, 300)
    policy = Policy.parse(POLICY.format(window="{count: 100}").replace("fads", "tide"))
    rows = streamed(spark, tmp_path, SCHEMA, policy)
    ids = [row.id for row in rows]
    assert len(set(ids)) == len(ids)
    assert len(ids) >= 490  # a window waits, and a few more: an arrival stands where its lane puts it
    assert classes(rows, 5) == []


def test_z_anonymity(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_SECRET", "at least sixteen bytes")
    visits.write(tmp_path / "in", [visits.VISITS[:200], visits.VISITS[200:]])
    whole = anonymize(spark.createDataFrame(visits.VISITS, visits.SCHEMA), visits.POLICY, lanes=1).collect()
    assert 0 < len(whole) < 400
    assert sorted(streamed(spark, tmp_path, visits.SCHEMA, visits.POLICY)) == sorted(whole)
