"""A job is judged by `shoal audit`: its input, its output and its trace are put in order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal-stream[spark]'")

from shoal import InputError, Policy
from shoal.audit import audit
from shoal.spark import Drain, anonymize, evidence
from spark import visits
from spark.stream import KEY, POLICY, SCHEMA, write


def policy(window: str, suppressed: str = "blank") -> Policy:
    return Policy.parse(POLICY.format(window=window).replace("suppressed: publish", f"suppressed: {suppressed}"))


def judged(df: Any, traced: Any, rule: Policy) -> Any:
    found = evidence(df, traced, rule)
    report = audit(rule, *(part.toArrow() for part in found))
    assert report.held, report.to_dict()
    return found


@pytest.mark.parametrize(("window", "suppressed"), [("{count: 100}", "blank"), ("{time: 2s}", "drop")])
def test_a_batch(spark: Any, tmp_path: Path, window: str, suppressed: str) -> None:
    rule = policy(window, suppressed)
    write(tmp_path / "in", "a", 0, 1200)
    alike = {"pid": "p1", "ts": 3.5, "age": 33, "pulse": 70, "ill": "flu", "id": 5000}  # two records that are the same
    wrong = {**alike, "age": 500, "id": 5001}
    more = spark.createDataFrame([tuple(row.values()) for row in (alike, alike, wrong)], SCHEMA)
    records = spark.read.schema(SCHEMA).json(str(tmp_path / "in")).union(more)
    anonymize(records, rule, lanes=3, trace=True).write.parquet(f"{tmp_path}/traced")
    found = judged(records, spark.read.parquet(f"{tmp_path}/traced"), rule)
    assert found.input.count() == 1203
    assert found.trace.count() == 1202
    assert found.trace.columns == ["row", "how", "cluster", "arrived", "released"]
    assert found.output.columns == ["age", "pulse", "ill", "id"]


@pytest.mark.parametrize("window", ["{count: 100}", "{time: 2s}"])
def test_a_streaming_query(spark: Any, tmp_path: Path, window: str) -> None:
    rule, source = policy(window), str(tmp_path / "in")
    for number in range(3):
        write(tmp_path / "in", f"a{number}", 250 * number, 250)
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(source)
    records, drain = spark.read.schema(SCHEMA).json(source), Drain()
    saved = {"split_tree": f"{tmp_path}/tree", "key": KEY}
    traced = anonymize(stream, rule, lanes=2, sample=records, drain=drain, trace=True, **saved)
    writer = traced.writeStream.format("parquet").option("path", f"{tmp_path}/traced")
    drain.run(writer.option("checkpointLocation", f"{tmp_path}/state").trigger(availableNow=True))
    found = judged(records, spark.read.parquet(f"{tmp_path}/traced"), rule)
    assert found.trace.count() == 750


def test_a_planted_violation_is_found(spark: Any, tmp_path: Path) -> None:
    rule = policy("{count: 100}")
    write(tmp_path / "in", "a", 0, 600)
    records = spark.read.schema(SCHEMA).json(str(tmp_path / "in"))
    anonymize(records, rule, lanes=2, trace=True).write.parquet(f"{tmp_path}/traced")
    traced = spark.read.parquet(f"{tmp_path}/traced")
    found = evidence(records, traced.where("shoal_trace.record % 7 <> 0"), rule)
    assert not audit(rule, *(part.toArrow() for part in found)).held


def test_what_cannot_be_traced_is_refused(spark: Any) -> None:
    records = spark.createDataFrame(visits.VISITS, visits.SCHEMA)
    with pytest.raises(
        InputError, match=r"trace: is not supported for z-anonymity, whose output shoal audit judges without one"
    ):
        anonymize(records, visits.POLICY, trace=True)
    with pytest.raises(InputError, match=r"trace: under window\.buffer no lane counts the arrivals of the others; use lanes=1"):
        anonymize(spark.createDataFrame([], SCHEMA), policy("{buffer: 200}"), lanes=2, trace=True)
    with pytest.raises(InputError, match=r"traced: has no column shoal_trace; make it with anonymize\(…, trace=True\)"):
        evidence(records, records, visits.POLICY)
