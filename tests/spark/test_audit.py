"""The audit as a job of Spark gives the verdicts of the local one, on good outputs and on damaged ones."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal-stream[spark]'")

from pyspark.sql import functions as F

from shoal import Policy, PolicyError
from shoal.audit import WholeRows
from shoal.audit import audit as local_audit
from shoal.spark import JobReport, anonymize, audit, evidence
from spark import visits
from spark.stream import POLICY, SCHEMA, write


@cache
def policy(window: str, suppressed: str = "blank", more: str = "") -> Policy:
    return Policy.parse(POLICY.format(window=window).replace("suppressed: publish", f"suppressed: {suppressed}") + more)


def verdicts(report: Any) -> dict[str, tuple[str, int]]:
    return {finding.promise: (str(finding.verdict), finding.broken) for finding in report.promises}


def traced(spark: Any, folder: Path, rule: Policy) -> tuple[Any, Any]:
    write(folder / "in", "a", 0, 900)
    alike = {"pid": "p1", "ts": 3.5, "age": 33, "pulse": 70, "ill": "flu", "id": 5000}  # two records that are the same
    wrong = {**alike, "age": 500, "id": 5001}
    more = spark.createDataFrame([tuple(row.values()) for row in (alike, alike, wrong)], SCHEMA)
    records = spark.read.schema(SCHEMA).json(str(folder / "in")).union(more)
    anonymize(records, rule, lanes=2, trace=True).write.parquet(f"{folder}/traced")
    return records, spark.read.parquet(f"{folder}/traced")


def both(records: Any, left: Any, rule: Policy) -> tuple[Any, Any]:
    here = local_audit(rule, *(part.toArrow() for part in evidence(records, left, rule)))
    return here, audit(records, left, rule)


@pytest.fixture(scope="module")
def outputs(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a query read, and its traced output, by its policy; each is made once."""
    return cache(lambda rule: traced(spark, tmp_path_factory.mktemp("audit"), rule))


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.spark.judge.ROWS", 300)


def test_the_verdict_names_what_was_not_counted() -> None:
    reasons = {"note": "needed"}
    report = JobReport(policy("{count: 100}"), (), {}, WholeRows((), reasons, rows=10, below=0, alone=0, smallest=2))
    assert "one field, published as it is, was not counted, by the policy's own reasons: note" in report.headline


@pytest.mark.parametrize(
    ("window", "suppressed", "more"),
    [("{count: 100}", "blank", ""), ("{time: 2s}", "drop", ""), ("{time: 2s}", "publish", "person_missing: own\n")],
)
def test_a_good_output(outputs: Any, window: str, suppressed: str, more: str) -> None:
    rule = policy(window, suppressed, more)
    here, there = both(*outputs(rule), rule)
    assert here.held, here.to_dict()
    assert verdicts(there) == verdicts(here)
    assert dict(there.rows) == dict(here.rows)
    assert there.whole == here.whole
    assert [finding.checked for finding in there.promises] == [finding.checked for finding in here.promises]
    assert "what an outsider can still do was not tried" in there.headline


def damaged(left: Any, kind: str) -> Any:
    trace = F.col("shoal_trace")
    if kind == "lost":
        return left.where("shoal_trace.record % 7 <> 0")
    if kind == "twice":
        return left.union(left.where("shoal_trace.record % 50 = 0"))
    if kind == "outside":
        lower = F.when(
            trace["record"] % 9 == 0, F.struct((F.col("age.hi") - 1).alias("lo"), F.col("age.hi"), F.lit(False).alias("x"))
        )
        return left.withColumn(
            "age", F.when(lower.isNotNull(), lower.cast(left.schema["age"].dataType)).otherwise(F.col("age"))
        )
    if kind == "late":
        return left.withColumn(
            "shoal_trace", trace.withField("arrived", trace["arrived"] - F.when(trace["record"] % 40 == 0, 500).otherwise(0))
        )
    if kind == "small":
        own = F.when(trace["record"] % 6 == 0, trace["cluster"] + 1_000_000).otherwise(trace["cluster"])
        return left.withColumn("shoal_trace", trace.withField("cluster", own))
    return left.withColumn("id", F.col("id") + F.when(trace["record"] % 30 == 0, 1).otherwise(0))


@pytest.mark.parametrize(
    ("window", "kind", "broken"),
    [
        ("{count: 100}", "lost", "once"), ("{time: 2s}", "twice", "once"), ("{count: 100}", "outside", "true"),
        ("{time: 2s}", "late", "in time"), ("{count: 100}", "late", "in time"), ("{count: 100}", "small", "k persons"),
        ("{time: 2s}", "altered", "unaltered"),
    ],
)  # fmt: skip
def test_a_damaged_output(outputs: Any, window: str, kind: str, broken: str) -> None:
    rule = policy(window)
    records, left = outputs(rule)
    here, there = both(records, damaged(left, kind), rule)
    assert there[broken].verdict == "broken"
    assert {name: each[0] for name, each in verdicts(there).items()} == {name: each[0] for name, each in verdicts(here).items()}
    assert not there.held and there.headline.startswith("broken: ")


def test_what_cannot_be_judged_in_parts_is_refused(spark: Any) -> None:
    with pytest.raises(PolicyError, match="z-anonymity is judged by shoal audit, which needs no trace for it"):
        audit(spark.createDataFrame([], SCHEMA), spark.createDataFrame([], SCHEMA), visits.POLICY)
