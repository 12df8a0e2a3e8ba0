"""TLS, mutual TLS and SASL/SCRAM against a real broker; secrets from a file and from the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from connectors.conformance import batch, drained
from connectors.kafka_broker import Cluster, cluster
from connectors.test_tls import pair  # noqa: F401
from shoal.connectors.kafka_sink import KafkaSink
from shoal.connectors.kafka_source import KafkaSource
from shoal.errors import ConnectorError


def server(folder: Path, pair: tuple[Path, Path]) -> dict[str, Any]:  # noqa: F811
    """The broker's side of TLS: it shows the certificate, and trusts whoever has the same one."""
    cert, key = pair
    shown = folder / "shown.pem"
    shown.write_text(key.read_text() + cert.read_text())
    return {
        "ssl.keystore.type": "PEM", "ssl.keystore.location": shown,
        "ssl.truststore.type": "PEM", "ssl.truststore.location": cert,
    }  # fmt: skip


def passed(found: Cluster, options: dict[str, Any]) -> list[int]:
    """What comes out of a topic that a sink wrote to."""
    given: dict[str, Any] = {"brokers": found.brokers, "topic": "t", "options": options}
    sink = KafkaSink(KafkaSink.Settings(**given))
    sink.begin(None, 0)
    sink.write(batch(range(3)), 0)
    sink.close()
    source = KafkaSource(KafkaSource.Settings(**given, group="g"))
    source.begin(None)
    numbers, _ = drained(source, 3)
    source.close()
    return sorted(numbers)


def refused(found: Cluster, options: dict[str, Any]) -> str:
    source = KafkaSource(KafkaSource.Settings(brokers=found.brokers, topic="t", group="g", options=options))
    with pytest.raises(ConnectorError) as error:
        source.begin(None)
    source.close()
    return str(error.value)


REFUSED = "kafka: no broker answers within 2 s (_TRANSPORT); check brokers, credentials and TLS"


def test_mutual_tls(
    kafka_program: None,
    pair: tuple[Path, Path],  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cert, key = pair
    trusting = {"security.protocol": "ssl", "ssl.ca.location": str(cert)}
    options = {**trusting, "ssl.certificate.location": str(cert), "ssl.key.location": str(key)}
    settings = {**server(tmp_path, pair), "ssl.client.auth": "required"}
    with cluster(tmp_path, listener="SSL", settings=settings, client=options) as found:
        found.create("t")
        assert passed(found, options) == [0, 1, 2]
        monkeypatch.setattr("shoal.connectors.kafka_link.PATIENCE", 2.0)
        assert refused(found, trusting) == REFUSED  # without a certificate of one's own
        assert refused(found, {key: value for key, value in options.items() if key != "ssl.ca.location"}) == REFUSED


def test_scram_over_tls(
    kafka_program: None,
    pair: tuple[Path, Path],  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cert, _ = pair
    monkeypatch.setenv("KAFKA_PASSWORD", "correct")
    (tmp_path / "password").write_text("correct\n")
    options = {
        "security.protocol": "sasl_ssl", "ssl.ca.location": str(cert), "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.username": "shoal",
    }  # fmt: skip
    settings = {
        **server(tmp_path, pair),
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.client.scram-sha-512.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        ),
    }
    with cluster(
        tmp_path,
        listener="SASL_SSL",
        settings=settings,
        client={**options, "sasl.password": "correct"},
        formats=("--add-scram", "SCRAM-SHA-512=[name=shoal,password=correct]"),
    ) as found:
        found.create("t")
        assert passed(found, {**options, "sasl.password": {"env": "KAFKA_PASSWORD"}}) == [0, 1, 2]
        source = KafkaSource.Settings.model_validate(
            {
                "brokers": found.brokers, "topic": "t", "group": "h",
                "options": {**options, "sasl.password": {"file": "password"}},
            },
            context={"folder": tmp_path},
        )  # fmt: skip
        reader = KafkaSource(source)
        reader.begin(None)
        assert sorted(drained(reader, 3)[0]) == [0, 1, 2]
        reader.close()
        monkeypatch.setenv("KAFKA_PASSWORD", "another")
        monkeypatch.setattr("shoal.connectors.kafka_link.PATIENCE", 2.0)
        assert refused(found, {**options, "sasl.password": {"env": "KAFKA_PASSWORD"}}) == REFUSED
