"""Topics whose messages have a schema, against a real broker and a real registry, by the client's own serializers."""

from __future__ import annotations

import itertools
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import message_factory

from connectors.kafka_broker import QUIET, Cluster
from shoal.connectors.kafka_sink import KafkaSink
from shoal.connectors.kafka_source import KafkaSource
from shoal.connectors.protobuf_messages import compiled
from shoal.connectors.schema_registry import Found
from shoal.errors import ConnectorError
from shoal.pipeline import Pipe, PipelineFile

POLICY = """
person: pid
attributes:
  body.age: {quasi: numeric, range: [0, 100], grid: 5}
  city: {quasi: categorical, hierarchy: {World: {North: [Oslo, Bergen], South: [Rome, Naples]}}}
  ill: {sensitive: true}
privacy: {k: 3}
window: {count: 10}
algorithm: {name: fads}
"""
PIPELINE = """
policy: policy.yaml
source: {{kafka: {{brokers: "{brokers}", topic: {raw}, group: {raw}, format: {read}, registry: {{url: "{url}"}}{more}}}}}
sink: {{kafka: {{brokers: "{brokers}", topic: {clean}, id: {clean}, format: {write}, registry: {{url: "{url}"}}, key: city}}}}
state: {{dir: state-{clean}, key: {{env: SHOAL_KEY}}}}
"""
AVRO = {
    "type": "record", "name": "visit", "namespace": "clinic",
    "fields": [
        {"name": "pid", "type": "long"},
        {"name": "body", "type": {"type": "record", "name": "body", "fields": [{"name": "age", "type": ["null", "int"]}]}},
        {"name": "city", "type": {"type": "enum", "name": "city", "symbols": ["Oslo", "Bergen", "Rome", "Naples"]}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "ill", "type": ["null", "string"], "default": None},
    ],
}  # fmt: skip
PROTO = """
syntax = "proto3";
package clinic;
message Other { string x = 1; }
message Visit {
  message Body { optional int32 age = 1; }
  enum City { Oslo = 0; Bergen = 1; Rome = 2; Naples = 3; }
  int64 pid = 1;
  Body body = 2;
  City city = 3;
  optional string ill = 4;
}
"""
JSON_SCHEMA = {
    "title": "visit", "type": "object",
    "properties": {"pid": {"type": "integer"}, "city": {"enum": ["Oslo", "Bergen", "Rome", "Naples"]}},
}  # fmt: skip
CITIES = ("Oslo", "Bergen", "Rome", "Naples")
_names = map("w{}".format, itertools.count())


def visits(count: int) -> list[dict[str, Any]]:
    return [
        {"pid": i % 13, "body": {"age": None if i % 7 == 0 else i * 7 % 90}, "city": CITIES[i % 4], "tags": ["a"] * (i % 3),
         "ill": None if i % 5 == 0 else f"ill {i}"}
        for i in range(count)
    ]  # fmt: skip


def serializer(form: str, client: SchemaRegistryClient) -> Any:
    """The client's own, and what it is given for a record."""
    if form == "avro":
        return AvroSerializer(client, json.dumps(AVRO)), lambda record: record
    if form == "json-schema":
        return JSONSerializer(json.dumps(JSON_SCHEMA), client), lambda record: record
    file, pool = compiled(Found("PROTOBUF", PROTO, {}))
    made = message_factory.GetMessageClass(file.message_types_by_name["Visit"])
    own = ProtobufSerializer(made, client, {"use.deprecated.format": False})

    def message(record: dict[str, Any]) -> Any:
        known = {"pid": record["pid"], "city": CITIES.index(record["city"])}
        body = {"age": record["body"]["age"]} if record["body"]["age"] is not None else {}
        ill = {"ill": record["ill"]} if record["ill"] is not None else {}
        return made(**known, body=body, **ill)

    message.pool = pool  # type: ignore[attr-defined]
    return own, message


def produce(cluster: Cluster, topic: str, client: SchemaRegistryClient, form: str, records: list[dict[str, Any]]) -> None:
    serialize, made = serializer(form, client)
    context = SerializationContext(topic, MessageField.VALUE)
    producer = Producer({**QUIET, **cluster.client})
    for i, record in enumerate(records):
        producer.produce(topic, serialize(made(record), context), partition=i % 4)
    assert producer.flush(20) == 0


class Until:
    """Lets a pipeline end once it has taken in so many records."""

    pipe: Pipe

    def __init__(self, count: int) -> None:
        self._count = count

    def after(self, anonymizer: Any, answer: Any) -> None:
        if anonymizer.stats.received >= self._count:
            self.pipe.stop(drain=True)

    def started(self, stats: Any) -> None: ...

    def checkpointed(self, seconds: float, size: int) -> None: ...

    def lag(self, waiting: int | None) -> None: ...

    def phase(self, name: str) -> None: ...

    def failed(self, reason: str) -> None: ...

    def stopped(self, reason: str) -> None: ...


