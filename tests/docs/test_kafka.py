"""docs/kafka.md: its commands, one after the other, against a broker that is started without Docker."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from connectors.conftest import kafka_program  # noqa: F401
from connectors.kafka_broker import JAVA, Cluster, cluster
from tests.docs.base import ROOT, blocks, read

PAGE = read("docs/kafka.md")
FILES = {match[1]: block.text for block in blocks(PAGE) if (match := re.fullmatch(r"\*\*`(.+)`\*\*", block.before))}
COMMANDS = [line for block in blocks(PAGE) if block.language == "sh" for line in block.text.splitlines()]
TOOL = re.compile(r"docker compose exec -T kafka /opt/kafka/bin/(\S+)\.sh")
CLASSES = {
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
}


@pytest.fixture
def broker(kafka_program: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:  # noqa: F811
    with cluster(tmp_path_factory.mktemp("kafka")) as found:
        yield found


def local(command: str, broker: Cluster) -> str:
    """A command without Docker: the same tool of Kafka, on the port of this broker."""
    java = shlex.join(JAVA)
    return TOOL.sub(lambda match: f"{java} {CLASSES[match[1]]}", command).replace("localhost:9092", broker.brokers)


def test_the_commands_of_the_page(broker: Cluster, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text.replace("localhost:9092", broker.brokers))
    environment = {**os.environ, "PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}"}
    printed: dict[str, str] = {}
    running: subprocess.Popen[bytes] | None = None
    try:
        for command in COMMANDS:
            if command.startswith(("docker compose up", "docker compose down", "pip install")):
                continue  # the fixture's, and the environment's
            if match := re.fullmatch(r"export (\w+)=\$\((.+)\)", command):
                environment[match[1]] = subprocess.check_output(match[2], shell=True, text=True).strip()
            elif command == "shoal pipe pipeline.yaml":
                running = subprocess.Popen(shlex.split(command), cwd=tmp_path, env=environment, stderr=subprocess.PIPE)
            else:
                done = subprocess.run(
                    local(command, broker),
                    shell=True,
                    cwd=tmp_path,
                    env=environment,
                    capture_output=True,
                    text=True,
                    timeout=300,
                )
                assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
                printed[command] = done.stdout
        assert running is not None
        assert running.poll() is None
        until = time.monotonic() + 120
        while len(found := broker.numbered("clean")) < 5000:
            assert time.monotonic() < until, f"{len(found)} of 5000 tuples have left"
            time.sleep(0.2)
        running.send_signal(signal.SIGINT)
        assert running.wait(20) == 0
    finally:
        if running is not None:
            running.kill()
            running.wait()
    shown = next(text for command, text in printed.items() if "consumer" in command)
    assert len(shown.splitlines()) == 5
    assert all("pid" not in json.loads(line) for line in shown.splitlines())
    assert list(found) == list(range(5000))
    for message in broker.messages("clean"):
        value = json.loads(message.value())["district"]
        expected = value if isinstance(value, str) else json.dumps(value)
        assert message.key() == (None if value is None else expected.encode())


def test_the_compose_file_is_of_the_version_that_is_tested() -> None:
    found = yaml.safe_load(FILES["compose.yaml"])["services"]["kafka"]["image"]
    versions = set(re.findall(r"<artifactId>kafka\S*</artifactId>\s*<version>(.+)</version>", read("tools/kafka/pom.xml")))
    assert versions - {"1"} == {found.partition(":")[2]}
