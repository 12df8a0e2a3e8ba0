"""A budget of releases in a query: the persons are spread over buckets, and each is counted over the whole stream."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal-stream[spark]'")

from pyspark.sql import Observation

from shoal import Anonymizer, InputError, Policy
from shoal.spark import Drain, anonymize, evidence
from spark.by_hand import Query
from spark.stream import KEY, in_turn

SCHEMA = "pid string, ts double, age int, ill string, id long"
RULE: dict[str, Any] = {
    "person": "pid",
    "time": {"field": "ts"},
    "attributes": {
        "age": {"quasi": "numeric", "range": [0, 120], "grid": 5}, "ill": {"sensitive": True}, "id": {"publish": "keep"},
    },
    "privacy": {"k": 3}, "suppressed": "publish", "window": {"count": 60},
    "releases": {"per_person": 4, "per": "30s"},
}  # fmt: skip


def often(size: int) -> list[dict[str, Any]]:
    """Five records a second; three of the persons come more often than the budget allows."""
    chance = random.Random(7)
    return [
        {"pid": f"p{i % 3 if i % 4 == 0 else chance.randrange(3, 80)}", "ts": i / 5, "age": chance.randrange(18, 90),
         "ill": chance.choice(["flu", "cold"]), "id": i}
        for i in range(size)
    ]  # fmt: skip


def local(rule: dict[str, Any], rows: list[dict[str, Any]]) -> dict[int, Any]:
    """What is shown of the illness of each record that leaves one anonymizer."""
    anonymizer = Anonymizer(Policy.parse(rule))
    left = [*anonymizer.push_batch(pa.RecordBatch.from_pylist(rows)).to_pylist(), *anonymizer.flush().to_pylist()]
    return {row["id"]: row["ill"] for row in left}


@pytest.mark.parametrize("lanes", [1, 3])
@pytest.mark.parametrize("beyond", ["drop", "withhold"])
@pytest.mark.parametrize("window", [{"count": 60}, {"time": "20s"}])
def test_the_same_records_are_beyond_it_as_in_one_process(window: dict[str, Any], beyond: str, lanes: int) -> None:
    rule = {**RULE, "window": window, "releases": {**RULE["releases"], "beyond": beyond}}
    rows = often(600)
    batches = [pa.RecordBatch.from_pylist(rows[start : start + 200]) for start in range(0, 600, 200)]
    query = Query(Policy.parse(rule), lanes, batches[0])
    left = [row for number, batch in enumerate(batches) for row in query.batch(batch, 40_000 * number, last=number == 2)]
    expected = local(rule, rows)
    assert {row["id"]: row["ill"] for row in left} == expected
    assert 300 < sum(value is not None for value in expected.values()) < 600  # the budget counts
    if beyond == "drop":
        assert len(left) < 600


def test_each_unknown_person_has_a_budget_of_its_own() -> None:
    rule = {**RULE, "person_missing": "own"}
    rows = [{**record, "pid": None} for record in often(100)]
    query = Query(Policy.parse(rule), 1, pa.RecordBatch.from_pylist(rows))
    assert len(query.batch(pa.RecordBatch.from_pylist(rows), 0, last=True)) == 100


def test_a_batch_data_frame(spark: Any) -> None:
    rows = often(600)
    frame = spark.createDataFrame([tuple(row.values()) for row in rows], SCHEMA).repartition(5)
    for beyond in ("drop", "withhold"):
        rule = {**RULE, "releases": {**RULE["releases"], "beyond": beyond}}
        seen = Observation()
        found = anonymize(frame, rule, lanes=3, observation=seen).collect()
        expected = local(rule, rows)
        assert {row.id: row.ill for row in found} == expected
        assert seen.get == {"received": 600, "rejected": 0}
    assert len(anonymize(frame, RULE, lanes=3, strict=True).collect()) < 600


def test_a_streaming_query_counts_over_its_batches_and_restarts(spark: Any, tmp_path: Path) -> None:
    rows = often(600)
    (tmp_path / "in").mkdir()

    def write(number: int) -> None:
        draft = tmp_path / f"draft{number}"
        draft.write_text("".join(json.dumps(row) + "\n" for row in rows[200 * number : 200 * number + 200]))
        in_turn(draft)
        draft.rename(tmp_path / "in" / f"{number}.json")

    def run() -> None:
        stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(f"{tmp_path}/in")
        sample, drain = spark.read.schema(SCHEMA).json(f"{tmp_path}/in"), Drain()
        found = anonymize(stream, RULE, 2, sample=sample, split_tree=f"{tmp_path}/tree", key=KEY, drain=drain)
        writer = found.writeStream.format("parquet").option("path", f"{tmp_path}/out")
        drain.run(writer.option("checkpointLocation", f"{tmp_path}/state").trigger(availableNow=True))

    write(0)
    write(1)
    run()
    write(2)
    run()
    left = {row.id: row.ill for row in spark.read.parquet(f"{tmp_path}/out").collect()}
    assert left == local(RULE, rows)


def test_evidence_is_refused(spark: Any) -> None:
    frame = spark.createDataFrame([tuple(row.values()) for row in often(20)], SCHEMA)
    with pytest.raises(InputError) as raised:
        evidence(frame, frame, RULE)
    text = "releases: a trace of Spark does not show which records the budget held back; judge without a trace"
    assert str(raised.value) == text
