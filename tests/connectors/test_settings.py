from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from shoal.connectors import Secret
from shoal.connectors.http import HttpSink
from shoal.connectors.kafka_source import KafkaSource
from shoal.connectors.mqtt import MqttSource
from shoal.connectors.nats_source import NatsSource
from shoal.connectors.registry import SINKS, SOURCES, connector_class
from shoal.connectors.settings import Tls
from shoal.errors import ConnectorError

KAFKA = {"brokers": "localhost:9092", "topic": "raw", "group": "shoal"}


def problems(error: ValidationError) -> Any:
    return error.errors()[0]["ctx"]["problems"]


@pytest.mark.parametrize("key", ["sasl.password", "ssl.key.pem", "sasl.oauthbearer.client.secret", "X_API_KEY"])
def test_a_secret_in_the_clear(key: str) -> None:
    with pytest.raises(ValidationError) as error:
        KafkaSource.Settings(**KAFKA, options={key: "hunter2"})
    assert problems(error.value) == ((key, "is a secret in the clear; write {env: NAME} or {file: PATH}"),)
    settings = KafkaSource.Settings(**KAFKA, options={key: {"env": "PASSWORD"}, "fetch.wait.max.ms": 5})
    assert settings.options["fetch.wait.max.ms"] == 5


def test_a_secret_from_a_file_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("hunter2\n")
    given = {**KAFKA, "options": {"sasl.password": {"file": "password"}}}
    settings = KafkaSource.Settings.model_validate(given, context={"folder": tmp_path})
    assert settings.client()["sasl.password"] == "hunter2"
    assert "hunter2" not in repr(settings) + settings.model_dump_json()


@pytest.mark.parametrize("text", ["", "\n"])
def test_a_secret_that_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (tmp_path / "password").write_text(text)
    with pytest.raises(ConnectorError) as error:
        Secret(file=tmp_path / "password").read()
    assert str(error.value) == f"{tmp_path / 'password'}: is empty; write the secret into it"
    monkeypatch.setenv("PASSWORD", "")
    with pytest.raises(ConnectorError, match="PASSWORD: is not set in the environment; set it to the secret"):
        Secret(env="PASSWORD").read()


def test_credentials_in_an_address() -> None:
    for settings, more in ((NatsSource.Settings, {"stream": "S"}), (HttpSink.Settings, {})):
        with pytest.raises(ValidationError) as error:
            settings(url="nats://user:hunter2@localhost", **more)
        assert problems(error.value) == (("", "has credentials in it; write them as secrets, under options or token"),)


@pytest.mark.parametrize("more", [{"format": "csv"}, {"columns": ["a"]}])
def test_csv_has_columns_and_nothing_else_has(more: Any) -> None:
    with pytest.raises(ValidationError) as error:
        KafkaSource.Settings(**KAFKA, **more)
    told = "go with format: csv, and with no other; name them there, leave them out elsewhere"
    assert problems(error.value) == (("columns", told),)
    source = KafkaSource(KafkaSource.Settings(**KAFKA, format="csv", columns=["a", "b"]))
    assert (source.format, source.columns) == ("csv", ("a", "b"))


@pytest.mark.parametrize(("written", "version"), [(5, "5"), ("5", "5"), ("3.1.1", "3.1.1")])
def test_versions_of_mqtt(written: Any, version: str) -> None:
    assert MqttSource.Settings(host="h", topic="t", version=written).version == version


def test_half_a_pair_of_tls() -> None:
    with pytest.raises(ValidationError) as error:
        Tls(cert="c.pem")
    assert problems(error.value) == (("", "has one of cert and key; give both"),)


def test_files_of_tls_that_are_not_there() -> None:
    with pytest.raises(ConnectorError) as error:
        Tls(ca="none.pem").context()
    assert str(error.value) == "tls: a file cannot be used; check the names, the permissions and the kind (PEM)"


SAMPLES: dict[str, Any] = {
    "kafka": (KAFKA, {"brokers": "b", "topic": "t"}),
    "nats": ({"url": "nats://h", "stream": "S"}, {"url": "nats://h", "stream": "S", "subject": "s"}),
    "mqtt": ({"host": "h", "topic": "t"}, {"host": "h", "topic": "t"}),
    "http": ({"port": 8080}, {"url": "http://h"}),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_client_that_is_not_installed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("confluent_kafka", "nats", "paho.mqtt.client", "uvicorn", "httpx"):
        monkeypatch.setitem(sys.modules, module, None)
    for names, given, how in ((SOURCES, SAMPLES[name][0], (None,)), (SINKS, SAMPLES[name][1], (None, 0))):
        kind = connector_class(names, name)
        made = kind(kind.Settings(**given))
        for attempt in (made.probe, made.begin):
            with pytest.raises(ConnectorError) as error:
                attempt(*how)
            assert (
                str(error.value)
                == f"the client of '{name}' is not installed; install it with pip install 'shoal-stream[{name}]'"
            )
        made.close()


def test_an_option_that_the_client_does_not_know() -> None:
    source = NatsSource(NatsSource.Settings(url="nats://127.0.0.1:9", stream="S", options={"no_such": 1}))
    with pytest.raises(ConnectorError) as error:
        source.begin(None)
    source.close()
    assert str(error.value) == "nats nats://127.0.0.1:9: the client does not know one of its options; check their names"
