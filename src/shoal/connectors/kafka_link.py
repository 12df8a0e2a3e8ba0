"""What the source and the sink of Kafka share: settings, clients, topics; by confluent-kafka."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import Field

from shoal.config import FrozenModel, Name
from shoal.connectors.registry import library, silent_logger
from shoal.connectors.settings import Options, with_secrets
from shoal.errors import ConnectorError
from shoal.formats import dumps

PATIENCE = 10.0  # seconds to wait for a broker
STATISTICS = 2000  # milliseconds from one report of a client to the next
STARTING = 60.0  # seconds to wait for brokers that answer, and are not ready yet


class Cluster(FrozenModel):
    """The settings of a cluster and a topic."""

    brokers: Name = Field(description="brokers to begin with, such as localhost:9092; several, separated by commas")
    topic: Name = Field(description="the topic, which must exist")
    options: Options = Field(
        default={}, description="options of librdkafka, such as security.protocol, sasl.username, sasl.password"
    )

    def client(self) -> dict[str, Any]:
        """The options of the client.

        When all brokers are away, the client must not forget them: librdkafka 2.16 would wait without end for a coordinator
        that it has forgotten.
        """
        return {"metadata.recovery.strategy": "none", **with_secrets(self.options), "bootstrap.servers": self.brokers}


class Health:
    """Whether any broker answers, by the statistics of a client.

    >>> health = Health()
    >>> health.hear('{"brokers": {"a:9092/1": {"state": "DOWN"}, "b:9092/2": {"state": "UP"}}}')
    >>> health.is_up
    True
    """

    def __init__(self) -> None:
        self.is_up: bool | None = None  # None until the first statistics
        self.options = {"statistics.interval.ms": STATISTICS, "stats_cb": self.hear}

    def hear(self, statistics: str) -> None:
        brokers = json.loads(statistics)["brokers"].values()
        self.is_up = any(broker["state"] == "UP" for broker in brokers)


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


_PASSING = (
    "NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", "UNSTABLE_OFFSET_COMMIT",
    "LEADER_NOT_AVAILABLE", "NOT_LEADER_FOR_PARTITION", "REQUEST_TIMED_OUT", "_WAIT_COORD", "_TRANSPORT", "_TIMED_OUT",
    "_ALL_BROKERS_DOWN",
)  # fmt: skip


def answered(kafka: Any, ask: Callable[[], Any]) -> Any:
    """What a cluster answers. It is asked again while it has just started or another broker takes over, for `STARTING` s.

    Raises the client's KafkaException for any other error.
    """
    until = time.monotonic() + STARTING
    while True:
        try:
            return ask()
        except kafka.KafkaException as error:
            if error.args[0].name() not in _PASSING or time.monotonic() > until:
                raise
        time.sleep(0.1)


def topic_id(settings: Cluster) -> str | None:
    """The id of a topic, which another topic of the same name does not have; None if the brokers do not tell."""
    admin = library("confluent_kafka.admin", "kafka").AdminClient(silent(settings.client()))
    kafka = library("confluent_kafka", "kafka")
    try:
        wanted = kafka.TopicCollection([settings.topic])
        found = admin.describe_topics(wanted, request_timeout=PATIENCE)[settings.topic].result()
    except kafka.KafkaException:
        return None
    return None if found.topic_id is None else str(found.topic_id)


def with_fields(payload: bytes, fields: Mapping[str, Any]) -> bytes:
    r"""A JSON object, or one per line, with more fields, which replace those of the same names.

    >>> with_fields(b'{"a": 1}', {"t": 2.5})
    b'{"a": 1, "t": 2.5}'
    >>> with_fields(b'{"a": 1}\n{"a": 2}\n', {"t": None})
    b'{"a": 1, "t": null}\n{"a": 2, "t": null}'
    >>> with_fields(b"{ }", {"t": 1}), with_fields(b"no object", {"t": 1})
    (b'{"t": 1}', b'no object')
    """
    text = payload.strip()
    first = text.find(b"\n")
    if first >= 0 and text[:first].rstrip().endswith(b"}"):
        return b"\n".join(with_fields(line, fields) for line in text.split(b"\n"))
    if not (text.startswith(b"{") and text.endswith(b"}")):
        return payload
    inside = text[1:-1].strip()
    more = dumps(fields).encode()[1:]
    return b"{" + inside + (b", " if inside else b"") + more