def run(folder: Path, count: int) -> Pipe:
    until = Until(count)
    pipe = until.pipe = Pipe(PipelineFile.load(folder / "pipeline.yaml"), watcher=until)
    impatient = threading.Timer(60, pipe.stop)
    impatient.start()
    pipe.run()
    impatient.cancel()
    assert pipe.anonymizer.stats.received >= count, "not all records have come"
    return pipe


@pytest.fixture
def place(tmp_path: Path, kafka_cluster: Cluster, registry: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("SHOAL_KEY", "k" * 40)
    raw, clean = next(_names), next(_names)
    kafka_cluster.create(raw)
    kafka_cluster.create(clean)
    (tmp_path / "policy.yaml").write_text(POLICY)
    return {"folder": tmp_path, "brokers": kafka_cluster.brokers, "raw": raw, "clean": clean, "url": registry}


def write(place: dict[str, Any], read: str, target: str, more: str = "") -> None:
    known = {name: place[name] for name in ("brokers", "raw", "clean", "url")}
    (place["folder"] / "pipeline.yaml").write_text(PIPELINE.format(read=read, write=target, more=more, **known))


def published(cluster: Cluster, topic: str, client: SchemaRegistryClient, form: str) -> list[dict[str, Any]]:
    """The tuples of a topic as another reader sees them, with the schema from the registry alone."""
    values = [message.value() for message in cluster.messages(topic)]
    schema = client.get_latest_version(f"{topic}-value").schema
    context = SerializationContext(topic, MessageField.VALUE)
    if form == "avro":
        return [AvroDeserializer(client)(value, context) for value in values]
    if form == "json-schema":
        return [json.loads(value[5:]) for value in values]
    file, _ = compiled(Found("PROTOBUF", schema.schema_str, {}))
    made = message_factory.GetMessageClass(file.message_types_by_name["Tuple"])
    return [_plain(made.FromString(value[6:])) for value in values]


def _plain(message: Any) -> dict[str, Any]:
    found: dict[str, Any] = dict.fromkeys(field.name for field in message.DESCRIPTOR.fields)
    for field, value in message.ListFields():
        if field.message_type.name == "Value":
            found[field.name] = getattr(value, value.WhichOneof("kind"))
        else:
            names = [inner.name for inner in field.message_type.fields if inner.name not in ("of", "had")]
            found[field.name] = {name: getattr(value, name) for name in names}
    return found


@pytest.mark.parametrize("form", ["avro", "protobuf", "json-schema"])
def test_records_with_a_schema_go_in_and_out(place: dict[str, Any], kafka_cluster: Cluster, form: str) -> None:
    client = SchemaRegistryClient({"url": place["url"]})
    records = visits(60)
    produce(kafka_cluster, place["raw"], client, form, records)
    write(place, form, form)
    pipe = run(place["folder"], 60)
    assert pipe.anonymizer.stats.rejected == 0
    found = published(kafka_cluster, place["clean"], client, form)
    assert len(found) == 60
    assert sorted(each["ill"] or "" for each in found) == sorted(record["ill"] or "" for record in records)
    for each in found:
        if form == "json-schema":
            assert isinstance(each["city"], str | list)
            continue
        age, city = each["body_age"], each["city"]
        assert age is None or (age["lo"] <= age["hi"] and isinstance(age["or_missing"], bool))
        assert city["value"] in ("World", "North", "South", *CITIES)
    keys = {message.key() for message in kafka_cluster.messages(place["clean"])}
    assert keys and None not in keys


def test_the_schema_evolves_with_the_policy(place: dict[str, Any], kafka_cluster: Cluster) -> None:
    client = SchemaRegistryClient({"url": place["url"]})
    subject = f"{place['clean']}-value"
    client.set_compatibility(subject, level="FULL")
    produce(kafka_cluster, place["raw"], client, "avro", visits(30))
    write(place, "avro", "avro")
    run(place["folder"], 30)
    first = client.get_latest_version(subject)
    assert [field["name"] for field in json.loads(first.schema.schema_str)["fields"]] == ["body_age", "city", "ill"]

    less = POLICY.replace("  ill: {sensitive: true}\n", "  pid2: {publish: keep}\n")
    (place["folder"] / "policy.yaml").write_text(less)
    produce(kafka_cluster, place["raw"], client, "avro", visits(30))
    run(place["folder"], 30)  # under another policy the count begins anew
    second = SchemaRegistryClient({"url": place["url"]}).get_latest_version(subject)  # one that remembers nothing
    assert second.version == first.version + 1
    assert [field["name"] for field in json.loads(second.schema.schema_str)["fields"]] == ["body_age", "city", "pid2"]
    context = SerializationContext(place["clean"], MessageField.VALUE)
    for schema in (first, second):  # a reader of either schema reads what was written with both
        reads = AvroDeserializer(client, schema.schema.schema_str)
        found = [reads(message.value(), context) for message in kafka_cluster.messages(place["clean"])]
        assert len(found) == 60

    other = POLICY.replace("{quasi: numeric, range: [0, 100], grid: 5}", "{publish: keep}")
    (place["folder"] / "policy.yaml").write_text(other)
    with pytest.raises(ConnectorError) as error:
        run(place["folder"], 60)
    assert str(error.value) == (
        f"registry: the schema of what the policy publishes is not compatible with that of subject '{subject}'; write to "
        "another topic, or relax the subject's compatibility"
    )


def test_time_and_headers_are_fields_beside_those_of_a_schema(place: dict[str, Any], kafka_cluster: Cluster) -> None:
    client = SchemaRegistryClient({"url": place["url"]})
    serialize, made = serializer("avro", client)
    value = serialize(made(visits(1)[0]), SerializationContext(place["raw"], MessageField.VALUE))
    now = int(time.time())  # the broker deletes messages that are older than its retention, at any moment
    kafka_cluster.produce(place["raw"], [(b"person", value)], headers={"tenant": "north"}, timestamp=1000 * now)
    settings = KafkaSource.Settings(
        brokers=place["brokers"], topic=place["raw"], group="g", format="avro", registry={"url": place["url"]},
        timestamp="t", headers=("tenant",),
    )  # fmt: skip
    source = KafkaSource(settings)
    source.fields = ["t", "tenant", "body.age", "city"]
    source.begin(None)
    delivery = None
    while delivery is None:
        delivery = source.read(1)
    source.close()
    assert delivery.payloads[0].batch.to_pylist() == [  # type: ignore[union-attr]
        {"t": float(now), "tenant": "north", "body.age": None, "city": "Oslo"}
    ]


def test_what_is_in_no_wire_format_or_damaged_is_rejected(place: dict[str, Any], kafka_cluster: Cluster) -> None:
    client = SchemaRegistryClient({"url": place["url"]})
    serialize, made = serializer("avro", client)
    value = serialize(made(visits(1)[0]), SerializationContext(place["raw"], MessageField.VALUE))
    produce(kafka_cluster, place["raw"], client, "avro", visits(20))
    kafka_cluster.produce(place["raw"], [(None, b'{"pid": 1}'), (None, value[:-2]), (None, None)])
    write(place, "avro", "avro")
    (place["folder"] / "pipeline.yaml").write_text(
        (place["folder"] / "pipeline.yaml").read_text() + "dead_letters: {file: dead.jsonl}\n"
    )
    run(place["folder"], 22)
    letters = [json.loads(line) for line in (place["folder"] / "dead.jsonl").read_text().splitlines()]
    assert sorted(letter["reason"] for letter in letters) == [
        "does not fit its schema, or is damaged", "not in the wire format of a schema registry",
    ]  # fmt: skip


def test_json_is_compared_with_its_schema(place: dict[str, Any], kafka_cluster: Cluster) -> None:
    client = SchemaRegistryClient({"url": place["url"]})
    produce(kafka_cluster, place["raw"], client, "json-schema", visits(20))
    number = client.get_latest_version(f"{place['raw']}-value").schema_id
    odd = b"\0" + number.to_bytes(4, "big") + json.dumps({**visits(1)[0], "city": "Lima"}).encode()
    kafka_cluster.produce(place["raw"], [(None, odd), (None, json.dumps(visits(1)[0]).encode())])
    write(place, "json-schema", "json-schema")
    (place["folder"] / "pipeline.yaml").write_text(
        (place["folder"] / "pipeline.yaml").read_text() + "dead_letters: {file: dead.jsonl}\n"
    )
    run(place["folder"], 22)
    letters = [json.loads(line) for line in (place["folder"] / "dead.jsonl").read_text().splitlines()]
    assert sorted(letter["reason"] for letter in letters) == [
        "does not fit its schema, or is damaged", "not in the wire format of a schema registry",
    ]  # fmt: skip


def test_a_schema_of_another_kind_and_one_that_is_not_there(place: dict[str, Any], kafka_cluster: Cluster) -> None:
    client = SchemaRegistryClient({"url": place["url"]})
    number = client.register_schema(f"{place['raw']}-value", Schema(json.dumps(JSON_SCHEMA), "JSON"))
    write(place, "avro", "avro")
    kafka_cluster.produce(place["raw"], [(None, b"\0" + number.to_bytes(4, "big") + b"{}")])
    with pytest.raises(ConnectorError) as error:
        run(place["folder"], 1)
    assert str(error.value) == f"registry: schema {number} is of the kind JSON; correct format: avro"


def test_a_registry_that_does_not_answer(kafka_cluster: Cluster) -> None:
    settings: dict[str, Any] = {
        "brokers": kafka_cluster.brokers, "topic": "t", "format": "avro", "registry": {"url": "http://127.0.0.1:9"}
    }  # fmt: skip
    for start in (
        lambda: KafkaSink(KafkaSink.Settings(**settings)).begin(None, 0),
        lambda: KafkaSource(KafkaSource.Settings(**settings, group="g")).probe(None),
    ):
        with pytest.raises(ConnectorError) as error:
            start()
        assert str(error.value) == (
            "registry: http://127.0.0.1:9 does not answer; check its address, and start the pipeline again"
        )
