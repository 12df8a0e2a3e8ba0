"""What the source and the sink of Kafka share: settings, client, partitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import Field

from shoal.config import FrozenModel, Name
from shoal.connectors.registry import silent_logger
from shoal.connectors.settings import Options, with_secrets
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
