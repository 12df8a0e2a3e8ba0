"""MQTT as a source, by paho-mqtt."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from shoal.connectors.connector import Delivery, Position, Source, take_delivery
from shoal.connectors.mqtt_session import Broker, Session
from shoal.connectors.settings import InputFormat

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
