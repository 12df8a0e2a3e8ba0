"""More pipelines that are killed at any moment: every algorithm, l and t, lanes, tables as sources, TLS, MQTT, a slow sink."""

from __future__ import annotations

import json
import os
import random
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import httpx
import paho.mqtt.client as mqtt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from connectors.conftest import mosquitto_program  # noqa: F401
from connectors.processes import Broker, free_port, mosquitto, running
from connectors.test_tls import pair  # noqa: F401
from examples import times
from shoal.audit import audit
from shoal.connectors import FileSink
from shoal.connectors.mqtt import HELD
from shoal.pipeline import Pipe

from .base import _FORKS, _run, kill, place, record, start, wait_until
from .test_kill import Growing
from .test_kill_http import Posting

pytestmark = pytest.mark.slow

ALGORITHMS = ("castle", "fads", "fast", "idea", "iot", "kvarp", "tide", "xband")
KINDS = {
    "l": ("{sensitive: true, l: 2}", ""),
    "t": ("{sensitive: true, t: 0.6}", ""),
    "lanes": ("{sensitive: true}", "lanes: 2"),
}


def write_policy(folder: Path, algorithm: str, kind: str = "l", window: str = "{time: 300ms}") -> None:
    text = (folder / "policy.yaml").read_text()
    disease, lanes = KINDS[kind]
    age = ", reuse_age: 600ms" if algorithm == "fast" and "time" in window else ""
    text = text.replace("{sensitive: true}", disease).replace("{name: fads}", f"{{name: {algorithm}{age}}}")
    (folder / "policy.yaml").write_text(f"{text}{lanes}\n")


Begin = Callable[[Path], BaseProcess]


def killed(folder: Path, state: Path, kills: int, chance: random.Random, begin: Begin = start, longest: float = 0.3) -> None:
    """Start a pipeline so many times, and kill it."""
    for _ in range(kills):
        known = {path.name for path in state.glob("journal-*")}
        process = begin(folder / "pipeline.yaml")
        if chance.random() < 0.7:  # else it is killed while it starts
            wait_until(
                lambda known=known, process=process: bool({p.name for p in state.glob("journal-*")} - known)  # type: ignore[misc]
                or not process.is_alive(), 60,
            )  # fmt: skip
        time.sleep(chance.random() * longest)
        kill(process)


def is_complete(folder: Path, count: int) -> bool:
    trace = folder / "trace.jsonl"
    return trace.exists() and len(trace.read_bytes().splitlines()) == count


def received(folder: Path) -> int:
    """How many records the pipeline had read at its newest checkpoint, by its manifest; 0 before the first."""
    manifest = folder / "trace.manifest.json"
    return int(json.loads(manifest.read_text())["moments"][-1][1]) if manifest.exists() else 0


def kept(folder: Path, count: int, source: str = "raw.jsonl") -> None:
    """Every record left once, and every promise was kept."""
    report = audit(folder / "policy.yaml", folder / source, folder / "clean.jsonl", trace=folder / "trace.jsonl")
    assert report["once"].figures["released"] == count and report.held, report.to_dict()


def survives(folder: Path, algorithm: str, kind: str, kills: int) -> None:
    file = place(folder, window="{time: 300ms}", follow=True, checkpoint="50ms")
    write_policy(folder, algorithm, kind)
    growing = Growing(folder / "raw.jsonl")
    growing.start()
    killed(folder, file.state.dir, kills, random.Random(f"{algorithm} {kind}"))
    count = growing.end()
    process = start(folder / "pipeline.yaml")
    wait_until(lambda: received(folder) == count)
    process.terminate()
    process.join()
    last = start(folder / "pipeline.yaml", drain=True)
    last.join()
    assert process.exitcode == last.exitcode == 0
    assert is_complete(folder, count)
    kept(folder, count)


@pytest.mark.parametrize(("algorithm", "kind"), [("tide", "l"), ("fads", "lanes")])
def test_l_and_lanes(tmp_path: Path, algorithm: str, kind: str) -> None:
    survives(tmp_path, algorithm, kind, kills=2)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm(tmp_path: Path, algorithm: str, kind: str) -> None:
    survives(tmp_path, algorithm, kind, kills=times(8))


