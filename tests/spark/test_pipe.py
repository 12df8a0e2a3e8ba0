"""A pipeline's file on Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal[spark]'")

from shoal import PolicyError
from shoal.pipeline import PipelineFile
from shoal.spark.pipe import pipe
from spark.stream import KEY, POLICY, write

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


def test_what_spark_has_not_is_refused(tmp_path: Path) -> None:
    file = PipelineFile.parse(PIPELINE.format(source="stdin", sink="csv") + "trace: private.jsonl\n", tmp_path)
    with pytest.raises(PolicyError) as raised:
        pipe(file, "local[2]")
    assert raised.value.problems == (
        "source.stdin: is not there on Spark; use file or kafka, or call shoal.spark.anonymize",
        "sink.file.path: is a format that is not there on Spark; use .jsonl",
        "trace: is not there on Spark; remove it",
    )
