"""A pipeline's file on Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal-stream[spark]'")

from shoal import PolicyError
from shoal.column_types import BLURRED_LABEL, struct_of
from shoal.pipeline import PipelineFile
from shoal.spark import anonymize
from shoal.spark.pipe import _lines, pipe
from shoal.spark.steps import _cast, plain
from spark import visits
from spark.stream import KEY, POLICY, committed, write

PIPELINE = """
policy: policy.yaml
source: {source}
sink: {{file: {{path: clean.{sink}}}}}
state: {{dir: state, key: {{env: SHOAL_KEY}}}}
"""


def test_a_file_that_ends(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_KEY", KEY)
    write(tmp_path / "in", "raw", 0, 400, suffix="jsonl")
    (tmp_path / "policy.yaml").write_text(POLICY.format(window="{count: 100}") + "lanes: 2\n")
    text = PIPELINE.format(source="{file: {path: in/raw.jsonl}}", sink="jsonl")
    pipe(PipelineFile.parse(text, tmp_path), "local[2]")
    lines = [line for part in (tmp_path / "clean.jsonl").glob("part-*") for line in part.read_text().splitlines()]
    rows = [json.loads(line) for line in lines]
    assert sorted(row["id"] for row in rows) == list(range(400))
    assert all(list(row) == ["age", "pulse", "ill", "id"] and len(row["age"] or "lh") == 2 for row in rows)


def test_z_anonymity_is_drained(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds nothing back, so the query ends with its input."""
    monkeypatch.setenv("SHOAL_KEY", KEY)
    monkeypatch.setenv("SHOAL_SECRET", "at least sixteen bytes")
    visits.write(tmp_path / "in", [visits.VISITS[:200], visits.VISITS[200:]], suffix="jsonl")
    (tmp_path / "policy.yaml").write_text(visits.TEXT)
    file = PipelineFile.parse(PIPELINE.format(source='{file: {path: "in/*.jsonl", follow: true}}', sink="jsonl"), tmp_path)
    started: list[Any] = []
    pipe(file, "local[2]", started.append, drain=True)
    assert [query.isActive for query in started] == [False]
    alone = anonymize(spark.createDataFrame(visits.VISITS, visits.SCHEMA), visits.POLICY, lanes=1).collect()
    rows = committed(tmp_path / "clean.jsonl")
    assert 0 < len(rows) < 400
    assert sorted(tuple(row.values()) for row in rows) == sorted(tuple(row) for row in alone)


def test_what_spark_has_not_is_refused(tmp_path: Path) -> None:
    file = PipelineFile.parse(PIPELINE.format(source="stdin", sink="csv") + "trace: private.jsonl\n", tmp_path)
    with pytest.raises(PolicyError) as raised:
        pipe(file, "local[2]")
    assert raised.value.problems == (
        "source.stdin: is not supported on Spark; use file, kafka, or call shoal.spark.anonymize",
        "sink.file.path: is a format that is not supported on Spark; use .jsonl, or the sink parquet",
        "trace: is not supported on Spark; remove it",
    )


BLURRED = [(1, (60.0, 85.0, True), ('a "b"', True)), (2, (60.0, 85.0, False), ("sitting", False)), (3, None, None)]


def test_what_is_in_doubt_ends_with_null(spark: Any) -> None:
    kinds = ["pulse struct<lo: double, hi: double, or_missing: boolean>", "activity struct<value: string, or_missing: boolean>"]
    shown = _lines(spark.createDataFrame(BLURRED, ", ".join(["id int", *kinds])))
    assert [json.loads(row.line) for row in shown.selectExpr("to_json(struct(*)) line").collect()] == [
        {"id": 1, "pulse": [60, 85, None], "activity": ['a "b"', None]},
        {"id": 2, "pulse": [60, 85], "activity": "sitting"},
        {"id": 3},
    ]


def test_labels_in_doubt_are_plain_text_in_spark() -> None:
    labels = pa.DictionaryArray.from_arrays(pa.array([1, 0, 0], pa.int32()), ["World", "Oslo"])
    fields = list(struct_of(BLURRED_LABEL, [labels.type, pa.bool_()]))
    array = pa.StructArray.from_arrays(
        [labels, pa.array([True, False, False])], fields=fields, mask=pa.array([False, False, True])
    )
    kind = plain(array.type)
    assert kind == pa.struct([("value", pa.string()), ("or_missing", pa.bool_())])
    assert _cast(array, kind) == pa.array(
        [{"value": "Oslo", "or_missing": True}, {"value": "World", "or_missing": False}, None], kind
    )