def table_killed(folder: Path, suffix: str, rows: int, kills: int) -> None:
    file = place(folder, window="{count: 60}", checkpoint="20ms")
    table = pa.Table.from_pylist([record(i) for i in range(rows)])
    if suffix == "parquet":
        pq.write_table(table, folder / "raw.parquet", row_group_size=700)
    else:
        with pa.OSFile(str(folder / "raw.arrow"), "wb") as target, pa.ipc.new_file(target, table.schema) as writer:
            writer.write_table(table, max_chunksize=700)
    text = (folder / "pipeline.yaml").read_text().replace("{path: raw.jsonl, follow: false}", f"{{path: raw.{suffix}}}")
    (folder / "pipeline.yaml").write_text(text)
    killed(folder, file.state.dir, kills, random.Random(suffix), slowly, longest=1.5)
    process = start(folder / "pipeline.yaml")
    process.join()
    assert process.exitcode == 0
    kept(folder, rows, f"raw.{suffix}")


def _run_slowly(path: str, drain: bool) -> None:
    real = FileSink.write

    def write(self: FileSink, batch: pa.RecordBatch, sequence: int) -> None:
        time.sleep(0.02)
        real(self, batch, sequence)

    FileSink.write = write  # type: ignore[method-assign]
    _run(path, drain)


def slowly(path: Path) -> BaseProcess:
    """A pipeline whose sink takes its time."""
    process = _FORKS.Process(target=_run_slowly, args=(str(path), False), daemon=True)
    process.start()
    return process


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_table_as_source(tmp_path: Path, suffix: str) -> None:
    table_killed(tmp_path, suffix, rows=4000, kills=2)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_table_as_source_over_many_kills(tmp_path: Path, suffix: str) -> None:
    table_killed(tmp_path, suffix, rows=times(60_000), kills=times(30))


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_slow_sink(tmp_path: Path) -> None:
    """Records come faster than the sink takes them: they wait in the source, and none is lost."""
    file = place(tmp_path, window="{time: 300ms}", follow=True, checkpoint="50ms")
    growing = Growing(tmp_path / "raw.jsonl", rate=2000)
    growing.start()
    killed(tmp_path, file.state.dir, 20, random.Random(5), slowly)
    count = growing.end()
    process = start(tmp_path / "pipeline.yaml")
    wait_until(lambda: is_complete(tmp_path, count))
    process.terminate()
    process.join()
    kept(tmp_path, count)


class PostingOverTls(Posting):
    """As its base, with a certificate that only this client knows."""

    def __init__(self, port: int, path: Path, certificate: Path) -> None:
        super().__init__(port, path)
        self._url = f"https://127.0.0.1:{port}/"
        self._client = httpx.Client(verify=ssl.create_default_context(cafile=str(certificate)))

    def _is_taken(self, body: str) -> bool:
        try:
            return self._client.post(self._url, content=body, headers={"Idempotency-Key": str(self.count)}).status_code == 200
        except httpx.TransportError:
            return False


def tls_killed(folder: Path, pair: tuple[Path, Path], kills: int) -> None:  # noqa: F811
    port = free_port()
    state = place(folder, window="{time: 300ms}", follow=True, checkpoint="50ms").state.dir
    cert, key = pair
    text = (folder / "pipeline.yaml").read_text()
    source = f"{{http: {{port: {port}, tls: {{cert: {cert}, key: {key}}}}}}}"
    (folder / "pipeline.yaml").write_text(text.replace("{file: {path: raw.jsonl, follow: true}}", source))
    posting = PostingOverTls(port, folder / "raw.jsonl", cert)
    posting.start()
    killed(folder, state, kills, random.Random(3), longest=0.5)
    process = start(folder / "pipeline.yaml")
    count = posting.end()
    wait_until(lambda: is_complete(folder, count))
    process.terminate()
    process.join()
    assert count and posting.repeated
    kept(folder, count)


def test_tls(tmp_path: Path, pair: tuple[Path, Path]) -> None:  # noqa: F811
    tls_killed(tmp_path, pair, kills=2)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_tls_over_many_kills(tmp_path: Path, pair: tuple[Path, Path]) -> None:  # noqa: F811
    tls_killed(tmp_path, pair, kills=times(40))


