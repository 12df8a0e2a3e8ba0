"""Streams of Spark by what the policy asks for: windows that count, our own algorithm, z-anonymity."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal[spark]'")

from shoal import Policy
from shoal.spark import anonymize
from spark.stream import KEY, POLICY, SCHEMA, classes, write

VISITS = "t int, user string, site string"


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
    policy = Policy.parse("""
        person: user
        time: {field: t}
        item: {field: site}
        algorithm: {name: zanon, z: 3, window: 50s}
    """)
    visits = [(i, f"u{i * 7 % 23}", f"s{i * 13 % 11}") for i in range(400)]
    (tmp_path / "in").mkdir()
    for number in range(2):
        some = visits[200 * number : 200 * (number + 1)]
        lines = [f'{{"t": {t}, "user": "{user}", "site": "{site}"}}\n' for t, user, site in some]
        file = tmp_path / "in" / f"{number}.json"
        file.write_text("".join(lines))
        os.utime(file, (number, number))  # Spark takes the oldest file first
    whole = anonymize(spark.createDataFrame(visits, VISITS), policy, lanes=1).collect()
    assert 0 < len(whole) < 400
    assert sorted(streamed(spark, tmp_path, VISITS, policy)) == sorted(whole)
