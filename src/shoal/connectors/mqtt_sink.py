"""MQTT as a sink, by paho-mqtt."""

from __future__ import annotations

import queue
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from shoal.connectors.connector import Position, Sink
from shoal.connectors.message import Message, messages, numbered
from shoal.connectors.mqtt_session import FAILED, Broker, Session
from shoal.connectors.registry import library
from shoal.connectors.settings import OutputFormat
from shoal.errors import ConnectorError

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
