"""Kafka as a source, by confluent-kafka."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from pydantic import Field

from shoal.config import Name
from shoal.connectors.connector import Delivery, Payload, Position, Source
from shoal.connectors.kafka_cluster import Cluster, connected, partitions, silent
from shoal.connectors.registry import library
from shoal.connectors.settings import InputFormat
from shoal.errors import ConnectorError

MOST = 8_192  # messages of a delivery
QUEUED = 16 << 10  # kibibytes that the client may fetch ahead


class KafkaSource(Source):
    """Reads all partitions of a topic, without sharing them with other members of its group.

    A position is the next offset of each partition, and how many messages were read, which checks a replay. The messages of a
    delivery are ordered by partition and offset, so that a replay has the same order however they are fetched.
    """

    identity = ("topic",)
    replays = True
    begin_is_harmless = True

    class Settings(Cluster, InputFormat):
        group: Name = Field(description="the consumer group, under which positions are committed; one for each pipeline")

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.format, self.columns = settings.format, settings.columns or ()
        self._consumer: Any = None
        self._fetched: list[Any] = []  # messages that were fetched and not delivered yet
        self._ends: dict[int, int] = {}  # offsets at which a partition ended

    def begin(self, position: Position | None) -> Position:
        self._kafka = library("confluent_kafka", "kafka")
        mine = {
            "group.id": self._settings.group,
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
        ahead = {"queued.max.messages.kbytes": QUEUED}
        self._consumer = connected(self._kafka.Consumer, silent({**ahead, **self._settings.client(), **mine}))
        numbers = partitions(self._kafka, self._consumer, self._settings.topic)
        known = dict(position["offsets"]) if position else self._committed(numbers)
        self._messages = int(position["messages"]) if position else 0
        self._offsets = {number: int(known.get(str(number), -1)) for number in numbers}
        self._offsets.update({number: self._first(number) for number, offset in self._offsets.items() if offset < 0})
        self._consumer.assign([self._place(number, offset) for number, offset in self._offsets.items()])
        return self._position()

    def _place(self, number: int, offset: int = -1001) -> Any:
        return self._kafka.TopicPartition(self._settings.topic, number, offset)

    def _committed(self, numbers: Sequence[int]) -> dict[str, int]:
        """The committed offsets of the group."""
        try:
            found = self._consumer.committed([self._place(number) for number in numbers], timeout=10)
        except self._kafka.KafkaException as error:
            raise _unknown(f"group {self._settings.group!r}", error) from None
        return {str(place.partition): place.offset for place in found}

    def _first(self, number: int) -> int:
        try:
            return int(self._consumer.get_watermark_offsets(self._place(number), timeout=10)[0])
        except self._kafka.KafkaException as error:
            raise _unknown(f"topic {self._settings.topic!r}", error) from None

    def _position(self) -> Position:
        return {"offsets": {str(number): offset for number, offset in self._offsets.items()}, "messages": self._messages}

    def _fetch(self, seconds: float) -> None:
        """Wait for a message, and take all that have arrived."""
        kinds = self._kafka.KafkaError
        for message in [*self._consumer.consume(1, seconds), *self._consumer.consume(MOST, 0)]:
            error = message.error()
            if error is None:
                self._fetched.append(message)
            elif error.code() == kinds._PARTITION_EOF:
                self._ends[message.partition()] = message.offset()
            elif error.code() == kinds._AUTO_OFFSET_RESET:
                raise self._gone()
            elif error.code() in (kinds.TOPIC_AUTHORIZATION_FAILED, kinds.UNKNOWN_TOPIC_OR_PART):
                raise ConnectorError(f"kafka: topic {self._settings.topic!r} cannot be read ({error.name()}); check its rights")
            elif error.fatal():
                raise ConnectorError(f"kafka: the client gave up ({error.name()}); start the pipeline again")

    def _gone(self) -> ConnectorError:
        return ConnectorError(
            f"kafka: topic {self._settings.topic!r} does not have all messages any more that the state asks for; "
            "it must keep what no checkpoint covers yet"
        )

    def _delivered(self, some: list[Any]) -> list[Payload]:
        """The payloads of messages in order, which counts them as read; messages without a payload are skipped."""
        some.sort(key=lambda message: (message.partition(), message.offset()))
        for message in some:
            self._offsets[message.partition()] = message.offset() + 1
        self._messages += len(some)
        return [value for message in some if (value := message.value()) is not None]

    def replay(self, until: Position) -> Sequence[Payload]:
        bounds = {int(number): int(offset) for number, offset in until["offsets"].items()}
        while missing := [number for number, bound in bounds.items() if self._reached(number) < bound]:
            self._fetch(0.2)
            if any(number in self._ends and self._last(number) < bounds[number] for number in missing):
                raise self._gone()
        some = [message for message in self._fetched if message.offset() < bounds.get(message.partition(), 0)]
        self._fetched = [message for message in self._fetched if message.offset() >= bounds.get(message.partition(), 0)]
        payloads = self._delivered(some)
        if self._messages != until["messages"]:
            raise self._gone()
        self._offsets.update(bounds)
        return payloads

    def _reached(self, number: int) -> int:
        """The offset up to which all messages of a partition were fetched."""
        ahead = (message.offset() + 1 for message in reversed(self._fetched) if message.partition() == number)
        return max(next(ahead, 0), self._offsets.get(number, 0), self._ends.get(number, 0))

    def _last(self, number: int) -> float:
        """The offset at which a partition ends now; infinity if unknown."""
        try:
            return float(self._consumer.get_watermark_offsets(self._place(number), timeout=10)[1])
        except self._kafka.KafkaException:
            return math.inf

    def read(self, seconds: float) -> Delivery | None:
        if not self._fetched:
            self._fetch(seconds)
        if not self._fetched:
            return None
        some, self._fetched = self._fetched, []
        return Delivery(self._delivered(some), self._position())

    def acknowledge(self, position: Position) -> None:
        places = [self._place(int(number), offset) for number, offset in position["offsets"].items()]
        with suppress(self._kafka.KafkaException):
            self._consumer.commit(offsets=places, asynchronous=True)

    @property
    def lag(self) -> int | None:
        waiting = 0
        for number, offset in self._offsets.items():
            _, high = self._consumer.get_watermark_offsets(self._place(number), cached=True)
            if high < 0:
                return None
            waiting += max(high - offset, 0)
        return waiting

    def close(self) -> None:
        if self._consumer is not None:
            consumer, self._consumer = self._consumer, None
            consumer.close()


def _unknown(place: str, error: Any) -> ConnectorError:
    return ConnectorError(f"kafka: {place} cannot be looked up ({error.args[0].name()}); check the rights")
