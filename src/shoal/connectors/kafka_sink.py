"""Kafka as a sink, by confluent-kafka."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pydantic import Field

from shoal.config import Name
from shoal.connectors.connector import Position, Sink
from shoal.connectors.kafka_cluster import PATIENCE, Cluster, connected, partitions, silent
from shoal.connectors.message import Message, messages
from shoal.connectors.registry import library
from shoal.connectors.settings import OutputFormat
from shoal.errors import ConnectorError

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
