"""Topics at the ends of a source and of a sink, in tests."""

from __future__ import annotations

import itertools
import json
from typing import Any

from confluent_kafka import Producer

from connectors.conformance import Feed, Store
from connectors.kafka_broker import Cluster
from shoal.connectors.kafka_sink import KafkaSink
from shoal.connectors.kafka_source import KafkaSource

_names = map("t{}".format, itertools.count())


class KafkaFeed(Feed):
    def __init__(self, cluster: Cluster) -> None:
        self.broker = cluster.nodes[0]
        self.brokers, self.name = cluster.brokers, next(_names)
        cluster.create(self.name)

    def source(self, **more: Any) -> KafkaSource:
        return KafkaSource(KafkaSource.Settings(brokers=self.brokers, topic=self.name, group=self.name, **more))

    def give(self, numbers: range) -> None:
        producer = Producer({"bootstrap.servers": self.brokers})
        for number in numbers:
            producer.produce(self.name, json.dumps({"n": number}), key=str(number))
        assert producer.flush(60) == 0


class KafkaStore(Store):
    def __init__(self, cluster: Cluster) -> None:
        self.broker = cluster.nodes[0]
        self.cluster, self.brokers, self.name = cluster, cluster.brokers, next(_names)
        cluster.create(self.name)

    def sink(self) -> KafkaSink:
        return KafkaSink(KafkaSink.Settings(brokers=self.brokers, topic=self.name, id=self.name))

    def held(self) -> list[tuple[int, int]]:
        return [(number, json.loads(value)["n"]) for number, value in self.cluster.numbered(self.name).items()]
