"""Kafka brokers that tests start, in KRaft mode, and stop by their process id."""

from __future__ import annotations

import base64
import shutil
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from connectors.processes import Broker, free_port

JARS = Path(__file__).parents[2] / "build" / "kafka"
JAVA = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{JARS}/*"]
STARTING = 180.0  # seconds that a broker may take to start, on a busy machine
QUIET = {"log_level": 0, "error_cb": lambda error: None}


def why_absent() -> str | None:
    """Why no broker can be started; None if one can."""
    if shutil.which("java") is None:
        return "there is no Java; on Debian, apt-get install openjdk-17-jre-headless"
    return None if (JARS / "ready").exists() else "there is no Kafka; make kafka fetches it, by Maven"


class KafkaNode(Broker):
    """A broker, which is also a controller."""

    def __init__(self, folder: Path, number: int, cluster: Cluster) -> None:
        self.file, self._data = folder / f"node{number}.properties", folder / f"node{number}"
        self._number, self._cluster = number, cluster
        super().__init__([*JAVA, "kafka.Kafka", str(self.file)], cluster.ports[number][0])

    def format(self, *arguments: str) -> None:
        self.file.write_text("".join(f"{name}={value}\n" for name, value in self._settings().items()))
        which = [f"--cluster-id={self._cluster.id}", "-c", str(self.file)]
        command = [*JAVA, "kafka.tools.StorageTool", "format", *which, *arguments]
        subprocess.run(command, check=True, capture_output=True)

    def _settings(self) -> dict[str, Any]:
        ports, listener = self._cluster.ports, self._cluster.listener
        copies = min(3, len(ports))
        quorum = ",".join(f"{i}@127.0.0.1:{port}" for i, (_, port, _) in enumerate(ports))
        alone = {"controller.quorum.bootstrap.servers": f"127.0.0.1:{ports[0][1]}"}
        mine = zip(("CLIENT", "CONTROLLER", "INTERNAL"), ports[self._number], strict=True)
        return {
            "process.roles": "broker,controller",
            "node.id": self._number,
            "controller.listener.names": "CONTROLLER",
            **(alone if len(ports) == 1 else {"controller.quorum.voters": quorum}),
            "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in mine),
            "inter.broker.listener.name": "INTERNAL",
            "listener.security.protocol.map": f"CLIENT:{listener},CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT",
            "log.dirs": self._data,
            "offsets.topic.replication.factor": copies,
            "offsets.topic.num.partitions": 1,
            "transaction.state.log.replication.factor": copies,
            "transaction.state.log.min.isr": min(2, copies),
            "transaction.state.log.num.partitions": 1,
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": 200,
            "log.retention.check.interval.ms": 300,
            "log.segment.delete.delay.ms": 0,
            "log.cleaner.dedupe.buffer.size": 4 << 20,
            "log.cleaner.backoff.ms": 200,
            "group.initial.rebalance.delay.ms": 0,
            "auto.create.topics.enable": "false",
            "controlled.shutdown.enable": str(len(ports) > 1).lower(),
            **self._cluster.settings,
        }

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._cluster.wait()


class Cluster:
    """Some nodes, and what a test does with them through a client of its own."""

    def __init__(
        self,
        folder: Path,
        nodes: int = 1,
        listener: str = "PLAINTEXT",
        settings: Mapping[str, Any] | None = None,
        client: Mapping[str, Any] | None = None,
        formats: tuple[str, ...] = (),
    ) -> None:
        self.id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        self.ports = [(free_port(), free_port(), free_port()) for _ in range(nodes)]  # clients, controllers, brokers
        self.listener, self.settings = listener, settings or {}
        self.brokers = ",".join(f"127.0.0.1:{port}" for port, *_ in self.ports)
        self.client = {"bootstrap.servers": self.brokers, **(client or {})}
        self.nodes = [KafkaNode(folder, i, self) for i in range(nodes)]
        for node in self.nodes:
            node.format(*(["--standalone"] if nodes == 1 else []), *formats)

    def wait(self) -> None:
        """Until a broker answers; the controllers of several nodes agree only once most of them have started."""
        until = time.monotonic() + STARTING
        while True:
            try:
                if len(self.ports) > 1 or self.admin.list_topics(timeout=0.5):
                    return
            except KafkaException:
                if time.monotonic() > until:
                    raise

    @cached_property
    def admin(self) -> AdminClient:
        return AdminClient({**QUIET, **self.client})

    def create(self, topic: str, partitions: int = 4, **config: Any) -> None:
        """A topic; a key of `config` has _ for each dot."""
        given = {name.replace("_", "."): str(value) for name, value in config.items()}
        wanted = NewTopic(topic, partitions, min(3, len(self.nodes)), config=given)
        until = time.monotonic() + STARTING
        while True:  # a cluster that has just started may not have enough brokers yet
            try:
                self.admin.create_topics([wanted])[topic].result()
                break
            except KafkaException as error:
                if len(self.nodes) == 1 or time.monotonic() > until:
                    raise error
                time.sleep(0.2)
        while topic not in self.admin.list_topics(timeout=60).topics:
            time.sleep(0.02)

    def produce(self, topic: str, values: list[tuple[bytes | None, bytes | None]], **more: Any) -> None:
        """Messages, each with its key."""
        producer = Producer({**QUIET, **self.client})
        for key, value in values:
            producer.produce(topic, value, key=key, **more)
        assert producer.flush(60) == 0

    def messages(self, topic: str, isolation: str = "read_committed") -> list[Any]:
        """All messages of a topic, by partition and offset."""
        options = {"group.id": "test", "enable.partition.eof": True, "isolation.level": isolation, "enable.auto.commit": False}
        consumer = Consumer({**QUIET, **self.client, **options, "auto.offset.reset": "earliest"})
        numbers = consumer.list_topics(topic, timeout=60).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, -2) for number in numbers])
        found, ended = [], set()
        until = time.monotonic() + 90
        while len(ended) < len(numbers) and time.monotonic() < until:
            for message in consumer.consume(1000, 0.1):
                if message.error():
                    ended.add(message.partition())
                else:
                    found.append(message)
        consumer.close()
        assert len(ended) == len(numbers), "the end of a partition was not reached"
        return sorted(found, key=lambda message: (message.partition(), message.offset()))

    def numbered(self, topic: str) -> dict[int, bytes]:
        """The tuples in a topic by their numbers, in order; none is there twice."""
        found = [(int(dict(message.headers())["shoal-sequence"]), message.value()) for message in self.messages(topic)]
        assert len(found) == len(dict(found)), "a number is there twice"
        return dict(sorted(found))


@contextmanager
def cluster(folder: Path, nodes: int = 1, **more: Any) -> Iterator[Cluster]:
    made = Cluster(folder, nodes, **more)
    try:
        for node in made.nodes:
            node.start()
        yield made
    finally:
        for node in made.nodes:
            node.stop(kill=True)
