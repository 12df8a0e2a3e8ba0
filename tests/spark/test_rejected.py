"""What is rejected is told: by counts, by a second DataFrame, and by queries that fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal-stream[spark]'")

from pyspark.errors import PythonException, StreamingQueryException
from pyspark.sql import Observation

from shoal import InputError, Policy
from shoal.spark import anonymize, rejected
from spark.stream import KEY, POLICY

RULE = Policy.parse(POLICY.format(window="{count: 50}"))
SCHEMA = "pid string, ts double, age string, pulse int, ill string, id long"
REASONS = [
    ("age", "not a number (value withheld); is it text? (quasi: categorical)"),
    ("ts", "the time is missing; every record needs one"),
]


def rows(size: int, bad: int) -> list[tuple[Any, ...]]:
    """Records of which `bad` are wrong: in one half of them the age is a text, in the other the time is missing."""
    found: list[tuple[Any, ...]] = [(f"p{i}", float(i), str(20 + i % 50), 60, "flu", i) for i in range(size)]
    for i in range(bad):
        found[i] = (f"p{i}", float(i), "elderly", 60, "flu", i) if i % 2 == 0 else (f"p{i}", None, "40", 60, "flu", i)
    return found


def write(folder: Path, name: str, records: list[tuple[Any, ...]]) -> None:
    folder.mkdir(exist_ok=True)
    names = [field.split()[0] for field in SCHEMA.split(", ")]
    lines = [json.dumps(dict(zip(names, record, strict=True))) for record in records]
    (folder / f".{name}").write_text("\n".join(lines) + "\n")
    (folder / f".{name}").rename(folder / f"{name}.json")


def test_an_observation_can_be_read(spark: Any) -> None:
    observation = Observation()
    records = spark.createDataFrame(rows(200, 10), SCHEMA)
    found = anonymize(records, RULE, lanes=2, observation=observation)
    assert found.count() == 190
    assert observation.get == {"received": 200, "rejected": 10}


def test_rejected_records_are_a_second_data_frame(spark: Any, tmp_path: Path) -> None:
    found = rejected(spark.createDataFrame(rows(200, 4), SCHEMA), RULE, "id")
    assert found.columns == ["id", "field", "reason"]
    assert sorted(found.collect()) == [(i, *REASONS[i % 2]) for i in range(4)]
    write(tmp_path / "in", "a", rows(20, 0))
    write(tmp_path / "in", "b", rows(20, 1))
    read = rejected(spark.read.schema(SCHEMA).json(f"{tmp_path}/in"), RULE).collect()
    assert [(row.file.rsplit("/", 1)[1], row.field, row.reason) for row in read] == [("b.json", *REASONS[0])]


def test_rejected_records_of_a_stream(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "in", "a", rows(20, 2))
    stream = spark.readStream.schema(SCHEMA).json(f"{tmp_path}/in")
    writer = rejected(stream, RULE, "id").writeStream.format("parquet").option("path", f"{tmp_path}/out")
    writer.option("checkpointLocation", f"{tmp_path}/checkpoint").trigger(availableNow=True).start().awaitTermination()
    read = spark.read.parquet(f"{tmp_path}/out")
    assert sorted(read.collect()) == [(i, *REASONS[i]) for i in range(2)]


def test_under_strict_the_first_one_fails(spark: Any) -> None:
    good, bad = (spark.createDataFrame(rows(100, number), SCHEMA) for number in (0, 1))
    assert anonymize(good, RULE, lanes=2, strict=True).count() == 100
    with pytest.raises(PythonException, match=r"a record was rejected under strict: 'age': not a number \(value withheld\)"):
        anonymize(bad, RULE, lanes=2, strict=True).collect()


def test_more_than_a_share_fails(spark: Any) -> None:
    some = spark.createDataFrame(rows(100, 10), SCHEMA)
    assert anonymize(some, RULE, lanes=2, max_rejected=0.1).count() == 90
    with pytest.raises(PythonException, match=r"10\.0 % of 100 records were rejected, more than 9\.0 %; shoal"):
        anonymize(some, RULE, lanes=2, max_rejected=0.09).collect()
    with pytest.raises(InputError, match=r"max_rejected: is not a share; give a number from 0 to 1, such as 0\.05"):
        anonymize(some, RULE, max_rejected=5)


def test_a_data_frame_that_is_rejected_as_a_whole_fails(spark: Any) -> None:
    with pytest.raises(PythonException, match=r"100 % of 60 records were rejected; shoal\.spark\.rejected"):
        anonymize(spark.createDataFrame(rows(60, 60), SCHEMA), RULE, lanes=2).collect()
    assert anonymize(spark.createDataFrame([], SCHEMA), RULE, lanes=2).collect() == []


def test_a_micro_batch_of_which_too_much_is_rejected_is_not_published(spark: Any, tmp_path: Path) -> None:
    source = str(tmp_path / "in")
    write(tmp_path / "in", "a", rows(200, 0))
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(source)
    known: dict[str, Any] = {"sample": spark.read.schema(SCHEMA).json(source), "split_tree": f"{tmp_path}/tree", "key": KEY}

    def run(**limits: Any) -> None:
        writer = (
            anonymize(stream, RULE, lanes=2, **known, **limits).writeStream.format("parquet").option("path", f"{tmp_path}/out")
        )
        writer.option("checkpointLocation", f"{tmp_path}/state").trigger(availableNow=True).start().awaitTermination()

    run(max_rejected=0.05)
    before = spark.read.parquet(f"{tmp_path}/out").count()
    assert before > 100
    write(tmp_path / "in", "b", rows(200, 20))
    with pytest.raises(StreamingQueryException, match=r"10\.0 % of 200 records were rejected, more than 5\.0 %"):
        run(max_rejected=0.05)
    with pytest.raises(StreamingQueryException, match=r"a record was rejected under strict"):
        run(strict=True)
    assert spark.read.parquet(f"{tmp_path}/out").count() == before
    run()
    assert spark.read.parquet(f"{tmp_path}/out").count() > before


def test_an_observation_of_a_stream_is_refused(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "in", "a", rows(20, 0))
    stream = spark.readStream.schema(SCHEMA).json(f"{tmp_path}/in")
    with pytest.raises(InputError, match=r"observation: Spark has no Observation of a streaming query; give a name"):
        anonymize(stream, RULE, lanes=1, key=KEY, observation=Observation())
