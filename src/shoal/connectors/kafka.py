"""Kafka as a source and as a sink, by confluent-kafka."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
from pydantic import Field

from shoal.config import FrozenModel, Name
from shoal.connectors.connector import Delivery, Payload, Position, Sink, Source
from shoal.connectors.message import Message, messages
from shoal.connectors.registry import library, silent_logger
from shoal.connectors.settings import InputFormat, Options, OutputFormat, with_secrets
from shoal.errors import ConnectorError

PATIENCE = 10.0  # seconds to wait for a broker


class Cluster(FrozenModel):
    """The settings of a cluster and a topic."""

    brokers: Name = Field(description="brokers to begin with, such as localhost:9092; several, separated by commas")
    topic: Name = Field(description="the topic, which must exist")
    options: Options = Field(
        default={}, description="options of librdkafka, such as security.protocol, sasl.username, sasl.password"
    )

    def client(self) -> dict[str, Any]:
        """The options of the client."""
        return {**with_secrets(self.options), "bootstrap.servers": self.brokers}


def silent(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options, with a logger whose output is not shown."""
    return {**options, "logger": silent_logger("confluent_kafka"), "error_cb": lambda error: None}


def connected(client: Callable[[dict[str, Any]], Any], options: dict[str, Any]) -> Any:
    """A client by its options; one that the client refuses is a ConnectorError."""
    try:
        return client(options)
    except Exception as error:
        code = getattr(error.args[0], "name", str)() if error.args else ""
        text = f" ({code})" if code else ""
        raise ConnectorError(f"kafka: the client refuses its options{text}; check their names and values") from None


def partitions(kafka: Any, client: Any, topic: str) -> list[int]:
    """The partitions of a topic, which must be usable."""
    try:
        found = client.list_topics(topic, timeout=PATIENCE).topics[topic]
    except kafka.KafkaException as error:
        reason = error.args[0].name()
        raise ConnectorError(
            f"kafka: no broker answers within {PATIENCE:.0f} s ({reason}); check brokers, credentials and TLS"
        ) from None
    if found.error is not None or not found.partitions:
        reason = found.error.name() if found.error else "no partitions"
        raise ConnectorError(f"kafka: topic {topic!r} cannot be used ({reason}); create it, or correct the name or the rights")
    return sorted(found.partitions)


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


LARGEST = 900_000  # bytes of a payload, unless the client's message.max.bytes says otherwise; its default is a million
HEADERS = 4_096  # bytes of a message for its headers
FLIGHT = 10_000  # messages of a transaction
STEP = 1.0  # seconds for one step of a transaction, which is repeated if that is too short
PAUSE = 0.2


