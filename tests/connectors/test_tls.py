from __future__ import annotations

import os
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from connectors.conformance import batch, drained
from connectors.processes import free_port, mosquitto, nats_server, running
from shoal.connectors.http import HttpSink, HttpSource
from shoal.connectors.mqtt import MqttSink, MqttSource
from shoal.connectors.nats_source import NatsSource
from shoal.errors import ConnectorError


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate that is its own authority, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    asked = ["-subj", "/CN=shoal", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *asked, "-keyout", str(key), "-out", str(cert)]
    subprocess.run(command, check=True, capture_output=True)
    return cert, key


def test_http(pair: tuple[Path, Path]) -> None:
    cert, key = pair
    source = HttpSource(HttpSource.Settings(port=free_port(), tls={"cert": cert, "key": key}))
    source.begin(None)
    url = f"https://127.0.0.1:{source._settings.port}/"
    sink = HttpSink(HttpSink.Settings(url=url, tls={"ca": cert}))
    sink.begin(None, 0)
    writer = threading.Thread(target=sink.write, args=(batch(range(3)), 0))
    writer.start()
    found, _ = drained(source, 3)
    writer.join(10)
    sink.close()
    stranger = HttpSink(HttpSink.Settings(url=url))
    stranger.begin(None, 0)
    with pytest.raises(ConnectorError) as error:
        stranger.write(batch(range(3)), 0)
    stranger.close()
    source.close()
    assert found == [0, 1, 2]
    assert str(error.value) == f"http {url}: has a certificate that is not trusted; name its authority under tls"


@pytest.mark.slow
def test_handshakes_that_never_end(pair: tuple[Path, Path]) -> None:
    """They count as idle connections: they make room for one that speaks, and each ends after a while."""
    cert, key = pair
    settings = HttpSource.Settings(port=free_port(), tls={"cert": cert, "key": key}, connections=40, peer=40, patience=3)
    source = HttpSource(settings)
    source.begin(None)
    sink = HttpSink(HttpSink.Settings(url=f"https://127.0.0.1:{settings.port}/", tls={"ca": cert}))
    sink.begin(None, 0)
    before = len(os.listdir("/proc/self/fd"))
    silent = [socket.create_connection(("127.0.0.1", settings.port)) for _ in range(300)]
    writer = threading.Thread(target=sink.write, args=(batch(range(3)), 0))
    writer.start()
    found, _ = drained(source, 3)
    writer.join(10)
    kept = len(os.listdir("/proc/self/fd")) - before - len(silent)
    silent[-1].settimeout(30)
    assert silent[-1].recv(1) == b""
    for each in silent:
        each.close()
    sink.close()
    source.close()
    assert found == [0, 1, 2] and kept <= 40 + 10, kept


def test_nats(nats_program: str, pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cert, key = pair
    with running(nats_server(nats_program, tmp_path, "--tls", "--tlscert", str(cert), "--tlskey", str(key))) as broker:
        refusals = []
        monkeypatch.setattr("shoal.connectors.nats_link.PATIENCE", 2.0)
        for tls in ({"ca": cert}, {}):
            source = NatsSource(NatsSource.Settings(url=f"tls://127.0.0.1:{broker.port}", stream="NONE", tls=tls))
            with pytest.raises(ConnectorError) as error:
                source.begin(None)
            source.close()
            refusals.append(str(error.value))
    assert refusals == [
        "nats: there is no stream 'NONE'; create it, or correct the name",
        f"nats tls://127.0.0.1:{broker.port}: cannot be reached within 2 s (SSLCertVerificationError); "
        "check address, TLS, and that it runs",
    ]


def test_mqtt(mosquitto_program: str, pair: tuple[Path, Path], tmp_path: Path) -> None:
    cert, key = pair
    lines = ("allow_anonymous true", f"certfile {cert}", f"keyfile {key}")
    with running(mosquitto(mosquitto_program, tmp_path, *lines)) as broker:
        given: dict[str, Any] = {"host": "127.0.0.1", "port": broker.port, "topic": "t"}
        source = MqttSource(MqttSource.Settings(**given, client="in", tls={"ca": cert}))
        source.begin(None)
        sink = MqttSink(MqttSink.Settings(**given, client="out", tls={"ca": cert}))
        sink.begin(None, 0)
        sink.write(batch(range(3)), 0)
        found, _ = drained(source, 3)
        sink.close()
        source.close()
        stranger = MqttSource(MqttSource.Settings(**given, client="in", tls={}))
        with pytest.raises(ConnectorError) as error:
            stranger.begin(None)
        stranger.close()
    assert found == [0, 1, 2]
    assert str(error.value) == (
        f"mqtt 127.0.0.1:{broker.port}: cannot be reached (SSLCertVerificationError); check host, port and TLS"
    )
