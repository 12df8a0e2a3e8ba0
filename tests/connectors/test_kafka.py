from __future__ import annotations

import json
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from connectors.conformance import SinkConformance, SourceConformance, batch, drained, pairs
from connectors.kafka_broker import Cluster
from connectors.kafka_ends import KafkaFeed, KafkaStore
from shoal.connectors.kafka_source import KafkaSource
from shoal.errors import ConnectorError


class TestSource(SourceConformance):
    ordered = False

    @pytest.fixture
    def feed(self, kafka_cluster: Cluster) -> KafkaFeed:
        return KafkaFeed(kafka_cluster)

    def test_a_delivery_is_in_order_of_partition_and_offset(self, feed: KafkaFeed) -> None:
        feed.give(range(100))
        source = feed.source()
        beginning = source.begin(None)
        assert beginning["offsets"] == {"0": 0, "1": 0, "2": 0, "3": 0}
        assert beginning["messages"] == 0
        _, position = drained(source, 100)
        assert position["messages"] == 100
        assert sum(position["offsets"].values()) == 100
        source.close()
        again = feed.source()
        again.begin(beginning)
        whole = [json.loads(payload)["n"] for payload in again.replay(position)]
        again.close()
        consumer = Consumer({"bootstrap.servers": feed.brokers, "group.id": "test"})
        expected = []
        for number in range(4):
            consumer.assign([TopicPartition(feed.name, number, 0)])
            expected += [json.loads(m.value())["n"] for m in consumer.consume(position["offsets"][str(number)], 60)]
        consumer.close()
        assert whole == expected

    def test_a_message_without_a_value_is_passed_over(self, feed: KafkaFeed) -> None:
        producer = Producer({"bootstrap.servers": feed.brokers})
        producer.produce(feed.name, None, key="k")
        producer.flush(10)
        source = feed.source()
        source.begin(None)
        delivery = None
        while delivery is None:
            delivery = source.read(1)
        source.close()
        assert list(delivery.payloads) == []
        assert delivery.position["messages"] == 0
        assert sum(delivery.position["offsets"].values()) == 1

    def test_what_is_not_there_any_more_is_not_replayed(self, feed: KafkaFeed) -> None:
        feed.give(range(10))
        source = feed.source()
        beginning = source.begin(None)
        source.close()
        again = feed.source()
        again.begin(beginning)
        with pytest.raises(ConnectorError) as error:
            again.replay({"offsets": {"0": 1_000}, "messages": 1_000})
        again.close()
        assert str(error.value) == (
            f"kafka: topic '{feed.name}' does not have all messages any more that the state asks for; "
            "it must keep what no checkpoint covers yet. deleted: skip continues without the messages that were not read"
        )

    def test_no_broker(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("shoal.connectors.kafka_link.PATIENCE", 1.0)
        source = KafkaSource(KafkaSource.Settings(brokers="127.0.0.1:9", topic="t", group="g"))
        with pytest.raises(ConnectorError) as error:
            source.begin(None)
        source.close()
        assert str(error.value) == "kafka: no broker answers within 1 s (_TRANSPORT); check brokers, credentials and TLS"

    def test_an_unknown_option(self, feed: KafkaFeed) -> None:
        source = feed.source(options={"no.such.option": 1})
        with pytest.raises(ConnectorError) as error:
            source.begin(None)
        assert str(error.value) == "kafka: the client refuses its options (_INVALID_ARG); check their names and values"

    def test_an_unknown_topic(self, feed: KafkaFeed) -> None:
        source = KafkaSource(KafkaSource.Settings(brokers=feed.brokers, topic="none", group="g"))
        with pytest.raises(ConnectorError) as error:
            source.begin(None)
        source.close()
        assert str(error.value) == (
            "kafka: topic 'none' cannot be used (UNKNOWN_TOPIC_OR_PART); create it, or correct the name or the rights"
        )


class TestSink(SinkConformance):
    @pytest.fixture
    def store(self, kafka_cluster: Cluster) -> KafkaStore:
        return KafkaStore(kafka_cluster)

    def test_a_transaction_that_must_be_aborted_is_repeated(self, store: KafkaStore, monkeypatch: pytest.MonkeyPatch) -> None:
        steps: list[str] = []

        class Failing(Producer):
            def send_offsets_to_transaction(self, places: list[TopicPartition], *more: Any) -> None:
                steps.append("send")
                if len(steps) == 1:
                    raise KafkaException(KafkaError(KafkaError.INVALID_TXN_STATE, "", False, False, True))
                super().send_offsets_to_transaction(places, *more)

            def abort_transaction(self, *more: Any) -> None:
                steps.append("abort")
                super().abort_transaction(*more)

        monkeypatch.setattr(confluent_kafka, "Producer", Failing)
        sink = store.sink()
        sink.begin(None, 0)
        sink.write(batch(range(5)), 0)
        sink.close()
        assert steps == ["send", "abort", "send"]
        assert {number for number, _ in store.held()} == set(range(5))

    def test_a_group_that_has_forgotten(self, store: KafkaStore) -> None:
        sink = store.sink()
        with pytest.raises(ConnectorError, match="has no offset any more"):
            sink.begin({"has": 5}, 5)
        sink.close()

    def test_another_pipeline_with_the_same_id_ends_this_one(self, store: KafkaStore) -> None:
        older, newer = store.sink(), store.sink()
        older.begin(None, 0)
        older.write(batch(range(5)), 0)
        newer.begin(older.mark, 5)
        with pytest.raises(ConnectorError) as error:
            older.write(batch(range(5, 10)), 5)
        newer.write(batch(range(5, 8)), 5)
        older.close()
        newer.close()
        assert str(error.value) == (
            f"kafka: another pipeline with the id '{store.name}' has begun, so this one ends; give each its own id"
        )
        assert store.held() == pairs(range(8))
