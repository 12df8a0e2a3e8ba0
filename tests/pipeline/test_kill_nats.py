"""A pipeline from JetStream to JetStream that is killed at any moment, again and again."""

from __future__ import annotations

import asyncio
import json
import random
import ssl
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.js.api import AckPolicy, ConsumerConfig

from connectors.conftest import nats_program  # noqa: F401
from connectors.processes import Broker, nats_server, running
from connectors.test_tls import pair  # noqa: F401
from examples import times
from shoal.audit import Verdict, audit

from .base import kill, place, record, start, wait_until

PIPELINE = """
policy: policy.yaml
source: {{nats: {{url: "{url}", stream: RAW{tls}}}}}
sink: {{nats: {{url: "{url}", stream: CLEAN, subject: clean{tls}}}}}
state: {{dir: state, checkpoint: 50ms, key: {{env: SHOAL_KEY}}}}
trace: trace.jsonl
"""


@pytest.fixture
def broker(nats_program: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:  # noqa: F811
    with running(nats_server(nats_program, tmp_path_factory.mktemp("nats"))) as broker:
        yield broker


def do(url: str, what: Any, authority: Path | None = None) -> Any:
    """What a client of its own does with JetStream."""
    options: dict[str, Any] = {"tls": ssl.create_default_context(cafile=str(authority))} if authority else {}

    async def done() -> Any:
        client = await nats.connect(url, **options)
        try:
            return await what(client.jetstream())
        finally:
            await client.close()

    return asyncio.run(done())


async def streams(js: Any) -> None:
    await js.add_stream(name="RAW", subjects=["raw"])
    await js.add_stream(name="CLEAN", subjects=["clean"])


async def messages(js: Any, stream: str) -> list[Any]:
    """All messages of a stream, in order."""
    count = (await js.stream_info(stream)).state.messages
    reader = await js.pull_subscribe(stream.lower(), stream=stream, config=ConsumerConfig(ack_policy=AckPolicy.NONE))
    found: list[Any] = []
    while len(found) < count:
        found += await reader.fetch(min(count - len(found), 500), timeout=5)
    return found


class Growing(threading.Thread):
    """Publishes records as time goes by, each with the moment at which it is published."""

    def __init__(self, url: str, authority: Path | None = None, rate: int = 400) -> None:
        super().__init__(daemon=True)
        self._authority = authority
        self._url, self._pause, self._done = url, 10 / rate, threading.Event()
        self.count = 0

    def run(self) -> None:
        do(self._url, self._grow, self._authority)

    async def _grow(self, js: Any) -> None:
        while not self._done.is_set():
            now = time.time()
            for i in range(10):
                await js.publish("raw", json.dumps(record(self.count + i, now + i / 10_000)).encode())
            self.count += 10
            await asyncio.sleep(self._pause)

    def end(self) -> int:
        self._done.set()
        self.join()
        return self.count


def survives(folder: Path, broker: Broker, kills: int, seed: int, authority: Path | None = None) -> None:
    """Kill a pipeline so many times while its input grows; in the end every promise was kept."""
    url = f"{'tls' if authority else 'nats'}://127.0.0.1:{broker.port}"
    do(url, streams, authority)
    state = place(folder, window="{time: 300ms}", follow=True).state.dir
    (folder / "pipeline.yaml").write_text(PIPELINE.format(url=url, tls=f", tls: {{ca: {authority}}}" if authority else ""))
    chance, growing = random.Random(seed), Growing(url, authority)
    growing.start()
    for _ in range(kills):
        known = {path.name for path in state.glob("journal-*")}
        process = start(folder / "pipeline.yaml")
        if chance.random() < 0.7:  # else it is killed while it starts
            wait_until(lambda known=known: bool({p.name for p in state.glob("journal-*")} - known))  # type: ignore[misc]
        time.sleep(chance.random() * 0.3)
        kill(process)
    count = growing.end()
    process = start(folder / "pipeline.yaml")
    trace = folder / "trace.jsonl"
    wait_until(lambda: trace.exists() and len(trace.read_bytes().splitlines()) == count)
    process.terminate()
    process.join()
    assert process.exitcode == 0
    raw, clean = (do(url, partial(messages, stream=name), authority) for name in ("RAW", "CLEAN"))
    assert [int(message.headers["Shoal-Sequence"]) for message in clean] == list(range(count))
    for name, found in (("raw", raw), ("clean", clean)):
        (folder / f"{name}.jsonl").write_bytes(b"".join(message.data + b"\n" for message in found))
    report = audit(folder / "policy.yaml", folder / "raw.jsonl", folder / "clean.jsonl", trace=trace)
    assert report.held, [finding for finding in report.promises if finding.verdict == Verdict.BROKEN]


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_broker_that_is_away_for_a_minute(tmp_path: Path, broker: Broker) -> None:
    """The pipeline waits for it, and goes on with what it held and what comes then."""
    url = f"nats://127.0.0.1:{broker.port}"
    do(url, streams)
    place(tmp_path, window="{count: 60}")
    (tmp_path / "pipeline.yaml").write_text(PIPELINE.format(url=url, tls=""))
    process = start(tmp_path / "pipeline.yaml")
    trace = tmp_path / "trace.jsonl"

    def published() -> int:
        return len(trace.read_bytes().splitlines()) if trace.exists() else 0

    async def give(js: Any, numbers: range) -> None:
        for number in numbers:
            await js.publish("raw", json.dumps(record(number)).encode())

    do(url, lambda js: give(js, range(300)))
    wait_until(lambda: published() > 100)
    broker.stop()
    time.sleep(60)
    assert process.is_alive()
    broker.start()
    do(url, lambda js: give(js, range(300, 600)))
    wait_until(lambda: published() > 500)
    process.terminate()
    process.join(10)
    assert process.exitcode == 0
    clean = do(url, lambda js: messages(js, "CLEAN"))
    assert [int(message.headers["Shoal-Sequence"]) for message in clean] == list(range(published()))


def test_nothing_is_lost_or_twice(tmp_path: Path, broker: Broker) -> None:
    survives(tmp_path, broker, kills=6, seed=1)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_nothing_is_lost_or_twice_over_many_kills(tmp_path: Path, broker: Broker) -> None:
    survives(tmp_path, broker, kills=times(200), seed=2)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_tls(
    tmp_path: Path,
    nats_program: str,  # noqa: F811
    pair: tuple[Path, Path],  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    cert, key = pair
    options = ("--tls", "--tlscert", str(cert), "--tlskey", str(key))
    with running(nats_server(nats_program, tmp_path_factory.mktemp("nats"), *options)) as broker:
        survives(tmp_path, broker, kills=times(40), seed=3, authority=cert)