class KafkaSink(Sink):
    """Publishes in transactions of tuples and the number after them.

    That number is committed as an offset of partition 0, in a group of the sink's own. So it is stored exactly when the tuples
    are, and says after a crash which tuples the topic has.
    """

    identity = ("topic", "id")
    remembers = True

    class Settings(Cluster, OutputFormat):
        id: Name = Field(default="shoal", description="the transactional id and the group of the sink, one for each pipeline")

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._producer: Any = None
        self._reader: Any = None
        self._has = 0

    def begin(self, mark: Position | None, sequence: int) -> None:
        self._kafka = library("confluent_kafka", "kafka")
        given = self._settings.client()
        self._largest = int(given.get("message.max.bytes", LARGEST + HEADERS)) - HEADERS
        mine = {"transactional.id": self._settings.id}
        self._producer = connected(self._kafka.Producer, silent({"linger.ms": 5, **given, **mine}))
        partitions(self._kafka, self._producer, self._settings.topic)
        self._open_reader()
        self._patiently(lambda: self._producer.init_transactions(STEP))
        self._look(mark, sequence)

    def probe(self, mark: Position | None, sequence: int) -> bool:
        try:
            self._kafka = library("confluent_kafka", "kafka")
            self._open_reader()
            partitions(self._kafka, self._reader, self._settings.topic)
            self._look(mark, sequence)
        finally:
            self.close()
        return True

    def _open_reader(self) -> None:
        """A client that reads the committed offset; it does not join the group, so other pipelines keep their partitions."""
        group = {"group.id": self._settings.id, "enable.auto.commit": False}
        self._reader = connected(self._kafka.Consumer, silent({**self._settings.client(), **group}))

    def _look(self, mark: Position | None, sequence: int) -> None:
        """Compare the tuples in the topic with the mark of a checkpoint."""
        stands, name = self._committed(), self._settings.id
        if mark is None and stands is not None:
            raise ConnectorError(
                f"kafka: group {name!r} says that topic {self._settings.topic!r} has tuples of which this pipeline knows "
                "nothing; use another id and topic, or the state that belongs to it"
            )
        if mark is not None and stands is None and sequence:
            raise ConnectorError(
                f"kafka: group {name!r} has no offset any more, which tells what the topic has; find the largest "
                "shoal-sequence in the topic, and reset the group's offset of partition 0 to the number that follows"
            )
        self._has = sequence if stands is None else stands
        if self._has < sequence:
            raise ConnectorError(
                f"kafka: topic {self._settings.topic!r} has the tuples up to {self._has}, but {sequence} were written; "
                "it is not the one that the state belongs to"
            )

    def _place(self, offset: int = -1001) -> Any:
        return self._kafka.TopicPartition(self._settings.topic, 0, offset)

    def _committed(self) -> int | None:
        """The number after the last tuple in the topic."""
        try:
            place = self._reader.committed([self._place()], timeout=PATIENCE)[0]
        except self._kafka.KafkaException as error:
            raise self._refused(error) from None
        return None if place.offset < 0 else int(place.offset)

    def _refused(self, error: Any) -> ConnectorError:
        return ConnectorError(
            f"kafka: topic {self._settings.topic!r} cannot be written ({error.args[0].name()}); check the rights, "
            "and that no other pipeline has the same id"
        )

    def _patiently(self, step: Callable[[], Any]) -> None:
        """Repeat a step of a transaction until it succeeds; an error that requires an abort is raised unchanged."""
        while True:
            try:
                step()
                return
            except self._kafka.KafkaException as error:
                if error.args[0].txn_requires_abort():
                    raise
                if not error.args[0].retriable():
                    raise self._refused(error) from None
                time.sleep(PAUSE)

    def write(self, batch: pa.RecordBatch, sequence: int) -> None:
        had = max(0, min(len(batch), self._has - sequence))
        some = list(messages(batch.slice(had), sequence + had, self._settings.format, self._largest))
        for first in range(0, len(some), FLIGHT):
            flight = some[first : first + FLIGHT]
            while not self._transact(flight):
                time.sleep(PAUSE)
            self._has = flight[-1].end

    def _transact(self, flight: list[Message]) -> bool:
        """Write messages and the number after them, all or nothing; whether it was all."""
        producer = self._producer
        try:
            self._patiently(producer.begin_transaction)
            for message in flight:
                self._produce(message)
            group = self._reader.consumer_group_metadata()
            self._patiently(lambda: producer.send_offsets_to_transaction([self._place(flight[-1].end)], group, STEP))
            self._patiently(lambda: producer.commit_transaction(STEP))
        except self._kafka.KafkaException:
            self._patiently(lambda: producer.abort_transaction(STEP))
            return False
        return True

    def _produce(self, message: Message) -> None:
        headers = {"shoal-sequence": str(message.sequence)}
        if message.tuples > 1:
            headers["shoal-tuples"] = str(message.tuples)
        while True:
            try:
                self._producer.produce(self._settings.topic, message.payload, headers=headers)
                self._producer.poll(0)
                return
            except BufferError:
                self._producer.poll(PAUSE)
            except self._kafka.KafkaException as error:
                if error.args[0].code() == self._kafka.KafkaError.MSG_SIZE_TOO_LARGE:
                    raise self._refused(error) from None
                raise

    def caught_up(self, sequence: int) -> None:
        if self._has > sequence:
            raise ConnectorError(
                f"kafka: topic {self._settings.topic!r} has the tuples up to {self._has}, but the state ends at {sequence}; "
                "it is too old: use the latest one"
            )

    @property
    def mark(self) -> Position:
        return {"has": self._has}

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        self._producer = None
