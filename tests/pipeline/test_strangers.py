"""Strangers at the doors of a pipeline with few descriptors: it goes on, writes its state, and tells how it is."""

from __future__ import annotations

import os
import resource
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from connectors.processes import free_port
from shoal.pipeline import Pipe, PipelineFile
from shoal.telemetry import Telemetry

from .base import _FORKS, KEY, lines, place, record, wait_until

pytestmark = pytest.mark.slow

DESCRIPTORS = 256  # of the pipeline
IDLE = 300  # connections to each door
PIPELINE = """
policy: policy.yaml
source: {{http: {{port: {port}, connections: 1000, peer: 1000, patience: 1s}}}}
sink: {{file: {{path: clean.jsonl}}}}
state: {{dir: state, checkpoint: 100ms, key: {{env: SHOAL_KEY}}}}
trace: trace.jsonl
"""


def _run(path: str, metrics: int) -> None:
    from shoal.web import serve

    os.environ["SHOAL_KEY"] = KEY
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
    pipe = Pipe(PipelineFile.load(path))
    telemetry = pipe.watcher = Telemetry(pipe.policy)
    with serve(telemetry, "127.0.0.1", metrics, None, bare=True):
        pipe.run()


@pytest.fixture
def ports(tmp_path: Path) -> Iterator[tuple[int, int]]:
    place(tmp_path, window="{count: 10}")
    source, metrics = free_port(), free_port()
    (tmp_path / "pipeline.yaml").write_text(PIPELINE.format(port=source))
    process = _FORKS.Process(target=_run, args=(str(tmp_path / "pipeline.yaml"), metrics), daemon=True)
    process.start()
    wait_until(lambda: answers(metrics, "/healthz") and is_taken(source, 0))
    yield source, metrics
    assert process.is_alive()
    process.kill()
    process.join()


def answers(port: int, path: str) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}{path}", timeout=20).status_code == 200
    except httpx.TransportError:
        return False


def is_taken(port: int, first: int) -> bool:
    body = lines(record(first + i) for i in range(20))
    try:
        return httpx.post(f"http://127.0.0.1:{port}/", content=body, timeout=20).status_code == 200
    except httpx.TransportError:
        return False


def opened(port: int, text: bytes, count: int) -> list[socket.socket]:
    found = []
    for _ in range(count):
        client = socket.create_connection(("127.0.0.1", port), timeout=20)
        try:
            client.sendall(text)
        except OSError:
            client.close()
        else:
            found.append(client)
    return found


def test_idle_connections_to_both_doors(tmp_path: Path, ports: tuple[int, int]) -> None:
    source, metrics = ports
    clients = opened(source, b"", IDLE) + opened(metrics, b"GET /met", IDLE) + opened(source, b"POST / HTTP/1.1\r\n", IDLE)
    known = {path.name for path in (tmp_path / "state").glob("checkpoint-*")}
    assert answers(metrics, "/healthz") and answers(metrics, "/metrics")
    assert is_taken(source, 100)
    wait_until(lambda: bool({path.name for path in (tmp_path / "state").glob("checkpoint-*")} - known))
    assert (tmp_path / "clean.jsonl").read_text()
    for client in clients:
        client.close()


def test_bodies_that_never_come(ports: tuple[int, int]) -> None:
    source, metrics = ports
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"
    clients = opened(source, head, IDLE)
    assert answers(metrics, "/healthz") and answers(metrics, "/metrics")
    until = time.monotonic() + 60  # the bodies have one second
    while not is_taken(source, 200):
        assert time.monotonic() < until
    for client in clients:
        client.close()
