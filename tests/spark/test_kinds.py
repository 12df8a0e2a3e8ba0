"""Streams of Spark by what the policy asks for: windows that count, our own algorithm, sets, z-anonymity."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal-stream[spark]'")

from shoal import Policy
from shoal.spark import anonymize
from spark import visits
from spark.stream import KEY, POLICY, SCHEMA, classes, in_turn, write

HOMES = ["Canal", "Meadow", "Hill", "Dock", "Mill"]
SETS = """
person: pid
attributes:
  home:
    quasi: categorical
    generalize: {set: {most: 3}}
    hierarchy: {City: {South: [Canal, Meadow], North: [Hill, Dock, Mill]}}
  work: {quasi: categorical, values: [bank, inn, mill]}
  id: {publish: keep}
privacy: {k: 5}
window: {count: 30}
"""


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


def test_sets(spark: Any, tmp_path: Path) -> None:
    """They cross the state between micro-batches, and are lists of labels in Spark."""
    given = {i: (None if i % 7 == 0 else HOMES[i * 7 % 5], ("bank", "inn", "mill")[i % 11 % 3]) for i in range(600)}
    (tmp_path / "in").mkdir()
    for first in (0, 300):
        file = tmp_path / "in" / f"a{first}.json"
        lines = [{"pid": f"p{i}", "home": given[i][0], "work": given[i][1], "id": i} for i in range(first, first + 300)]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        in_turn(file)
    rows, _ = streamed(spark, tmp_path, "pid string, home string, work string, id long", Policy.parse(SETS))
    rows = [row for row in rows if row.id is not None]  # the others are outside k, and blank
    assert len({row.id for row in rows}) == len(rows) >= 400
    above = {"Canal": "South", "Meadow": "South", "Hill": "North", "Dock": "North", "Mill": "North"}
    for row in rows:
        home, work = given[row.id]
        if home is None:
            assert row.home is None or row.home[-1] is None
        else:
            assert {home, above[home], "City"} & set(row.home)
        assert work in row.work
    assert any(len([label for label in row.home or [] if label]) > 1 for row in rows)
    assert max(len([label for label in row.home or [] if label]) for row in rows) <= 3


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
