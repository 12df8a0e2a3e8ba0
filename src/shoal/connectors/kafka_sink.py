"""Kafka as a sink: tuples and their numbers in transactions."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, Literal

import pyarrow as pa
from pydantic import Field, model_validator

from shoal.config import Name, refusal
from shoal.connectors.connector import Position, Sink
from shoal.connectors.kafka_link import PATIENCE, Cluster, Health, answered, connected, partitions, silent
from shoal.connectors.message import Message, messages, records_as_messages
from shoal.connectors.registry import library
from shoal.connectors.schema_registry import FORMATS, Registry, SchemaRegistry, with_id
from shoal.connectors.settings import OutputFormat
from shoal.errors import ConnectorError
from shoal.formats import RecordEncoder, dumps, lines, record_encoder

LARGEST = 900_000  # bytes of a payload, unless the client's message.max.bytes says otherwise; its default is a million
HEADERS = 4_096  # bytes of a message for its headers
TIMEOUT = 60_000  # milliseconds after which brokers abort a transaction that was left open
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
        key: Name | None = Field(
            default=None, description="a published field whose value, as JSON, is the key; not with format arrow"
        )

        format: Literal["json", "arrow", "avro", "protobuf", "json-schema"] = Field(  # type: ignore[assignment]
            default="json",
            description="one JSON object, or one Arrow batch, per message; or avro, protobuf, json-schema with a registry",
        )
        registry: Registry | None = Field(
            default=None,
            description="where the schema of the tuples is registered, as TOPIC-value; such as {url: http://localhost:8081}",
        )

        @model_validator(mode="after")
        def _key_of_a_tuple(self) -> KafkaSink.Settings:
            if self.key and self.format == "arrow":
                raise refusal(("key", "does not go with format: arrow, where a message is many tuples; leave it out"))
            if self.format in FORMATS and self.registry is None:
                raise refusal(("registry", f"is missing, which format: {self.format} needs; write {{url: ADDRESS}}"))
            return self

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._producer: Any = None
        self._health = Health()
        self._reader: Any = None
        self._has = 0
        self._failure: Any = None  # why a message of the transaction was not stored
        self._records: RecordEncoder | None = None  # with a registry
        self._before = b""  # what stands before each record
        self._begun = 0.0  # when the transaction was begun

    def begin(self, mark: Position | None, sequence: int) -> None:
        self._check_key()
        self._kafka = library("confluent_kafka", "kafka")
        given = self._settings.client()
        self._largest = int(given.get("message.max.bytes", LARGEST + HEADERS)) - HEADERS
        self._timeout = float(given.get("transaction.timeout.ms", TIMEOUT)) / 1000
        self._open_registry(register=True)
        self._open_producer()
        partitions(self._kafka, self._producer, self._settings.topic)
        self._open_reader()
        self._patiently(lambda: self._producer.init_transactions(STEP))
        self._look(mark, sequence)

    @property
    def connected(self) -> bool | None:
        return self._health.is_up

    def _check_key(self) -> None:
        if self._settings.key and self._settings.key not in self.fields:
            known = ", ".join(self.fields) or "none"
            raise ConnectorError(f"kafka: key: {self._settings.key!r} is not published; choose among {known}")

    def _open_registry(self, register: bool) -> None:
        """Register the schema of the tuples, or only check that this could be done."""
        if self._settings.registry is None or self._settings.format not in FORMATS:
            return
        encoder = self._records = record_encoder(self._settings.format, self.shape)
        registry, subject = SchemaRegistry(self._settings.registry), f"{self._settings.topic}-value"
        if register:
            self._before = with_id(registry.register(subject, encoder.kind, encoder.schema), encoder.kind)
        else:
            registry.check(subject, encoder.kind, encoder.schema)

    def _open_producer(self) -> None:
        mine = {"transactional.id": self._settings.id, "on_delivery": self._delivered}
        self._producer = connected(
            self._kafka.Producer,
            silent(
                {"linger.ms": 5, "transaction.timeout.ms": TIMEOUT, **self._health.options, **self._settings.client(), **mine}
            ),
        )

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None and self._failure is None:
            self._failure = error

    def probe(self, mark: Position | None, sequence: int) -> bool:
        self._check_key()
        try:
            self._kafka = library("confluent_kafka", "kafka")
            self._open_registry(register=False)
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
                f"kafka: group {name!r} has no offset any more, which says what the topic has; find the largest "
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
            place = answered(self._kafka, lambda: self._reader.committed([self._place()], timeout=PATIENCE))[0]
        except self._kafka.KafkaException as error:
            raise self._refused(error.args[0]) from None
        return None if place.offset < 0 else int(place.offset)

    def _refused(self, error: Any) -> ConnectorError:
        """The error that ends the pipeline, by the client's."""
        kinds, code, topic = self._kafka.KafkaError, error.code(), f"kafka: topic {self._settings.topic!r}"
        if code in (kinds._FENCED, kinds.PRODUCER_FENCED, kinds.INVALID_PRODUCER_EPOCH):
            return ConnectorError(
                f"kafka: another pipeline with the id {self._settings.id!r} has begun, so this one ends; give each its own id"
            )
        if code in (kinds.MSG_SIZE_TOO_LARGE, kinds.RECORD_LIST_TOO_LARGE):
            return ConnectorError(
                f"{topic} refuses a message as too large ({error.name()}); raise its max.message.bytes, and message.max.bytes "
                "under options, or publish fewer attributes"
            )
        if code in (kinds.UNKNOWN_TOPIC_OR_PART, kinds._UNKNOWN_TOPIC, kinds._UNKNOWN_PARTITION):
            return ConnectorError(f"{topic} no longer exists ({error.name()}); what it had cannot be written again")
        return ConnectorError(f"{topic} cannot be written ({error.name()}); check the rights")

    def _patiently(self, step: Callable[[], Any]) -> None:
        """Repeat a step of a transaction until it succeeds; an error that requires an abort is raised unchanged."""
        while True:
            try:
                step()
                return
            except self._kafka.KafkaException as error:
                if error.args[0].txn_requires_abort():
                    raise
                if error.args[0].fatal() and time.monotonic() - self._begun > self._timeout:
                    raise _Expired from None
                if not error.args[0].retriable():
                    raise self._refused(error.args[0]) from None
                time.sleep(PAUSE)

    def write(self, batch: pa.RecordBatch, sequence: int) -> None:
        had = max(0, min(len(batch), self._has - sequence))
        left = batch.slice(had)
        keys = _keys(left, self._settings.key)
        if self._records:
            found = self._records.records(left)
            some = records_as_messages(found, self._before, sequence + had, self._largest)
        else:
            some = list(messages(left, sequence + had, self._settings.format, self._largest))
        for first in range(0, len(some), FLIGHT):
            flight = some[first : first + FLIGHT]
            while not self._transact(flight, keys[first : first + FLIGHT]):
                time.sleep(PAUSE)
            self._has = flight[-1].end

    def _transact(self, flight: list[Message], keys: list[bytes | None]) -> bool:
        """Write messages and the number after them, all or nothing; whether it was all."""
        self._failure, self._begun = None, time.monotonic()
        try:
            self._patiently(self._producer.begin_transaction)
            for message, key in zip(flight, keys or [None] * len(flight), strict=True):
                self._produce(message, key)
            group = self._reader.consumer_group_metadata()
            place = self._place(flight[-1].end)
            self._patiently(lambda: self._producer.send_offsets_to_transaction([place], group, STEP))
            self._patiently(lambda: self._producer.commit_transaction(STEP))
        except _Expired:
            return self._begin_again(flight)
        except self._kafka.KafkaException as error:
            failure = self._failure or error.args[0]
            self._patiently(lambda: self._producer.abort_transaction(STEP))
            if self._is_lasting(failure):
                raise self._refused(failure) from None
            return False
        return True

    def _is_lasting(self, error: Any) -> bool:
        kinds = self._kafka.KafkaError
        return error.code() in (
            kinds.MSG_SIZE_TOO_LARGE, kinds.RECORD_LIST_TOO_LARGE, kinds.TOPIC_AUTHORIZATION_FAILED, kinds.INVALID_RECORD,
            kinds.POLICY_VIOLATION, kinds.UNKNOWN_TOPIC_OR_PART, kinds._UNKNOWN_TOPIC, kinds._UNKNOWN_PARTITION,
        )  # fmt: skip

    def _begin_again(self, flight: list[Message]) -> bool:
        """With a new client, after the brokers aborted a transaction that was open for too long; whether it was written."""
        self._open_producer()
        self._patiently(lambda: self._producer.init_transactions(STEP))
        stands = self._committed() or 0
        if stands not in (flight[0].sequence, flight[-1].end):
            raise ConnectorError(
                f"kafka: topic {self._settings.topic!r} has the tuples up to {stands}, but this pipeline wrote up to "
                f"{flight[0].sequence}; another one has the same id: give each its own"
            )
        return stands == flight[-1].end

    def _produce(self, message: Message, key: bytes | None) -> None:
        headers = {"shoal-sequence": str(message.sequence)}
        if message.tuples > 1:
            headers["shoal-tuples"] = str(message.tuples)
        while True:
            try:
                self._producer.produce(self._settings.topic, message.payload, key=key, headers=headers)
                self._producer.poll(0)
                return
            except BufferError:
                self._producer.poll(PAUSE)
            except self._kafka.KafkaException as error:
                if error.args[0].code() == self._kafka.KafkaError.MSG_SIZE_TOO_LARGE:
                    raise self._refused(error.args[0]) from None
                raise

    def store_waiting(self, everything: bool = False) -> None:
        """Nothing waits; but the client tells of its brokers only when it is asked."""
        self._producer.poll(0)

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


class _Expired(Exception):
    """The brokers aborted the transaction, which was open for longer than its timeout."""


def _keys(batch: pa.RecordBatch, field: str | None) -> list[bytes | None]:
    """The key of each tuple: text as it is, other values as JSON, none for a missing one.

    >>> _keys(pa.record_batch({"city": ["Oslo", None]}), "city")
    [b'Oslo', None]
    >>> _keys(pa.record_batch({"n": [1, 2]}), None)
    []
    """
    if field is None:
        return []
    values = [json.loads(line)[field] for line in lines(batch.select([field]).replace_schema_metadata()).split(b"\n")[:-1]]
    return [None if value is None else value.encode() if isinstance(value, str) else dumps(value).encode() for value in values]