@pytest.fixture
def broker(mosquitto_program: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:  # noqa: F811
    with running(mosquitto(mosquitto_program, tmp_path_factory.mktemp("mosquitto"))) as broker:
        yield broker


class Publishing(threading.Thread):
    """Publishes records one by one, each acknowledged by the broker."""

    def __init__(self, port: int, authority: Path | None = None) -> None:
        super().__init__(daemon=True)
        self._authority = authority
        self._port, self._done, self.count = port, threading.Event(), 0

    def run(self) -> None:
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        if self._authority:
            client.tls_set(str(self._authority))
        client.connect("127.0.0.1", self._port)
        client.loop_start()
        while not self._done.wait(0.02):
            sent = [record(self.count + i, time.time(), n=self.count + i) for i in range(10)]
            for info in [client.publish("raw", json.dumps(each), qos=1) for each in sent]:
                info.wait_for_publish(10)
            self.count += 10
        client.loop_stop()
        client.disconnect()

    def end(self) -> int:
        self._done.set()
        self.join()
        return self.count


def _run_noted(path: str, drain: bool) -> None:
    """Note what the source gives, and as which records: what was given last at a place is what was taken in there."""
    notes = os.open(Path(path).parent / "notes.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    real = Pipe._deliver

    def deliver(self: Pipe, payloads: Sequence[Any], position: Any) -> None:
        given = [payload.decode() for payload in payloads]
        os.write(notes, (json.dumps([self.anonymizer.received, os.getpid(), given]) + "\n").encode())
        real(self, payloads, position)

    Pipe._deliver = deliver  # type: ignore[method-assign]
    _run(path, drain)


def noted(path: Path) -> BaseProcess:
    process = _FORKS.Process(target=_run_noted, args=(str(path), False), daemon=True)
    process.start()
    return process


def notes(folder: Path) -> list[tuple[int, int, list[str]]]:
    return [tuple(json.loads(line)) for line in (folder / "notes.jsonl").read_text().splitlines()]


def taken_in(folder: Path) -> list[str]:
    taken: dict[int, str] = {}
    for first, _, given in notes(folder):
        taken |= dict(enumerate(given, first))
    return [taken[i] for i in range(received(folder))]


def mqtt_killed(folder: Path, broker: Broker, kills: int, authority: Path | None = None) -> None:
    """Nothing is lost, and only what was not acknowledged at a kill comes twice; all that was taken in leaves once."""
    state = place(folder, window="{time: 300ms}", follow=True, checkpoint="50ms").state.dir
    text = (folder / "pipeline.yaml").read_text()
    tls = f", tls: {{ca: {authority}}}" if authority else ""
    source = f"{{mqtt: {{host: 127.0.0.1, port: {broker.port}, topic: raw, client: killed{tls}}}}}"
    (folder / "pipeline.yaml").write_text(text.replace("{file: {path: raw.jsonl, follow: true}}", source))
    first = noted(folder / "pipeline.yaml")
    wait_until(lambda: any(state.glob("journal-*")))
    time.sleep(0.5)  # the broker keeps its session from now on
    publishing = Publishing(broker.port, authority)
    publishing.start()
    time.sleep(0.3)
    kill(first)
    killed(folder, state, kills, random.Random(4), noted)
    count = publishing.end()
    process = noted(folder / "pipeline.yaml")
    wait_until(lambda: {json.loads(each)["n"] for each in taken_in(folder)} == set(range(count)))
    process.terminate()
    process.join()
    last = start(folder / "pipeline.yaml", drain=True)
    last.join()
    assert process.exitcode == last.exitcode == 0
    taken = taken_in(folder)
    assert {json.loads(each)["n"] for each in taken} == set(range(count))
    given = [(process, each) for _, process, some in notes(folder) for each in some]
    assert len(given) == len(set(given))  # twice, if at all, to two processes
    assert len(taken) - count <= HELD * (kills + 1)
    (folder / "raw.jsonl").write_text("".join(f"{each}\n" for each in taken))
    kept(folder, len(taken))


def test_mqtt(tmp_path: Path, broker: Broker) -> None:
    mqtt_killed(tmp_path, broker, kills=2)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_mqtt_over_many_kills(tmp_path: Path, broker: Broker) -> None:
    mqtt_killed(tmp_path, broker, kills=times(40))


@pytest.mark.long
@pytest.mark.timeout(900)
def test_mqtt_over_tls(
    tmp_path: Path,
    mosquitto_program: str,  # noqa: F811
    pair: tuple[Path, Path],  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    cert, key = pair
    lines = ("allow_anonymous true", f"certfile {cert}", f"keyfile {key}")
    with running(mosquitto(mosquitto_program, tmp_path_factory.mktemp("mosquitto"), *lines)) as broker:
        mqtt_killed(tmp_path, broker, kills=times(20), authority=cert)
