"""A pipeline from topic to topic that is killed at any moment, again and again, and so is its broker."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from confluent_kafka import Producer

from connectors.conftest import kafka_program  # noqa: F401
from connectors.kafka_broker import QUIET, Cluster, cluster
from connectors.test_kafka_secure import server
from connectors.test_tls import pair  # noqa: F401
from examples import times
from shoal.audit import Verdict, audit
from shoal.connectors import kafka_link, kafka_sink
from shoal.connectors.connector import Payload
from shoal.connectors.kafka_source import KafkaSource
from shoal.pipeline import Pipe, PipelineFile

from .base import _FORKS, KEY, kill, place, record, wait_until

PARTITIONS = 4
PIPELINE = """
policy: policy.yaml
source: {{kafka: {{brokers: "{brokers}", topic: raw, group: shoal, options: {options}}}}}
sink: {{kafka: {{brokers: "{brokers}", topic: clean, id: shoal, options: {options}}}}}
state: {{dir: state, checkpoint: 100ms, key: {{env: SHOAL_KEY}}}}
trace: trace.jsonl
"""


class Noted(KafkaSource):
    """Notes which records it delivered, and in what order, since several partitions have no order of their own."""

    def _delivered(self, some: list[object]) -> list[Payload]:
        payloads = super()._delivered(some)
        numbers = [json.loads(payload)["n"] for payload in payloads]  # type: ignore[arg-type]
        line = json.dumps([self._messages - len(payloads), numbers]) + "\n"
        os.write(self.notes, line.encode())  # type: ignore[attr-defined]
        return payloads


def _run(path: str) -> None:
    os.environ["SHOAL_KEY"] = KEY
    kafka_link.PATIENCE = kafka_sink.PATIENCE = 60.0  # the broker was just started, on a busy machine
    pipe = Pipe(PipelineFile.load(path))
    fields = pipe.source.fields
    pipe.source = Noted(pipe.file.source.settings)  # type: ignore[arg-type]
    pipe.source.fields = fields
    notes = Path(path).parent / "notes.jsonl"
    pipe.source.notes = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)  # type: ignore[attr-defined]
    signal.signal(signal.SIGTERM, lambda number, frame: pipe.stop())
    pipe.run()


def start(folder: Path) -> BaseProcess:
    process = _FORKS.Process(target=_run, args=(str(folder / "pipeline.yaml"),), daemon=True)
    process.start()
    return process


def order(folder: Path) -> list[int]:
    """The records in the order in which they were taken in: what was delivered last at a place is what was taken in."""
    taken: dict[int, int] = {}
    for line in (folder / "notes.jsonl").read_text().splitlines():
        first, numbers = json.loads(line)
        taken |= {first + i: number for i, number in enumerate(numbers)}
    return [taken[i] for i in range(len(taken))]


class Growing(threading.Thread):
    """Publishes records as time goes by, each with the moment at which it is published."""

    def __init__(self, found: Cluster, rate: int = 400) -> None:
        super().__init__(daemon=True)
        options = {**QUIET, **found.client, "enable.idempotence": True, "linger.ms": 2}
        self._producer, self._pause, self._done = Producer(options), 10 / rate, threading.Event()
        self.records: list[dict[str, object]] = []

    def run(self) -> None:
        while not self._done.is_set():
            now = time.time()
            for i in range(10):
                n = len(self.records)
                self.records.append(record(n, now + i / 10_000, n=n))
                self._producer.produce("raw", json.dumps(self.records[-1]), key=str(n))
            self._producer.poll(0)
            time.sleep(self._pause)

    def end(self) -> list[dict[str, object]]:
        self._done.set()
        self.join()
        assert self._producer.flush(60) == 0
        return self.records


def begun(folder: Path, found: Cluster) -> Path:
    """The files of a pipeline and its topics; the folder of its state."""
    for topic in ("raw", "clean"):
        found.create(topic, PARTITIONS)
    state = place(folder, window="{time: 300ms}").state.dir
    options = json.dumps({name: value for name, value in found.client.items() if name != "bootstrap.servers"})
    (folder / "pipeline.yaml").write_text(PIPELINE.format(brokers=found.brokers, options=options))
    return state


def finished(folder: Path, found: Cluster, process: BaseProcess, records: list[dict[str, object]]) -> None:
    """Wait until all records have left; then every promise was kept."""
    trace = folder / "trace.jsonl"
    wait_until(lambda: trace.exists() and len(trace.read_bytes().splitlines()) == len(records))
    process.terminate()
    process.join(60)
    assert process.exitcode == 0
    clean, taken = found.numbered("clean"), order(folder)
    assert list(clean) == list(range(len(records)))
    assert sorted(taken) == list(range(len(records)))
    (folder / "clean.jsonl").write_bytes(b"".join(value + b"\n" for value in clean.values()))
    (folder / "raw.jsonl").write_text("".join(json.dumps(records[n]) + "\n" for n in taken))
    report = audit(folder / "policy.yaml", folder / "raw.jsonl", folder / "clean.jsonl", trace=trace)
    assert report.held, [finding for finding in report.promises if finding.verdict == Verdict.BROKEN]


def journals(state: Path) -> set[str]:
    return {path.name for path in state.glob("journal-*")}


def is_up(process: BaseProcess) -> bool:
    assert process.is_alive(), "the pipeline ended"
    return True


def survives(folder: Path, found: Cluster, kills: int, of_broker: int, seed: int) -> None:
    """Kill a pipeline so many times while its input grows, and its broker between."""
    state = begun(folder, found)
    chance, growing = random.Random(seed), Growing(found)
    growing.start()
    falls = set(chance.sample(range(kills), of_broker))
    for i in range(kills):
        known = journals(state)
        process = start(folder)
        if i in falls or chance.random() < 0.7:  # else it is killed while it starts
            wait_until(lambda known=known: is_up(process) and bool(journals(state) - known))  # type: ignore[misc] # noqa: B023
        time.sleep(chance.random() * 0.3)
        if i in falls:
            found.nodes[0].stop(kill=True)
            time.sleep(chance.random() * 0.3)
            found.nodes[0].start()
            time.sleep(chance.random())
            assert process.is_alive(), "the pipeline waits for its broker"
        kill(process)
    records = growing.end()
    finished(folder, found, start(folder), records)


@pytest.fixture
def alone(kafka_program: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:  # noqa: F811
    with cluster(tmp_path_factory.mktemp("kafka")) as found:
        yield found


def test_nothing_is_lost_or_twice(tmp_path: Path, alone: Cluster) -> None:
    survives(tmp_path, alone, kills=12, of_broker=2, seed=1)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_nothing_is_lost_or_twice_over_many_kills(tmp_path: Path, alone: Cluster) -> None:
    survives(tmp_path, alone, kills=times(200), of_broker=times(20), seed=2)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_mutual_tls(
    tmp_path: Path,
    kafka_program: None,  # noqa: F811
    pair: tuple[Path, Path],  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder, (cert, key) = tmp_path_factory.mktemp("kafka"), pair
    options = {
        "security.protocol": "ssl", "ssl.ca.location": str(cert), "ssl.certificate.location": str(cert),
        "ssl.key.location": str(key),
    }  # fmt: skip
    settings = {**server(folder, pair), "ssl.client.auth": "required"}
    with cluster(folder, listener="SSL", settings=settings, client=options) as found:
        survives(tmp_path, found, kills=times(40), of_broker=2, seed=3)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_one_of_three_brokers_is_killed(
    tmp_path: Path,
    kafka_program: None,  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The one that coordinates the transactions: another takes over, and nothing is lost or twice."""
    with cluster(tmp_path_factory.mktemp("kafka"), nodes=3, settings={"min.insync.replicas": 2}) as found:
        state, growing = begun(tmp_path, found), Growing(found, rate=200)
        growing.start()
        process = start(tmp_path)
        wait_until(lambda: state.exists() and len(list(state.glob("journal-*"))) > 0)
        wait_until(lambda: (tmp_path / "trace.jsonl").exists() and (tmp_path / "trace.jsonl").stat().st_size > 1000)
        leader = found.admin.list_topics(timeout=60).topics["__transaction_state"].partitions[0].leader
        found.nodes[leader].stop(kill=True)
        size = (tmp_path / "trace.jsonl").stat().st_size
        wait_until(lambda: (tmp_path / "trace.jsonl").stat().st_size > size + 1000, 300)
        found.nodes[leader].start()
        records = growing.end()
        finished(tmp_path, found, process, records)
