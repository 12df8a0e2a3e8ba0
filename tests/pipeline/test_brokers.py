"""Pipelines over MQTT and HTTP: what cannot come again is in the journal."""

from __future__ import annotations

import json
import queue
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import paho.mqtt.client as mqtt
import pytest

from connectors.conftest import mosquitto_broker, mosquitto_program  # noqa: F401
from connectors.processes import Broker, free_port
from shoal.pipeline import Pipe, PipelineFile

from .base import Crash, crashing_at, lines, place, record, wait_until

STATE = "state: {dir: state, checkpoint: 100ms, key: {env: SHOAL_KEY}}"


def pipeline(folder: Path, source: str, sink: str) -> PipelineFile:
    place(folder, window="{count: 60}")
    (folder / "pipeline.yaml").write_text(f"policy: policy.yaml\nsource: {source}\nsink: {sink}\n{STATE}\ntrace: trace.jsonl\n")
    return PipelineFile.load(folder / "pipeline.yaml")


class Running(threading.Thread):
    """A pipeline beside the test."""

    def __init__(self, pipe: Pipe) -> None:
        super().__init__(daemon=True)
        self.pipe, self.error = pipe, None  # type: tuple[Pipe, BaseException | None]

    def run(self) -> None:
        try:
            self.pipe.run()
        except BaseException as error:
            self.error = error

    def end(self, drain: bool = False) -> None:
        self.pipe.stop(drain)
        self.join(20)
        assert not self.is_alive()


def test_mqtt_to_mqtt_over_a_crash(tmp_path: Path, mosquitto_broker: Broker) -> None:  # noqa: F811
    """Each record leaves once; what left since the checkpoint comes again under the same number."""
    place_of = f"host: 127.0.0.1, port: {mosquitto_broker.port}"
    file = pipeline(
        tmp_path, f"{{mqtt: {{{place_of}, topic: raw/+, client: in}}}}", f"{{mqtt: {{{place_of}, topic: clean, client: out}}}}"
    )
    found: queue.SimpleQueue[Any] = queue.SimpleQueue()
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
    client.on_message = lambda c, data, message: found.put((dict(message.properties.UserProperty), message.payload))
    client.connect("127.0.0.1", mosquitto_broker.port)
    client.loop_start()
    client.subscribe("clean", qos=1)
    first = Pipe(file)
    crashing_at(3, "_deliver")(first)
    running = Running(first)
    running.start()
    wait_until(lambda: first._journal is not None)
    for i in range(200):
        client.publish(f"raw/{i % 3}", json.dumps(record(i)), qos=1).wait_for_publish(10)
        if i % 40 == 39:
            wait_until(lambda: first.anonymizer.stats.received == i + 1 or not running.is_alive())  # noqa: B023
    wait_until(lambda: not running.is_alive())
    assert isinstance(running.error, Crash)
    second = Running(Pipe(file))
    second.start()
    wait_until(lambda: second.pipe.anonymizer.stats.received == 200)
    second.end(drain=True)
    assert second.error is None
    wait_until(lambda: found.qsize() >= 200)
    by_number: dict[int, set[bytes]] = {}
    while not found.empty():
        properties, payload = found.get()
        by_number.setdefault(int(properties["shoal-sequence"]), set()).add(payload)
    client.disconnect()
    client.loop_stop()
    assert sorted(by_number) == list(range(200))
    assert all(len(payloads) == 1 for payloads in by_number.values())


def test_http_answers_when_it_is_durable(tmp_path: Path) -> None:
    """What was answered is not lost by a crash, and what was not can be sent again."""
    port = free_port()
    file = pipeline(tmp_path, f"{{http: {{port: {port}}}}}", "{file: {path: clean.jsonl}}")
    answered: list[int] = []

    def post(batches: range) -> None:
        for i in batches:
            body = lines(record(50 * i + j) for j in range(50))
            until = time.monotonic() + 20
            while time.monotonic() < until:
                try:
                    headers = {"Idempotency-Key": str(i), "Content-Type": "application/x-ndjson"}
                    if httpx.post(f"http://127.0.0.1:{port}/", content=body, headers=headers, timeout=5).is_success:
                        answered.append(i)
                        break
                except httpx.TransportError:
                    pass
                time.sleep(0.05)

    first = Pipe(file)
    crashing_at(4, "_publish")(first)
    running, poster = Running(first), threading.Thread(target=post, args=(range(10),), daemon=True)
    running.start()
    poster.start()
    wait_until(lambda: not running.is_alive())
    assert isinstance(running.error, Crash)
    second = Running(Pipe(file))
    second.start()
    poster.join(40)
    assert answered == list(range(10))
    wait_until(lambda: second.pipe.anonymizer.stats.received == 500)
    second.end(drain=True)
    assert second.error is None
    assert len((tmp_path / "clean.jsonl").read_text().splitlines()) == 500
    rows = [json.loads(line)["row"] for line in (tmp_path / "trace.jsonl").read_text().splitlines()]
    assert sorted(rows) == list(range(500))


def test_the_time_of_day_may_jump(tmp_path: Path) -> None:
    """It is told in dead letters, and decides nothing."""
    outputs = []
    for i, today in enumerate((lambda: 1e9, iter(range(10**9, 0, -(10**8))).__next__)):
        folder = tmp_path / str(i)
        folder.mkdir()
        file = place(folder, 100, window="{time: 3s}", more="dead_letters: {file: dead.jsonl}")
        Pipe(file, today=today).run()
        outputs.append((folder / "clean.jsonl").read_bytes())
    assert outputs[0] == outputs[1] != b""


@pytest.mark.parametrize("name", ["mqtt", "nats", "kafka", "http"])
def test_a_pipeline_says_what_it_misses(tmp_path: Path, name: str) -> None:
    from shoal.errors import PolicyError

    with pytest.raises(PolicyError, match=f"source.{name}.*: is missing"):
        pipeline(tmp_path, f"{{{name}: {{}}}}", "stdout")
