"""A Kafka broker for the benchmark, and the plain loop that a pipeline is compared with."""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shoal.errors import ShoalError

PARTITIONS = 4
FLIGHT = 8_192  # messages of a transaction of the plain loop


def jars() -> Path:
    """The folder of Kafka's jars: `SHOAL_KAFKA`, or what `make kafka` fetched."""
    return Path(os.environ.get("SHOAL_KAFKA") or "build/kafka").absolute()


def is_there() -> bool:
    return shutil.which("java") is not None and any(jars().glob("kafka_2.13-*.jar"))


@contextmanager
def broker(folder: Path) -> Iterator[str]:
    """The address of a broker that is started here, in KRaft mode, and stopped at the end."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    port, control = _ports()
    settings = {
        "process.roles": "broker,controller", "node.id": 1, "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{control}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{control}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT", "log.dirs": folder / "data",
        "offsets.topic.replication.factor": 1, "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1, "offsets.topic.num.partitions": 1, "transaction.state.log.num.partitions": 1,
    }  # fmt: skip
    file = folder / "server.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    java = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-cp", f"{jars()}/*"]
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    formatted = [*java, "kafka.tools.StorageTool", "format", "--standalone", f"--cluster-id={cluster}", "-c", str(file)]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    if subprocess.run(formatted, **quiet).returncode:
        raise ShoalError("kafka: its folder cannot be formatted; run make kafka again")
    process = subprocess.Popen([*java, "kafka.Kafka", str(file)], **quiet)
    try:
        _wait(f"127.0.0.1:{port}", process)
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait(20)


def _ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1]), int(two.getsockname()[1])


def _wait(brokers: str, process: subprocess.Popen[bytes]) -> None:
    from confluent_kafka import KafkaException

    until, admin = time.monotonic() + 60, _admin(brokers)
    while True:
        try:
            admin.list_topics(timeout=1)
            return
        except KafkaException:
            if process.poll() is not None or time.monotonic() > until:
                raise ShoalError("kafka: does not start; check that it has memory, and Java 17") from None


def _admin(brokers: str) -> Any:
    from confluent_kafka.admin import AdminClient

    return AdminClient({"bootstrap.servers": brokers, "log_level": 0})


def fill(brokers: str, raw: str, clean: str, plain: str, payloads: Sequence[bytes]) -> None:
    """Create the topics, and write the records into the first."""
    from confluent_kafka import Producer
    from confluent_kafka.cimpl import NewTopic

    admin = _admin(brokers)
    for future in admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in (raw, clean, plain)]).values():
        future.result()
    producer = Producer({"bootstrap.servers": brokers, "log_level": 0, "linger.ms": 20})
    for number, payload in enumerate(payloads):
        producer.produce(raw, payload, partition=number % PARTITIONS)
        if number % 10_000 == 0:
            producer.flush()
    producer.flush()


def plain_loop(brokers: str, raw: str, target: str, count: int) -> float:
    """Seconds in which a loop consumes so many records, parses each, changes it, and produces it in transactions."""
    from confluent_kafka import Consumer, Producer, TopicPartition

    options = {"bootstrap.servers": brokers, "log_level": 0}
    consumer = Consumer({**options, "group.id": f"{target}-group", "enable.auto.commit": False})
    consumer.assign([TopicPartition(raw, number, 0) for number in range(PARTITIONS)])
    producer = Producer({**options, "transactional.id": target, "linger.ms": 5})
    producer.init_transactions(20)
    start, done = time.perf_counter(), 0
    while done < count:
        some = [*consumer.consume(1, 1.0), *consumer.consume(FLIGHT, 0)]
        if not some:
            continue
        producer.begin_transaction()
        for message in some:
            record = json.loads(message.value() or b"{}")
            del record["pid"]
            producer.produce(target, json.dumps(record), headers={"shoal-sequence": str(done)})
            producer.poll(0)
            done += 1
        producer.send_offsets_to_transaction(consumer.position(consumer.assignment()), consumer.consumer_group_metadata())
        producer.commit_transaction(20)
    seconds = time.perf_counter() - start
    consumer.close()
    return seconds
