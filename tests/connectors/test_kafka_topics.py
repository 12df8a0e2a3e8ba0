"""What becomes of a source or a sink when something happens to its topic."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions

from connectors.conformance import batch, drained, pairs
from connectors.kafka_broker import QUIET, Cluster
from connectors.kafka_ends import KafkaFeed, KafkaStore
from shoal.connectors.kafka_sink import KafkaSink
from shoal.connectors.kafka_source import KafkaSource
from shoal.errors import ConnectorError


@pytest.fixture
def feed(kafka_cluster: Cluster) -> KafkaFeed:
    return KafkaFeed(kafka_cluster)


@pytest.fixture
def store(kafka_cluster: Cluster) -> KafkaStore:
    return KafkaStore(kafka_cluster)


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.1)


def forget(cluster: Cluster, topic: str, before: dict[int, int]) -> None:
    """Delete messages before these offsets, as the retention of a topic does."""
    places = [TopicPartition(topic, number, offset) for number, offset in before.items()]
    for future in cluster.admin.delete_records(places).values():
        future.result()


def gone(topic: str) -> str:
    return (
        f"kafka: topic '{topic}' does not have all messages any more that the state asks for; "
        "it must keep what no checkpoint covers yet. deleted: skip continues without the messages that were not read"
    )


def test_a_rebalance_of_the_group_changes_nothing(feed: KafkaFeed) -> None:
    source = feed.source()
    source.begin(None)
    feed.give(range(20))
    found, position = drained(source, 20)
    other = Consumer({**QUIET, "bootstrap.servers": feed.brokers, "group.id": feed.name})
    other.subscribe([feed.name])
    other.poll(5)
    feed.give(range(20, 40))
    source.acknowledge(position)
    more, _ = drained(source, 20)
    other.close()
    source.close()
    assert sorted(found + more) == list(range(40))


def test_partitions_that_are_added_are_read(feed: KafkaFeed, kafka_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.connectors.kafka_source.LOOK", 0.2)
    source = feed.source()
    beginning = source.begin(None)
    feed.give(range(10))
    found, _ = drained(source, 10)
    kafka_cluster.admin.create_partitions([NewPartitions(feed.name, 6)])[feed.name].result()
    kafka_cluster.produce(feed.name, [(None, b'{"n": 10}')], partition=5)
    more, position = drained(source, 1)
    source.close()
    assert (sorted(found), more) == (list(range(10)), [10])
    assert position["offsets"]["5"] == 1
    again = feed.source()
    again.begin(beginning)
    assert len(again.replay(position)) == 11
    again.close()


def test_what_was_deleted_before_it_was_read_is_refused(feed: KafkaFeed, kafka_cluster: Cluster) -> None:
    source = feed.source()
    beginning = source.begin(None)
    source.close()
    kafka_cluster.produce(feed.name, [(None, b'{"n": %d}' % n) for n in range(10)], partition=2)
    forget(kafka_cluster, feed.name, {2: 4})
    again = feed.source()
    again.begin(beginning)
    with pytest.raises(ConnectorError) as error:
        drained(again, 6)
    again.close()
    assert str(error.value) == gone(feed.name)


def test_what_was_deleted_before_it_was_read_is_skipped_on_request(feed: KafkaFeed, kafka_cluster: Cluster) -> None:
    source = feed.source()
    beginning = source.begin(None)
    source.close()
    kafka_cluster.produce(feed.name, [(None, b'{"n": %d}' % n) for n in range(10)], partition=2)
    forget(kafka_cluster, feed.name, {2: 4})
    again = feed.source(deleted="skip")
    again.begin(beginning)
    found, position = drained(again, 6)
    again.close()
    assert found == [4, 5, 6, 7, 8, 9]
    replayed = feed.source(deleted="skip")
    replayed.begin(beginning)
    assert len(replayed.replay(position)) == 6
    replayed.close()
    forget(kafka_cluster, feed.name, {2: 6})
    replayed = feed.source(deleted="skip")
    replayed.begin(beginning)
    with pytest.raises(ConnectorError) as error:  # what was taken in must come again, whatever the settings
        replayed.replay(position)
    replayed.close()
    assert str(error.value) == gone(feed.name)


def test_offsets_behind_the_end_are_refused(feed: KafkaFeed) -> None:
    feed.give(range(10))
    source = feed.source(deleted="skip")
    source.begin({"offsets": {"0": 5_000}, "messages": 0})
    with pytest.raises(ConnectorError) as error:
        drained(source, 11)
    source.close()
    assert str(error.value) == gone(feed.name)


def test_a_topic_that_is_deleted_while_it_is_read(
    feed: KafkaFeed, kafka_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.connectors.kafka_source.LOOK", 0.2)
    source = feed.source()
    source.begin(None)
    kafka_cluster.admin.delete_topics([feed.name])[feed.name].result()
    with pytest.raises(ConnectorError) as error:
        drained(source, 1)
    source.close()
    assert str(error.value) == (
        f"kafka: topic '{feed.name}' cannot be read any more (UNKNOWN_TOPIC_OR_PART); check that it was not deleted, "
        "and its rights"
    )


def test_a_topic_that_was_made_anew_is_another_one(feed: KafkaFeed, kafka_cluster: Cluster) -> None:
    feed.give(range(10))
    source = feed.source()
    source.begin(None)
    _, position = drained(source, 10)
    source.close()
    kafka_cluster.admin.delete_topics([feed.name])[feed.name].result()
    until(lambda: feed.name not in kafka_cluster.admin.list_topics(timeout=60).topics)
    kafka_cluster.create(feed.name)
    feed.give(range(50))
    again = feed.source()
    with pytest.raises(ConnectorError) as error:
        again.begin(position)
    again.close()
    assert str(error.value) == (
        f"kafka: topic '{feed.name}' was deleted and created again since the state was written; "
        "restore the old one, or begin with a new state and an empty sink"
    )


def test_a_compacted_topic(kafka_cluster: Cluster) -> None:
    """It is read as it is; what was compacted away cannot come again, and tombstones are passed over."""
    kafka_cluster.create("compacted", 1, cleanup_policy="compact")
    source = KafkaSource(KafkaSource.Settings(brokers=kafka_cluster.brokers, topic="compacted", group="compacted"))
    beginning = source.begin(None)
    kafka_cluster.produce("compacted", [(b"a", b'{"n": 1}'), (b"a", b'{"n": 2}'), (b"b", b'{"n": 3}'), (b"b", None)])
    found, position = drained(source, 3)
    source.close()
    assert found == [1, 2, 3]
    soon = {"segment.ms": 200, "min.cleanable.dirty.ratio": 0.01, "max.compaction.lag.ms": 300}
    changes = [ConfigEntry(name, str(value), incremental_operation=AlterConfigOpType.SET) for name, value in soon.items()]
    topic = ConfigResource(ConfigResource.Type.TOPIC, "compacted", incremental_configs=changes)
    kafka_cluster.admin.incremental_alter_configs([topic])[topic].result()

    def compacted() -> bool:
        kafka_cluster.produce("compacted", [(b"c", b'{"n": 4}')])  # rolls a segment, without which nothing is compacted
        time.sleep(0.3)
        return all(message.value() != b'{"n": 1}' for message in kafka_cluster.messages("compacted"))

    until(compacted)
    again = KafkaSource(KafkaSource.Settings(brokers=kafka_cluster.brokers, topic="compacted", group="compacted"))
    again.begin(beginning)
    with pytest.raises(ConnectorError) as error:
        again.replay(position)
    again.close()
    assert str(error.value) == gone("compacted")


def test_the_time_and_named_headers_become_fields(feed: KafkaFeed, kafka_cluster: Cluster) -> None:
    headers = {"tenant": "north", "trace": "secret", "odd": bytes([255])}
    now = int(time.time())  # the broker deletes messages that are older than its retention, at any moment
    kafka_cluster.produce(feed.name, [(b"Ann", b'{"n": 1, "t": 5}')], headers=headers, timestamp=1000 * now + 250)
    source = feed.source(timestamp="t", headers=["tenant", "odd", "none"])
    source.begin(None)
    delivery = None
    while delivery is None:
        delivery = source.read(1)
    source.close()
    (payload,) = delivery.payloads
    assert json.loads(bytes(payload)) == {  # type: ignore[arg-type]
        "n": 1, "t": now + 0.25, "tenant": "north", "odd": None, "none": None
    }  # fmt: skip
    assert b"Ann" not in bytes(payload)  # type: ignore[arg-type]


def test_messages_of_aborted_transactions_are_not_read(feed: KafkaFeed) -> None:
    producer = Producer({**QUIET, "bootstrap.servers": feed.brokers, "transactional.id": f"in-{feed.name}"})
    producer.init_transactions(60)
    for number, end in ((1, producer.abort_transaction), (2, producer.commit_transaction)):
        producer.begin_transaction()
        producer.produce(feed.name, b'{"n": %d}' % number, partition=0)
        assert producer.flush(60) == 0
        end(60)
    source = feed.source()
    beginning = source.begin(None)
    found, position = drained(source, 1)
    source.close()
    again = feed.source()
    again.begin(beginning)
    assert len(again.replay(position)) == 1
    again.close()
    assert found == [2]


def keyed(store: KafkaStore, key: str, fields: tuple[str, ...]) -> KafkaSink:
    sink = KafkaSink(KafkaSink.Settings(brokers=store.brokers, topic=store.name, id=store.name, key=key))
    sink.fields = fields
    return sink


def test_the_key_of_a_tuple_is_a_published_value(store: KafkaStore, kafka_cluster: Cluster) -> None:
    sink = keyed(store, "city", ("city", "n"))
    sink.begin(None, 0)
    sink.write(pa.record_batch({"city": ["Oslo", None, "Bergen", "Oslo"], "n": [0, 1, 2, 3]}), 0)
    sink.write(pa.record_batch({"city": ["Oslo"], "n": [4]}), 4)
    sink.close()
    found = kafka_cluster.messages(store.name)
    keys = {json.loads(message.value())["n"]: message.key() for message in found}
    assert keys == {0: b"Oslo", 1: None, 2: b"Bergen", 3: b"Oslo", 4: b"Oslo"}
    assert len({message.partition() for message in found if message.key() == b"Oslo"}) == 1
    assert {name for message in found for name, _ in message.headers()} == {"shoal-sequence"}


def test_a_key_that_is_not_published_is_refused(store: KafkaStore) -> None:
    for start in (lambda sink: sink.begin(None, 0), lambda sink: sink.probe(None, 0)):
        with pytest.raises(ConnectorError) as error:
            start(keyed(store, "pid", ("city", "age")))
        assert str(error.value) == "kafka: key: 'pid' is not published; choose among city, age"


def test_a_tuple_that_is_too_large_for_the_topic(kafka_cluster: Cluster) -> None:
    kafka_cluster.create("narrow", 1, max_message_bytes=2_000)
    sink = KafkaSink(KafkaSink.Settings(brokers=kafka_cluster.brokers, topic="narrow", id="narrow"))
    sink.begin(None, 0)
    sink.write(batch(range(3)), 0)
    with pytest.raises(ConnectorError) as error:
        sink.write(pa.record_batch({"n": ["x" * 5_000]}), 3)
    sink.close()
    assert str(error.value) == (
        "kafka: topic 'narrow' refuses a message as too large (MSG_SIZE_TOO_LARGE); raise its max.message.bytes, and "
        "message.max.bytes under options, or publish fewer attributes"
    )
    assert list(kafka_cluster.numbered("narrow")) == [0, 1, 2]


def test_a_topic_that_is_deleted_while_it_is_written(store: KafkaStore, kafka_cluster: Cluster) -> None:
    sink = store.sink()
    sink.begin(None, 0)
    sink.write(batch(range(3)), 0)
    kafka_cluster.admin.delete_topics([store.name])[store.name].result()
    with pytest.raises(ConnectorError) as error:
        sink.write(batch(range(3, 6)), 3)
    sink.close()
    assert str(error.value) == (
        f"kafka: topic '{store.name}' no longer exists (UNKNOWN_TOPIC_OR_PART); what it had cannot be written again"
    )


LEFT_OPEN = """
import sys, time
from confluent_kafka import Producer
brokers, topic, name = sys.argv[1:]
producer = Producer({"bootstrap.servers": brokers, "transactional.id": name, "transaction.timeout.ms": 8000, "log_level": 0})
producer.init_transactions(60)
producer.begin_transaction()
producer.produce(topic, b'{"n": -1}', partition=0, headers={"shoal-sequence": "0"})
assert producer.flush(60) == 0
print("open", flush=True)
time.sleep(60)
"""


def left_open(store: KafkaStore) -> None:
    """A transaction whose process is killed."""
    command = [sys.executable, "-c", LEFT_OPEN, store.brokers, store.name, store.name]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout
    assert process.stdout.readline() == b"open\n"
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


def test_readers_wait_for_an_open_transaction_no_longer_than_its_timeout(store: KafkaStore, kafka_cluster: Cluster) -> None:
    left_open(store)
    kafka_cluster.produce(store.name, [(None, b'{"n": 7}')], partition=0)
    assert [message.value() for message in kafka_cluster.messages(store.name)] == []
    until(lambda: [message.value() for message in kafka_cluster.messages(store.name)] == [b'{"n": 7}'])


def test_a_new_start_aborts_an_open_transaction_at_once(store: KafkaStore) -> None:
    left_open(store)
    sink = store.sink()
    sink.begin(None, 0)
    sink.write(batch(range(3)), 0)
    sink.close()
    assert store.held() == pairs(range(3))


def test_a_transaction_that_expired_is_written_again(kafka_cluster: Cluster) -> None:
    """While the client was held up, the brokers aborted what was open; it begins again under the same id."""
    kafka_cluster.create("expired", 1)
    options: dict[str, Any] = {"transaction.timeout.ms": 1000}
    sink = KafkaSink(KafkaSink.Settings(brokers=kafka_cluster.brokers, topic="expired", id="expired", options=options))
    sink.begin(None, 0)
    real, slept = sink._produce, []

    def slow(*arguments: Any) -> None:
        real(*arguments)
        if not slept:
            slept.append(sink._producer.flush(60))
            time.sleep(4)

    sink._produce = slow  # type: ignore[method-assign]
    sink.write(batch(range(3)), 0)
    sink.close()
    assert slept == [0]
    assert list(kafka_cluster.numbered("expired")) == [0, 1, 2]
