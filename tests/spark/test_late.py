"""Late records of a streaming query, and the watermark that its result has for what follows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal-stream[spark]'")

from pyspark.sql import functions as F

from shoal import InputError
from shoal.spark import Drain, anonymize
from spark.stream import KEY, in_turn

SCHEMA = "pid string, at timestamp, age int, id long"
RULE: dict[str, Any] = {
    "person": "pid",
    "time": {"field": "at", "publish": "keep"},
    "attributes": {"age": {"quasi": "numeric", "range": [0, 120], "grid": 5}, "id": {"publish": "keep"}},
    "privacy": {"k": 3}, "suppressed": "publish", "window": {"time": "20s"},
}  # fmt: skip


def write(folder: Path, name: str, seconds: list[int], first: int) -> None:
    folder.mkdir(exist_ok=True)
    rows = [
        {"pid": f"p{i}", "at": f"2024-01-01T00:{second // 60:02d}:{second % 60:02d}Z", "age": 30 + i % 9, "id": i}
        for i, second in enumerate(seconds, first)
    ]
    draft = folder / f".{name}"
    draft.write_text("\n".join(map(json.dumps, rows)) + "\n")
    in_turn(draft)
    draft.rename(folder / f"{name}.json")


def anonymized(spark: Any, folder: Path, **more: Any) -> Any:
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder / "in"))
    return anonymize(stream, RULE, lanes=1, key=KEY, observation="shoal", **more)


def run(folder: Path, name: str, found: Any, drain: Drain) -> list[Any]:
    progress: list[Any] = []
    writer = found.writeStream.format("parquet").option("path", f"{folder}/{name}")
    queries: list[Any] = []
    writer = writer.option("checkpointLocation", f"{folder}/state-{name}").trigger(availableNow=True)
    drain.run(writer, queries.append)
    for query in queries:
        progress += query.recentProgress
    return progress


def late(progress: list[Any]) -> int:
    """How many records were rejected because they came too late."""
    return sum(each["observedMetrics"]["shoal-late"]["rejected"] for each in progress if each["observedMetrics"])


def test_late_records_are_rejected_and_counted(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "in", "a", list(range(100, 160)), 0)
    write(tmp_path / "in", "b", [155, 150, 149, 148, 100, 165], 100)
    drain = Drain()
    progress = run(tmp_path, "out", anonymized(spark, tmp_path, late="10s", drain=drain), drain)
    left = {row.id for row in spark.read.parquet(f"{tmp_path}/out").select("id").collect()}
    assert left == {*range(60), 100, 101, 102, 105}  # the newest time of the batch before is 159
    assert late(progress) == 2


def test_the_result_has_a_watermark_by_which_nothing_is_dropped(spark: Any, tmp_path: Path) -> None:
    for number in range(4):
        write(tmp_path / "in", f"a{number}", list(range(60 * number, 60 * number + 60)), 60 * number)
    drain = Drain()
    found = anonymized(spark, tmp_path, late=5, drain=drain)
    assert found.schema["at"].metadata == {"spark.watermarkDelayMs": 25_000}
    progress = run(tmp_path, "out", found.groupBy(F.window("at", "30 seconds")).count(), drain)
    assert late(progress) == 0  # else the files were read in another order
    counted = spark.read.parquet(f"{tmp_path}/out").select("count").collect()
    assert [row["count"] for row in counted] == [30] * 7  # the windows that end before the watermark, at 214 s
    assert sum(operator["numRowsDroppedByWatermark"] for each in progress for operator in each["stateOperators"]) == 0


def test_what_cannot_be_used_is_refused(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "in", "a", [1], 0)
    stream, batch = spark.readStream.schema(SCHEMA).json(f"{tmp_path}/in"), spark.read.schema(SCHEMA).json(f"{tmp_path}/in")
    wrong: list[tuple[Any, Any, Any, str]] = [
        (
            stream, {**RULE, "window": {"count": 9}}, 5,
            "late: needs a window of time; leave it out, or write window: {time: 30s}",
        ),
        (batch, RULE, 5, "late: nothing is late in a batch DataFrame, which is read in order of time; leave it out"),
        (stream, RULE, "soon", "late: is not a duration; write it like 250ms, 30s, 5m, or as a number of seconds"),
        (
            stream.withWatermark("at", "1 second"), RULE, 5,
            "late: the DataFrame has a watermark on at; leave it out, since the result gets one",
        ),
    ]  # fmt: skip
    for df, policy, late, text in wrong:
        with pytest.raises(InputError) as raised:
            anonymize(df, policy, lanes=1, key=KEY, late=late)
        assert str(raised.value) == text
