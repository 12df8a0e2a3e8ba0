"""A pipeline that is killed while records are posted to it, by a client that posts again what was not answered."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path

import httpx
import pytest

from connectors.processes import free_port
from shoal.audit import audit

from .base import kill, lines, place, record, start, wait_until

pytestmark = pytest.mark.slow

PIPELINE = """
policy: policy.yaml
source: {{http: {{port: {port}}}}}
sink: {{file: {{path: clean.jsonl}}}}
state: {{dir: state, checkpoint: 50ms, key: {{env: SHOAL_KEY}}}}
trace: trace.jsonl
"""


class Posting(threading.Thread):
    """Posts ten records at a time, each batch until it is answered 200, and keeps what was answered."""

    def __init__(self, port: int, path: Path) -> None:
        super().__init__(daemon=True)
        self._url, self._path, self._done = f"http://127.0.0.1:{port}/", path, threading.Event()
        self.count = 0
        self.repeated = 0

    def run(self) -> None:
        with self._path.open("a") as file:
            while not self._done.wait(0.02):
                now = time.time()
                body = lines(record(self.count + i, now + i / 10_000) for i in range(10))
                while not self._is_taken(body):
                    self.repeated += 1
                    time.sleep(0.02)
                file.write(body)
                self.count += 10

    def _is_taken(self, body: str) -> bool:
        try:
            return httpx.post(self._url, content=body, headers={"Idempotency-Key": str(self.count)}).status_code == 200
        except httpx.TransportError:
            return False

    def end(self) -> int:
        self._done.set()
        self.join()
        return self.count


def test_nothing_is_lost_or_twice(tmp_path: Path) -> None:
    port = free_port()
    state = place(tmp_path, window="{time: 300ms}", follow=True).state.dir
    (tmp_path / "pipeline.yaml").write_text(PIPELINE.format(port=port))
    chance, posting = random.Random(1), Posting(port, tmp_path / "raw.jsonl")
    posting.start()
    for _ in range(4):
        known = {path.name for path in state.glob("journal-*")}
        process = start(tmp_path / "pipeline.yaml")
        wait_until(lambda known=known: bool({p.name for p in state.glob("journal-*")} - known))  # type: ignore[misc]
        time.sleep(chance.random() * 0.5)
        kill(process)
    process = start(tmp_path / "pipeline.yaml")
    count = posting.end()
    trace = tmp_path / "trace.jsonl"
    wait_until(lambda: len(trace.read_bytes().splitlines()) == count)
    process.terminate()
    process.join()
    assert process.exitcode == 0
    assert posting.repeated
    assert len((tmp_path / "clean.jsonl").read_bytes().splitlines()) == count > 0
    report = audit(tmp_path / "policy.yaml", tmp_path / "raw.jsonl", tmp_path / "clean.jsonl", trace=trace)
    assert report.held, report.to_dict()
