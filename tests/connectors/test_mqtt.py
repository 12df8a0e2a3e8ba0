from __future__ import annotations

import itertools
import json
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt
import pyarrow as pa
import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from connectors.conformance import (
    PATIENCE,
    Feed,
    SinkConformance,
    SourceConformance,
    Store,
    absence,
    batch,
    deliveries,
    drained,
    numbers_of,
    pairs,
)
from connectors.processes import Broker, mosquitto, running
from shoal.connectors import Delivery
from shoal.connectors.mqtt import MqttSink, MqttSource
from shoal.errors import ConnectorError

_names = map("t{}".format, itertools.count())


class MqttFeed(Feed):
    def __init__(self, broker: Broker, version: str) -> None:
        self.broker: Broker = broker
        self.version, self.name = version, next(_names)
        source = self.source()  # a session that the broker keeps from now on
        source.begin(None)
        source.close()

    def source(self) -> MqttSource:
        return MqttSource(
            MqttSource.Settings(
                host="127.0.0.1", port=self.broker.port, topic=self.name, client=f"source-{self.name}", version=self.version
            )
        )

    def give(self, numbers: range, retain: bool = False) -> None:
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        client.connect("127.0.0.1", self.broker.port)
        client.loop_start()
        for info in [client.publish(self.name, json.dumps({"n": number}), qos=1, retain=retain) for number in numbers]:
            info.wait_for_publish(10)
        client.disconnect()
        client.loop_stop()


def deliveries_unacknowledged(source: MqttSource, count: int) -> list[Delivery]:
    some: list[Delivery] = []
    until = time.monotonic() + PATIENCE
    while sum(len(delivery.payloads) for delivery in some) < count:
        assert time.monotonic() < until
        if delivery := source.read(0.2):
            some.append(delivery)
    return some


END = b"end"


class MqttStore(Store):
    """A subscriber of a session that the broker keeps."""

    def __init__(self, broker: Broker, version: str, form: str = "json") -> None:
        self.broker: Broker = broker
        self.version, self.form, self.name = version, form, next(_names)
        self._found: queue.SimpleQueue[Any] = queue.SimpleQueue()
        properties = Properties(PacketTypes.CONNECT)
        properties.SessionExpiryInterval = 3600
        self._client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, f"store-{self.name}", protocol=mqtt.MQTTv5)
        self._client.reconnect_delay_set(1, 1)
        self._client.on_message = lambda client, data, message: self._found.put(message)
        subscribed = threading.Event()
        self._client.on_subscribe = lambda *_: subscribed.set()
        self._client.connect("127.0.0.1", broker.port, clean_start=False, properties=properties)
        self._client.loop_start()
        self._client.subscribe(self.name, qos=1)
        assert subscribed.wait(10)

    def sink(self) -> MqttSink:
        return MqttSink(
            MqttSink.Settings(
                host="127.0.0.1",
                port=self.broker.port,
                topic=self.name,
                client=f"sink-{self.name}",
                version=self.version,
                format=self.form,
            )
        )

    def messages(self) -> Iterator[Any]:
        """All that came before a message that is published now."""
        self._client.publish(self.name, END, qos=1)
        while (message := self._found.get(timeout=20)).payload != END:
            yield message

    def held(self) -> list[tuple[int, int]]:
        return [(self.number(message), json.loads(message.payload)["n"]) for message in self.messages()]

    def number(self, message: Any) -> int:
        if self.version == "5":
            return int(dict(message.properties.UserProperty)["shoal-sequence"])
        return int(json.loads(message.payload)["_sequence"])

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


@pytest.fixture(params=["3.1.1", "5"])
def feed(mosquitto_broker: Broker, request: pytest.FixtureRequest) -> MqttFeed:
    return MqttFeed(mosquitto_broker, request.param)


@pytest.fixture
def roomy(mosquitto_program: str, tmp_path: Path) -> Iterator[Broker]:
    with running(mosquitto(mosquitto_program, tmp_path, "allow_anonymous true", "max_inflight_messages 0")) as broker:
        yield broker


