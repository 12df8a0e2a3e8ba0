"""Topics at the ends of a pipeline on Spark: all that can be seen without a broker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal-stream[spark]'")

from shoal import InputError, PolicyError
from shoal.pipeline import PipelineFile
from shoal.spark.kafka import PACKAGE, TopicSink, TopicSource, columns, lines, messages, records
from shoal.spark.pipe import pipe
from spark.stream import KEY, POLICY, write

PIPELINE = """
policy: policy.yaml
source: {source}
sink: {sink}
state: {{dir: state, key: {{env: SHOAL_KEY}}}}
"""
SOURCE = "{kafka: {brokers: 'a:9092,b:9092', topic: raw, group: mine}}"
SINK = "{kafka: {brokers: 'a:9092', topic: clean}}"


def parsed(folder: Path, source: str = SOURCE, sink: str = SINK) -> PipelineFile:
    return PipelineFile.parse(PIPELINE.format(source=source, sink=sink), folder)


def test_options_are_made_from_the_file(tmp_path: Path) -> None:
    file = parsed(tmp_path)
    assert TopicSource(file.source.settings).options() == {
        "kafka.bootstrap.servers": "a:9092,b:9092",
        "subscribe": "raw",
        "startingOffsets": "earliest",
        "kafka.isolation.level": "read_committed",
        "groupIdPrefix": "mine",
    }
    assert TopicSink(file.sink.settings).options() == {"kafka.bootstrap.servers": "a:9092", "topic": "clean"}


def test_messages_become_records_and_tuples_messages(spark: Any) -> None:
    payloads = [b'{"a": 1, "b": "x"}\n{"a": 2}\n', b"none", None]
    arrived = spark.createDataFrame([(payload and bytearray(payload),) for payload in payloads], "value binary")
    schema = columns(lines(arrived))
    assert schema.simpleString() == "struct<a:bigint,b:string>"
    found = records(arrived, schema)
    assert sorted(map(str, found.collect())) == ["Row(a=1, b='x')", "Row(a=2, b=None)", "Row(a=None, b=None)"]
    left = messages(found.where("a = 2"))
    assert [json.loads(row.value) for row in left.collect()] == [{"a": 2, "b": None}]


def test_a_connector_that_is_not_there_is_named(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_KEY", KEY)
    (tmp_path / "policy.yaml").write_text(POLICY.format(window="{count: 100}") + "lanes: 2\n")
    remedy = f"Spark's connector for Kafka is not there; set spark.jars.packages to {PACKAGE} in spark-defaults.conf"
    with pytest.raises(InputError) as raised:
        pipe(parsed(tmp_path), "local[2]")
    assert str(raised.value) == f"source.kafka: {remedy}"
    write(tmp_path / "in", "raw", 0, 20, suffix="jsonl")
    with pytest.raises(InputError) as raised:
        pipe(parsed(tmp_path, "{file: {path: in/raw.jsonl}}"), "local[2]")
    assert str(raised.value) == f"sink.kafka: {remedy}"


def test_what_the_connector_has_not_is_refused(tmp_path: Path) -> None:
    with_fields = "{kafka: {brokers: 'a:9092', topic: raw, group: mine, timestamp: t, headers: [h], envelope: debezium}}"
    with_key = "{kafka: {brokers: 'a:9092', topic: clean, key: age}}"
    with pytest.raises(PolicyError) as raised:
        pipe(parsed(tmp_path, with_fields, with_key), "local[2]")
    assert raised.value.problems == tuple(
        f"{place}: is not supported on Spark; remove it"
        for place in ("source.kafka.timestamp", "source.kafka.headers", "source.kafka.envelope", "sink.kafka.key")
    )
    with_options = "{kafka: {brokers: 'a:9092', topic: raw, group: mine, format: arrow, options: {security.protocol: ssl}}}"
    with pytest.raises(PolicyError) as raised:
        pipe(parsed(tmp_path, with_options), "local[2]")
    assert raised.value.problems == (
        "source.kafka.format: is not supported on Spark; use json",
        "source.kafka.options: are of another client than Spark's; call shoal.spark.anonymize with Spark's own options",
    )
