"""MQTT as a source and as a sink, by paho-mqtt."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import BeforeValidator, Field

from shoal.config import Count, FrozenModel, Name
from shoal.connectors.connector import Delivery, Position, Sink, Source, take_delivery
from shoal.connectors.message import Message, messages, numbered
from shoal.connectors.registry import library
from shoal.connectors.settings import InputFormat, OutputFormat, Secret, Tls
from shoal.errors import ConnectorError

PATIENCE = 10.0  # seconds to wait for a broker
FOREVER = 0xFFFFFFFF  # the session expiry of MQTT 5 for a session that does not expire
HELD = 1_000  # messages that may be unacknowledged under MQTT 5; the broker may allow fewer
WINDOW = 100  # messages in flight to the broker; under MQTT 5 it may allow fewer
FAILED = 0x80  # reason codes from here on are failures
NOWHERE = "$shoal/nowhere"  # a topic without subscribers


class Broker(FrozenModel):
    """The settings of a broker and a topic."""

    host: Name = Field(description="the broker's host")
    port: Count = Field(default=1883, description="its port; 8883 is usual with TLS")
    topic: Name = Field(description="the topic")
    client: Name = Field(default="shoal", description="the client's id, one for each connection; the broker keeps its session")
    version: Annotated[Literal["3.1.1", "5"], BeforeValidator(str)] = Field(default="5", description="of MQTT: 3.1.1 or 5")
    user: Name | None = Field(default=None, description="the user")
    password: Secret | None = Field(default=None, description="the user's password")
    tls: Tls | None = Field(default=None, description="the files of TLS; {} trusts the system's authorities")
    keepalive: Count = Field(default=30, description="seconds after which a silent connection is tested")


class Session:
    """A client that reconnects by itself; it calls back from its own thread."""

    def __init__(self, given: Broker, lasting: bool, subscribe: bool, on_message: Callable[[Any], None] | None = None) -> None:
        self._mqtt = library("paho.mqtt.client", "mqtt")
        self._properties = library("paho.mqtt.properties", "mqtt")
        self._options = library("paho.mqtt.subscribeoptions", "mqtt")
        self._given, self._lasting, self._subscribes = given, lasting, subscribe
        self.is_five = given.version == "5"
        self.window = WINDOW
        self._ready = threading.Event()
        self._heard = threading.Event()
        self._refusal = ""
        self.has_begun = False
        self.on_return: Callable[[], None] = lambda: None  # called after each connection, before any message
        versions = {} if self.is_five else {"clean_session": not lasting}
        self.client = self._mqtt.Client(
            self._mqtt.CallbackAPIVersion.VERSION2,
            given.client,
            protocol=self._mqtt.MQTTv5 if self.is_five else self._mqtt.MQTTv311,
            manual_ack=subscribe,
            **versions,
        )
        self.client.on_connect, self.client.on_subscribe = self._on_connect, self._on_subscribe
        self.client.on_unsubscribe = self.client.on_disconnect = lambda *_: self._heard.set()
        if on_message:
            self.client.on_message = lambda client, data, message: on_message(message)
        self.client.reconnect_delay_set(1, 5)
        self.client.max_inflight_messages_set(0)
        self.client.max_queued_messages_set(0)
        if given.user:
            self.client.username_pw_set(given.user, given.password.read() if given.password else None)
        if given.tls:
            self.client.tls_set_context(given.tls.context())

    def connect(self) -> None:
        """Connect to the broker; a ConnectorError if it cannot be reached, or refuses."""
        given, place = self._given, f"mqtt {self._given.host}:{self._given.port}"
        five: dict[str, Any] = {}
        if self.is_five:
            properties = self._properties.Properties(library("paho.mqtt.packettypes", "mqtt").PacketTypes.CONNECT)
            properties.ReceiveMaximum = HELD
            if self._lasting:
                properties.SessionExpiryInterval = FOREVER
            five = {"clean_start": not self._lasting, "properties": properties}
        try:
            self.client.connect(given.host, given.port, given.keepalive, **five)
        except (OSError, ValueError) as error:
            raise ConnectorError(f"{place}: cannot be reached ({type(error).__name__}); check host, port and TLS") from None
        self.client.loop_start()
        is_ready = self._ready.wait(PATIENCE)
        if self._refusal or not is_ready:
            self.close()
            reason = self._refusal or f"does not answer within {PATIENCE:.0f} s; check host, port and TLS"
            raise ConnectorError(f"{place}: {reason}")
        self.has_begun = True

    @classmethod
    def probe(cls, given: Broker) -> bool:
        """Connect for a moment under another client id, so that the session of a running pipeline is not taken over."""
        session = cls(given.model_copy(update={"client": f"{given.client}-probe"}), lasting=False, subscribe=False)
        session.connect()
        session.close()
        return True

    def _on_connect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        if reason.value >= FAILED:
            self._settle(f"refuses the connection ({reason.getName()}); check user, password and client")
            return
        if self.is_five:
            self.window = min(WINDOW, getattr(properties, "ReceiveMaximum", WINDOW))
        self.on_return()
        if not self._subscribes:
            self._ready.set()
        elif self.is_five:
            client.subscribe(self._given.topic, options=self._options.SubscribeOptions(qos=1, retainHandling=2))
        elif not (self.has_begun and flags.session_present):
            client.subscribe(self._given.topic, qos=1)

    def _on_subscribe(self, client: Any, data: Any, mid: int, reasons: list[Any], properties: Any) -> None:
        refused = any(reason.value >= FAILED for reason in reasons)
        self._settle(f"refuses the topic {self._given.topic!r}; check the rights" if refused else "")

    def _settle(self, refusal: str) -> None:
        if not self._ready.is_set():
            self._refusal = refusal
            self._ready.set()

    def close(self) -> None:
        if self._subscribes and self.client.is_connected():
            self._wait_for_answer()
        self.client.disconnect()
        self.client.loop_stop()

    def _wait_for_answer(self) -> None:
        """Wait for an answer of the broker: it has then read all acknowledgements sent before."""
        self._heard.clear()
        self.client.unsubscribe(NOWHERE)
        self._heard.wait(PATIENCE)


ROOM = 10_000  # messages that may wait to be read; with more, the connection is not read


class MqttSource(Source):
    """Subscribes with QoS 1 in a session that the broker keeps, and acknowledges each message once it is safe.

    The broker repeats messages that were not acknowledged before the connection broke: none is lost, but a message may be
    read twice. Retained messages are skipped: they are older than the subscription.
    """

    identity = ("topic", "client")
    replays = False

    class Settings(Broker, InputFormat):
        pass

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.format, self.columns = settings.format, settings.columns or ()
        self._session: Session | None = None
        self._changed = threading.Condition()
        self._arrived: deque[Any] = deque()
        self._unsafe: dict[int, int] = {}  # by id, its number among the messages read

    def begin(self, position: Position | None) -> Position:
        self._read = int(position["messages"]) if position else 0
        self._session = Session(self._settings, lasting=True, subscribe=True, on_message=self._on_message)
        self._session.on_return = self._on_return
        self._session.connect()
        return {"messages": self._read}

    def probe(self, position: Position | None) -> bool:
        return Session.probe(self._settings)

    def _on_return(self) -> None:
        """Drop unacknowledged messages, since the broker repeats them under other ids; except those of QoS 0."""
        with self._changed:
            self._arrived = deque(message for message in self._arrived if not message.qos)
            self._unsafe.clear()

    def _on_message(self, message: Any) -> None:
        assert self._session
        with self._changed:
            if self._session.has_begun:
                self._changed.wait_for(lambda: len(self._arrived) < ROOM, self._settings.keepalive / 2)
            if message.retain:
                self._session.client.ack(message.mid, message.qos)
            else:
                self._arrived.append(message)
                self._changed.notify_all()

    def read(self, seconds: float) -> Delivery | None:
        with self._changed:
            if not self._changed.wait_for(lambda: self._arrived, seconds):
                return None
            some = take_delivery(self._arrived)
            self._changed.notify_all()
            for message in some:
                self._read += 1
                if message.qos:
                    self._unsafe[message.mid] = self._read
        return Delivery([bytes(message.payload) for message in some], {"messages": self._read})

    @property
    def connected(self) -> bool | None:
        session = self._session  # read once: another thread may close it
        return session.client.is_connected() if session else None

    def acknowledge(self, position: Position) -> None:
        assert self._session
        with self._changed:
            for mid in [mid for mid, number in self._unsafe.items() if number <= position["messages"]]:
                self._session.client.ack(mid, 1)
                del self._unsafe[mid]

    def close(self) -> None:
        if self._session:
            self._session.client.on_message = None
            with self._changed:  # the connection may wait for room
                self._arrived.clear()
                self._changed.notify_all()
            self._session.close()
            self._session = None


LARGEST = 16 << 20  # bytes of a payload, below the 256 MB that MQTT itself allows
QUOTA_EXCEEDED = 0x97
PAUSE = 0.2
SEQUENCE = "_sequence"


class MqttSink(Sink):
    """Publishes with QoS 1: at least once. Under MQTT 5 a user property holds the number, else the field `_sequence`."""

    identity = ("topic",)
    remembers = False

    class Settings(Broker, OutputFormat):
        pass

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._session: Session | None = None
        self._answers: queue.SimpleQueue[tuple[int, int]] = queue.SimpleQueue()

    def begin(self, mark: Position | None, sequence: int) -> None:
        self._session = Session(self._settings, lasting=False, subscribe=False)
        self._session.client.on_publish = self._on_publish
        self._session.connect()

    def probe(self, mark: Position | None, sequence: int) -> bool:
        return Session.probe(self._settings)

    @property
    def connected(self) -> bool | None:
        session = self._session  # read once: another thread may close it
        return session.client.is_connected() if session else None

    def _on_publish(self, client: Any, data: Any, mid: int, reason: Any, properties: Any) -> None:
        self._answers.put((mid, reason.value))

    def write(self, batch: pa.RecordBatch, sequence: int) -> None:
        assert self._session
        self._publish(list(self._numbered(batch, sequence)))

    def _numbered(self, batch: pa.RecordBatch, sequence: int) -> Iterator[Message]:
        assert self._session
        found = messages(batch, sequence, self._settings.format, LARGEST)
        if self._session.is_five:
            return found
        if self._settings.format == "json" and SEQUENCE in batch.schema.names:
            raise ConnectorError(f"mqtt: the policy publishes a field {SEQUENCE!r}, which MQTT 3.1.1 needs; use version 5")
        return (numbered(message, SEQUENCE, self._settings.format) for message in found)

    def _publish(self, some: list[Message]) -> None:
        """Publish messages; the client repeats each until the broker has acknowledged it."""
        assert self._session
        flying: dict[int, Message] = {}
        waiting = deque(some)
        while waiting or flying:
            while waiting and len(flying) < self._session.window:
                message = waiting.popleft()
                properties = self._properties(message)
                flying[self._session.client.publish(self._settings.topic, message.payload, 1, False, properties).mid] = message
            mid, reason = self._answers.get()
            message = flying.pop(mid)
            if reason == QUOTA_EXCEEDED:
                time.sleep(PAUSE)
                waiting.appendleft(message)
            elif reason >= FAILED:
                raise ConnectorError(
                    f"mqtt: the broker refuses what is published to {self._settings.topic!r} (reason {reason}); "
                    "check the rights and the broker's limits"
                )

    def _properties(self, message: Message) -> Any:
        assert self._session
        if not self._session.is_five:
            return None
        packet = library("paho.mqtt.packettypes", "mqtt").PacketTypes.PUBLISH
        properties = library("paho.mqtt.properties", "mqtt").Properties(packet)
        properties.UserProperty = [("shoal-sequence", str(message.sequence)), ("shoal-tuples", str(message.tuples))]
        return properties

    def caught_up(self, sequence: int) -> None:
        """It does not know which tuples it has."""

    def close(self) -> None:
        if self._session:
            self._session.close()
            self._session = None