@pytest.fixture
def new_store(mosquitto_broker: Broker) -> Iterator[Callable[..., MqttStore]]:
    made: list[MqttStore] = []

    def new(*how: str) -> MqttStore:
        made.append(MqttStore(mosquitto_broker, *how))
        return made[-1]

    yield new
    for store in made:
        store.close()


def _await(source: MqttSource, messages: int) -> None:
    """Until so many wait to be read."""
    until = time.monotonic() + PATIENCE
    while len(source._arrived) < messages and time.monotonic() < until:
        time.sleep(0.01)


class TestSource(SourceConformance):
    def test_what_follows_the_safe_messages_comes_again(self, feed: MqttFeed) -> None:
        source = feed.source()
        source.begin(None)
        feed.give(range(1))
        (first,) = deliveries_unacknowledged(source, 1)
        feed.give(range(1, 2))
        deliveries_unacknowledged(source, 1)
        source.acknowledge(first.position)
        source.close()
        again = feed.source()
        again.begin(first.position)
        found, _ = drained(again, 1)
        again.close()
        assert found == [1]

    def test_what_is_not_acknowledged_comes_again(self, feed: MqttFeed) -> None:
        feed.give(range(5))
        source = feed.source()
        source.begin(None)
        found: list[int] = []
        while len(found) < 5:
            delivery = source.read(5)
            assert delivery is not None
            found += numbers_of(delivery.payloads)
        source.close()
        again = feed.source()
        again.begin(None)
        more, _ = drained(again, 5)
        again.close()
        assert found == more == list(range(5))

    def test_a_late_acknowledgement_loses_nothing(self, feed: MqttFeed) -> None:
        source = feed.source()
        source.begin(None)
        feed.give(range(5))
        position: Any = None
        while position != {"messages": 5}:
            delivery = source.read(5)
            assert delivery is not None
            position = delivery.position
        with absence(feed.broker):
            time.sleep(0.2)
        feed.give(range(5, 8))
        time.sleep(2)
        source.acknowledge(position)
        source.close()
        again = feed.source()
        again.begin(position)
        found, _ = drained(again, 8)
        again.close()
        assert found == list(range(8))

    @pytest.mark.parametrize("version", ["3.1.1", "5"])
    def test_acknowledgements_are_read_before_the_end(self, roomy: Broker, version: str) -> None:
        feed = MqttFeed(roomy, version)
        source = feed.source()
        source.begin(None)
        feed.give(range(500))
        _, position = drained(source, 500)
        source.acknowledge(position)
        source.close()
        source = feed.source()
        source.begin(position)
        assert source.read(0.5) is None
        source.close()

    def test_closes_while_there_is_no_room(self, feed: MqttFeed, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("shoal.connectors.mqtt.ROOM", 5)
        source = feed.source()
        source.begin(None)
        feed.give(range(20))
        _await(source, 5)
        time.sleep(0.1)
        closer = threading.Thread(target=source.close)
        closer.start()
        closer.join(PATIENCE / 2)
        assert not closer.is_alive()

    def test_holds_a_bounded_number_of_messages(self, feed: MqttFeed, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("shoal.connectors.mqtt.ROOM", 15)
        source = feed.source()
        source.begin(None)
        feed.give(range(200))
        time.sleep(0.3)
        sizes = [len(delivery.payloads) for delivery in deliveries(source, 200)]
        source.close()
        assert sum(sizes) == 200
        assert max(sizes) <= 15

    def test_a_delivery_is_bounded(self, feed: MqttFeed, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("shoal.connectors.connector.MOST", 20)
        source = feed.source()
        source.begin(None)
        feed.give(range(9))
        _await(source, 9)
        assert max(len(delivery.payloads) for delivery in deliveries(source, 9)) == 3  # of 8 bytes each
        source.close()

    def test_what_the_broker_will_not_send_again_is_kept_over_a_break(self, feed: MqttFeed) -> None:
        source = feed.source()
        source.begin(None)
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        client.connect("127.0.0.1", feed.broker.port)
        client.loop_start()
        client.publish(feed.name, '{"n": 0}', qos=0).wait_for_publish(10)
        while not source._arrived:
            time.sleep(0.01)
        with absence(feed.broker):
            time.sleep(0.2)
        client.disconnect()
        client.loop_stop()
        feed.give(range(1, 3))
        assert drained(source, 3)[0] == [0, 1, 2]
        source.close()

    def test_retained_messages_are_passed_over(self, mosquitto_broker: Broker) -> None:
        feed = MqttFeed(mosquitto_broker, "3.1.1")
        feed.give(range(1), retain=True)
        source = feed.source()
        source.begin(None)
        assert drained(source, 1)[0] == [0]  # as it was published
        assert source.read(0.3) is None  # as it is retained
        source.close()


class TestSink(SinkConformance):
    @pytest.fixture(params=["3.1.1", "5"])
    def store(self, new_store: Callable[..., MqttStore], request: pytest.FixtureRequest) -> MqttStore:
        return new_store(request.param)

    def test_a_write_waits_for_the_broker(self, store: MqttStore) -> None:
        sink = store.sink()
        sink.begin(None, 0)
        writer = threading.Thread(target=sink.write, args=(batch(range(100)), 0))
        with absence(store.broker):
            writer.start()
            time.sleep(0.3)
            assert writer.is_alive()
        writer.join(20)
        sink.close()
        assert sorted(set(store.held())) == pairs(range(100))

    def test_a_field_that_is_in_the_way(self, new_store: Callable[..., MqttStore]) -> None:
        sink = new_store("3.1.1").sink()
        sink.begin(None, 0)
        with pytest.raises(ConnectorError) as error:
            sink.write(pa.record_batch({"_sequence": [1]}), 0)
        sink.close()
        assert str(error.value) == "mqtt: the policy publishes a field '_sequence', which MQTT 3.1.1 needs; use version 5"

    def test_arrow(self, new_store: Callable[..., MqttStore]) -> None:
        store = new_store("3.1.1", "arrow")
        sink = store.sink()
        sink.begin(None, 0)
        sink.write(batch(range(3)), 7)
        sink.close()
        (message,) = store.messages()
        table = pa.ipc.open_stream(message.payload).read_all()
        assert table["n"].to_pylist() == [0, 1, 2]
        assert table.schema.metadata[b"_sequence"] == b"7"


class TestCredentials:
    @pytest.fixture
    def guarded(self, mosquitto_program: str, tmp_path: Any) -> Iterator[Broker]:
        users, rights = tmp_path / "users", tmp_path / "rights"
        subprocess.run(["mosquitto_passwd", "-b", "-c", str(users), "shoal", "correct"], check=True, capture_output=True)
        rights.write_text("user shoal\ntopic readwrite mine/#\n")
        with running(mosquitto(mosquitto_program, tmp_path, f"password_file {users}", f"acl_file {rights}")) as broker:
            yield broker

    @pytest.mark.parametrize("version", ["3.1.1", "5"])
    def test_are_taken_from_the_environment(self, guarded: Broker, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
        def begun(topic: str, secret: str) -> None:
            monkeypatch.setenv("MQTT_PASSWORD", secret)
            given = {"host": "127.0.0.1", "port": guarded.port, "user": "shoal", "password": {"env": "MQTT_PASSWORD"}}
            source = MqttSource(MqttSource.Settings(**given, topic=topic, version=version))
            try:
                source.begin(None)
            finally:
                source.close()

        begun("mine/raw", "correct")
        with pytest.raises(ConnectorError) as error:
            begun("mine/raw", "wrong")
        place = f"mqtt 127.0.0.1:{guarded.port}"
        assert str(error.value) == f"{place}: refuses the connection (Not authorized); check user, password and client"

    def test_no_broker(self) -> None:
        source = MqttSource(MqttSource.Settings(host="127.0.0.1", port=9, topic="t"))
        with pytest.raises(ConnectorError) as error:
            source.begin(None)
        source.close()
        assert str(error.value) == "mqtt 127.0.0.1:9: cannot be reached (ConnectionRefusedError); check host, port and TLS"
