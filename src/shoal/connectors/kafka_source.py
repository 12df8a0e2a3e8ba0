"""Kafka as a source: all partitions of a topic."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal

from pydantic import Field, model_validator

from shoal.config import Name, refusal
from shoal.connectors.connector import Delivery, Payload, Position, Source
from shoal.connectors.debezium import row_after
from shoal.connectors.json_messages import JsonReader
from shoal.connectors.kafka_link import Cluster, Health, answered, connected, partitions, silent, topic_id, with_fields
from shoal.connectors.registry import library
from shoal.connectors.schema_registry import FORMATS, PREFIX, Registry, SchemaRegistry, id_of
from shoal.connectors.settings import InputFormat
from shoal.connectors.wire import Raw, WireReader
from shoal.errors import ConnectorError

MOST = 8_192  # messages of a delivery
QUEUED = 16 << 10  # kibibytes that the client may fetch ahead
LOOK = 10.0  # seconds after which it looks whether the topic has more partitions

log = logging.getLogger("shoal.pipe")


class KafkaSource(Source):
    """Reads all partitions of a topic, without sharing them with other members of its group.

    A position is the next offset of each partition, and how many messages were read, which checks a replay. The messages of a
    delivery are ordered by partition and offset, so that a replay has the same order however they are fetched.
    """

    identity = ("topic",)
    replays = True
    begin_is_harmless = True
    numbers_blocks = False

    class Settings(Cluster, InputFormat):
        group: Name = Field(description="the consumer group, under which positions are committed; one for each pipeline")
        timestamp: Name | None = Field(
            default=None,
            description="a field to put the time of the message into, in seconds since 1970; not with csv and arrow",
        )
        headers: tuple[Name, ...] = Field(
            default=(), description="headers to put into fields of the same names; others are dropped; not with csv and arrow"
        )
        format: Literal["json", "csv", "arrow", "avro", "protobuf", "json-schema"] = Field(  # type: ignore[assignment]
            default="json",
            description="JSON or CSV lines, or an Arrow stream; or avro, protobuf, json-schema in a registry's wire format",
        )
        registry: Registry | None = Field(
            default=None,
            description="the schema registry, such as {url: http://localhost:8081}; without it json-schema is not checked",
        )
        envelope: Literal["debezium"] | None = Field(
            default=None, description="debezium: a message is a change of a row, of which the row afterwards is the record"
        )
        deleted: Literal["refuse", "skip"] = Field(
            default="refuse", description="if messages were deleted before they were read: refuse to continue, or skip them"
        )

        @model_validator(mode="after")
        def _fields_in_json(self) -> KafkaSource.Settings:
            if self.format in ("csv", "arrow") and (self.timestamp or self.headers or self.envelope):
                raise refusal("has no timestamp, headers and envelope with format: csv or arrow; leave them out")
            if self.format in ("avro", "protobuf") and self.registry is None:
                raise refusal(("registry", f"is missing, which format: {self.format} needs; write {{url: ADDRESS}}"))
            return self

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.format = settings.format if settings.format in ("csv", "arrow") else "json"
        self.columns = settings.columns or ()
        self._wire: JsonReader | WireReader | None = None
        self._consumer: Any = None
        self._health = Health()
        self._fetched: list[Any] = []  # messages that were fetched and not delivered yet
        self._ends: dict[int, int] = {}  # offsets at which a partition ended
        self._deletes = self._tombstones = 0
        self._lost = 0  # how often in a row the brokers said that there is no such topic

    def begin(self, position: Position | None) -> Position:
        self._kafka = library("confluent_kafka", "kafka")
        if self._settings.registry and self._settings.format in FORMATS:
            registry = SchemaRegistry(self._settings.registry)
            registry.refuse_absence()
            self._wire = self._opened(registry)
        mine = {
            "group.id": self._settings.group,
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
        ahead = {"queued.max.messages.kbytes": QUEUED}
        self._consumer = connected(
            self._kafka.Consumer, silent({**ahead, **self._health.options, **self._settings.client(), **mine})
        )
        numbers = partitions(self._kafka, self._consumer, self._settings.topic)
        self._id = topic_id(self._settings)
        if position and position.get("id", self._id) != self._id:
            raise ConnectorError(
                f"kafka: topic {self._settings.topic!r} was deleted and created again since the state was written; "
                "restore the old one, or begin with a new state and an empty sink"
            )
        known = dict(position["offsets"]) if position else self._committed(numbers)
        self._messages, self._deletes, self._tombstones = (
            int((position or {}).get(name, 0)) for name in ("messages", "deletes", "tombstones")
        )
        self._offsets = {number: int(known.get(str(number), -1)) for number in numbers}
        self._offsets.update({number: self._first(number) for number, offset in self._offsets.items() if offset < 0})
        self._consumer.assign([self._place(number, offset) for number, offset in self._offsets.items()])
        self._look_at = time.monotonic() + LOOK
        return self._position()

    @property
    def connected(self) -> bool | None:
        return self._health.is_up

    def _opened(self, registry: SchemaRegistry) -> JsonReader | WireReader:
        """The reader of messages with a schema."""
        envelope = self._settings.envelope is not None
        if self._settings.format == "json-schema":
            return JsonReader(registry, self.fields, self.passed, envelope)
        return WireReader(registry, self._settings.format, self.fields, envelope)

    def _place(self, number: int, offset: int = -1001) -> Any:
        return self._kafka.TopicPartition(self._settings.topic, number, offset)

    def _committed(self, numbers: Sequence[int]) -> dict[str, int]:
        """The committed offsets of the group."""
        try:
            places = [self._place(number) for number in numbers]
            found = answered(self._kafka, lambda: self._consumer.committed(places, timeout=10))
        except self._kafka.KafkaException as error:
            raise _unknown(f"group {self._settings.group!r}", error) from None
        return {str(place.partition): place.offset for place in found}

    def _first(self, number: int) -> int:
        try:
            place = self._place(number)
            return int(answered(self._kafka, lambda: self._consumer.get_watermark_offsets(place, timeout=10))[0])
        except self._kafka.KafkaException as error:
            raise _unknown(f"topic {self._settings.topic!r}", error) from None

    def _position(self) -> Position:
        offsets = {str(number): offset for number, offset in self._offsets.items()}
        removed = {"deletes": self._deletes, "tombstones": self._tombstones}
        counted = {name: count for name, count in removed.items() if count}
        return {"offsets": offsets, "messages": self._messages, **counted, **({"id": self._id} if self._id else {})}

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
                self._skip(message.partition())
            elif error.code() in (kinds.TOPIC_AUTHORIZATION_FAILED, kinds.UNKNOWN_TOPIC_OR_PART):
                raise self._unreadable(error)
            elif error.fatal():
                raise ConnectorError(f"kafka: the client gave up ({error.name()}); start the pipeline again")

    def _unreadable(self, error: Any) -> ConnectorError:
        return ConnectorError(
            f"kafka: topic {self._settings.topic!r} cannot be read any more ({error.name()}); check that it was not deleted, "
            "and its rights"
        )

    def _skip(self, number: int) -> None:
        """Go on behind messages that were deleted before they were read, if the settings say so."""
        first = self._first(number)
        if self._settings.deleted == "refuse" or first <= self._offsets[number]:
            raise self._gone()
        log.warning(
            "kafka: topic %r, partition %d: messages were deleted before they were read; up to %d are skipped",
            self._settings.topic, number, first - self._offsets[number],
        )  # fmt: skip
        self._offsets[number] = first
        self._consumer.incremental_unassign([self._place(number)])
        self._consumer.incremental_assign([self._place(number, first)])

    def _gone(self) -> ConnectorError:
        return ConnectorError(
            f"kafka: topic {self._settings.topic!r} does not have all messages any more that the state asks for; "
            "it must keep what no checkpoint covers yet. deleted: skip continues without the messages that were not read"
        )

    def _delivered(self, some: list[Any]) -> list[Payload]:
        """The payloads of messages in order, which counts them as read. Tombstones, which have no payload, and deletes of
        Debezium count by themselves."""
        some.sort(key=lambda message: (message.partition(), message.offset()))
        for message in some:
            self._offsets[message.partition()] = message.offset() + 1
        there = [message for message in some if message.value() is not None]
        self._tombstones += len(some) - len(there)
        payloads: list[Payload]
        if self._wire:
            blocks, deletes = self._wire.blocks([Raw(message.value(), self._fields_of(message)) for message in there])
            payloads, count = list(blocks), len(there) - deletes
        else:
            found = [payload for message in there if (payload := self._payload(message)) is not None]
            payloads, count, deletes = list(found), len(found), len(there) - len(found)
        self._deletes += deletes
        self._messages += count
        return payloads

    def _payload(self, message: Any) -> bytes | None:
        """A JSON object with the time and the headers of the message as fields, or lines of CSV, or an Arrow stream; None if
        it is a delete."""
        value: bytes | None = message.value()
        assert value is not None
        if self._settings.format == "json-schema" and id_of(value) is not None:
            value = value[PREFIX:]
        if self._settings.envelope:
            value = row_after(value)
        fields = self._fields_of(message)
        return with_fields(value, fields) if fields and value is not None else value

    def _fields_of(self, message: Any) -> dict[str, Any]:
        """The time and the headers of a message, as fields."""
        if not (self._settings.timestamp or self._settings.headers):
            return {}
        found = dict(message.headers() or ()) if self._settings.headers else {}
        fields: dict[str, Any] = {name: _text(found.get(name)) for name in self._settings.headers}
        if self._settings.timestamp:
            kind, milliseconds = message.timestamp()
            fields[self._settings.timestamp] = milliseconds / 1000 if kind else None
        return fields

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
        if time.monotonic() > self._look_at:
            self._add_partitions()
        if not self._fetched:
            self._fetch(seconds)
        if not self._fetched:
            return None
        some, self._fetched = self._fetched, []
        return Delivery(self._delivered(some), self._position())

    def _add_partitions(self) -> None:
        """Read partitions that were added to the topic, from their beginning."""
        self._look_at = time.monotonic() + LOOK
        try:
            found = self._consumer.list_topics(self._settings.topic, timeout=1).topics[self._settings.topic]
        except self._kafka.KafkaException:  # no broker answers; the next look may tell
            return
        is_lost = found.error is not None and found.error.code() == self._kafka.KafkaError.UNKNOWN_TOPIC_OR_PART
        self._lost = self._lost + 1 if is_lost else 0
        if self._lost > 1:  # a broker that has just started may not know it yet
            raise self._unreadable(found.error)
        added = {number: self._first(number) for number in found.partitions if number not in self._offsets}
        if added:
            self._offsets |= added
            self._consumer.incremental_assign([self._place(number, offset) for number, offset in added.items()])

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
            if self._deletes or self._tombstones:
                log.info("kafka: %d deletes and %d tombstones were not published", self._deletes, self._tombstones)


def _text(value: bytes | None) -> str | None:
    """A header as text; None if it is missing or no UTF-8.

    >>> _text(b"north"), _text(bytes([255])), _text(None)
    ('north', None, None)
    """
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _unknown(place: str, error: Any) -> ConnectorError:
    return ConnectorError(f"kafka: {place} cannot be looked up ({error.args[0].name()}); check the rights")
