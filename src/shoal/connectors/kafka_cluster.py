"""A Kafka cluster, as both the source and the sink see it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import Field

from shoal.config.model import FrozenModel, Name
from shoal.connectors.settings import Options, revealed
from shoal.errors import ConnectorError

PATIENCE = 10.0
"""Seconds within which a broker that is there has answered."""


class Cluster(FrozenModel):
    """Where a topic is."""

    brokers: Name = Field(description="brokers to begin with, such as localhost:9092; several, separated by commas")
    topic: Name = Field(description="the topic, which must exist")
    options: Options = Field(
        default={}, description="options of librdkafka, such as security.protocol, sasl.username, sasl.password"
    )

    def client(self) -> dict[str, Any]:
        """What the client is told."""
        return {**revealed(self.options), "bootstrap.servers": self.brokers}


def silent(options: Mapping[str, Any]) -> dict[str, Any]:
    """What the client says goes to a logger of its own, which is not shown."""
    logger = logging.getLogger("confluent_kafka")
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return {**options, "logger": logger, "error_cb": lambda error: None}


def connected(client: Callable[[dict[str, Any]], Any], options: dict[str, Any]) -> Any:
    """A client by its options.

    Raises
    ------
    ConnectorError
        It does not know one of them, or a value is not for it.
    """
    try:
        return client(options)
    except Exception as error:
        code = getattr(error.args[0], "name", str)() if error.args else ""
        text = f" ({code})" if code else ""
        raise ConnectorError(f"kafka: the client refuses its options{text}; check their names and values") from None


def partitions(kafka: Any, client: Any, topic: str) -> list[int]:
    """The partitions of a topic.

    Raises
    ------
    ConnectorError
        No broker answers, or they do not have it.
    """
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
