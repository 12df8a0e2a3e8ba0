"""Changes of a database: the rows after them are records; deletes and tombstones are counted."""

from __future__ import annotations

import io
import itertools
import json
from typing import Any

import fastavro
import pytest

from connectors.kafka_broker import Cluster
from shoal.connectors.kafka_source import KafkaSource
from shoal.connectors.schema_registry import Found, with_id
from shoal.connectors.wire import Raw, WireReader

ROW_FIELDS = [{"name": "age", "type": ["null", "int"]}, {"name": "city", "type": "string"}]
ROW = {"type": "record", "name": "Value", "fields": ROW_FIELDS}
ENVELOPE = {
    "type": "record", "name": "Envelope", "namespace": "db.people",
    "fields": [
        {"name": "before", "type": ["null", ROW]},
        {"name": "after", "type": ["null", "Value"]},
        {"name": "source", "type": {"type": "map", "values": "string"}},
        {"name": "op", "type": "string"},
        {"name": "ts_ms", "type": ["null", "long"]},
    ],
}  # fmt: skip
_names = map("d{}".format, itertools.count())


def change(operation: str, before: Any = None, after: Any = None) -> dict[str, Any]:
    return {"before": before, "after": after, "source": {"db": "clinic"}, "op": operation, "ts_ms": 1}


def row(age: int | None) -> dict[str, Any]:
    return {"age": age, "city": "Oslo"}


CHANGES = [
    change("r", after=row(1)), change("c", after=row(2)), change("u", row(2), row(None)), change("d", row(2)), change("t"),
    change("c", after=row(4)),
]  # fmt: skip


class OneSchema:
    """A registry with one schema."""

    def schema(self, number: int) -> Found:
        return Found("AVRO", json.dumps(ENVELOPE), {})


def test_avro() -> None:
    schema = fastavro.parse_schema(ENVELOPE)
    messages = []
    for each in CHANGES:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, schema, each)
        messages.append(Raw(with_id(3, "AVRO") + out.getvalue(), {"tenant": each["op"]}))
    reader = WireReader(OneSchema(), "avro", ["age", "city", "none", "tenant"], envelope=True)  # type: ignore[arg-type]
    blocks, removed = reader.blocks(messages)
    assert removed == 2
    assert blocks[0].rows.tolist() == [0, 1, 2, 3]
    assert blocks[0].batch.to_pylist() == [
        {"age": age, "city": "Oslo", "none": None, "tenant": operation}
        for age, operation in ((1, "r"), (2, "c"), (None, "u"), (4, "c"))
    ]
    assert list(blocks[0].names) == ["age", "city", "tenant"]


@pytest.mark.parametrize("with_schema", [False, True])
def test_json_from_a_topic(kafka_cluster: Cluster, with_schema: bool) -> None:
    topic = next(_names)
    kafka_cluster.create(topic, partitions=1)
    values = [json.dumps({"schema": {}, "payload": each} if with_schema else each).encode() for each in CHANGES]
    kafka_cluster.produce(topic, [*((b"1", value) for value in values), (b"1", None)])
    settings = KafkaSource.Settings(brokers=kafka_cluster.brokers, topic=topic, group=topic, envelope="debezium")
    source = KafkaSource(settings)
    beginning = source.begin(None)
    found: list[Any] = []
    position = beginning
    while position["offsets"]["0"] < len(CHANGES) + 1:
        if delivery := source.read(1):
            found += [json.loads(payload) for payload in delivery.payloads]  # type: ignore[arg-type]
            position = delivery.position
    source.close()
    assert found == [row(1), row(2), row(None), row(4)]
    assert (position["messages"], position["deletes"], position["tombstones"]) == (4, 2, 1)
    again = KafkaSource(settings)
    again.begin(beginning)
    assert [json.loads(payload) for payload in again.replay(position)] == found  # type: ignore[arg-type]
    again.close()
