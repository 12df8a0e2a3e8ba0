"""A pipeline between brokers, beside a client that only passes messages through."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import subprocess
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa

from shoal.anonymizer import Anonymizer
from shoal.bench import kafka
from shoal.bench.benchmark import Figures
from shoal.errors import ShoalError
from shoal.pipeline import Pipe, PipelineFile

POLICY = """
person: pid
attributes: {age: {quasi: numeric, range: [0, 100], grid: 5}, pulse: {quasi: numeric, range: [30, 220], grid: 5}}
privacy: {k: 10}
window: {count: 500}
algorithm: {name: fads}
"""
STATE = "state: {dir: state, checkpoint: 5s, key: {env: SHOAL_BENCH_KEY}}"
NEEDED = {"nats": ("nats",), "kafka": ("confluent_kafka",), "http": ("httpx", "starlette", "uvicorn")}
MESSAGES = 20_000
POSTED = 400_000
BATCH = 20_000


def measure(home: Path, rounds: int, most: int, step: Callable[[str, int, int], None]) -> list[Figures]:
    """One row for each broker that is installed, over at most so many tuples.

    `rate` is in tuples per second, `alone` in messages a second of a client that only passes them through.
    """
    (home / "policy.yaml").write_text(POLICY)
    parts: dict[str, Callable[[Path, int, int], Figures]] = {"nats": _nats, "kafka": _kafka, "http": _http}
    lacking, found = absent(), []
    for i, (name, part) in enumerate(parts.items()):
        if name not in lacking:
            step(f"a pipeline over {name}", i, len(parts))
            found.append(part(home, rounds, most))
    return found


def absent() -> list[str]:
    """Brokers whose client, or whose server, is not installed."""
    lacking = [name for name, needed in NEEDED.items() if not all(map(find_spec, needed))]
    servers = {"nats": _nats_program() is not None, "kafka": kafka.is_there()}
    return [name for name in NEEDED if name in lacking or not servers.get(name, True)]


def records(count: int) -> list[dict[str, Any]]:
    """Records that the policy fits, a fifth of them without a pulse."""
    return [{"pid": i % 4000, "age": i * 7 % 100, "pulse": None if i % 5 == 0 else 30 + i * 13 % 190} for i in range(count)]


class _Finish:
    """Lets a pipeline end once it has taken in so many records."""

    pipe: Pipe | None = None

    def __init__(self, count: int) -> None:
        self._count = count

    def after(self, anonymizer: Anonymizer, answer: Any) -> None:
        if anonymizer.stats.received >= self._count and self.pipe:
            self.pipe.stop(drain=True)

    def started(self, stats: Any) -> None: ...

    def checkpointed(self, seconds: float, size: int) -> None: ...

    def lag(self, waiting: int | None) -> None: ...

    def phase(self, name: str) -> None: ...

    def failed(self, reason: str) -> None: ...

    def stopped(self, reason: str) -> None: ...


def _piped(home: Path, source: str, sink: str, count: int, feed: Callable[[], None] | None = None) -> float:
    """Seconds that a pipeline takes from when it is connected to its end."""
    shutil.rmtree(home / "state", ignore_errors=True)
    for old in home.glob("clean.*"):
        old.unlink()
    finish = _Finish(count)
    text = f"policy: policy.yaml\nsource: {source}\nsink: {sink}\n{STATE}"
    pipe = finish.pipe = Pipe(PipelineFile.parse(text, home), watcher=finish)
    flow, seconds = pipe._flow, 0.0

    def timed(*arguments: Any) -> None:
        nonlocal seconds
        start = time.perf_counter()
        flow(*arguments)
        seconds = time.perf_counter() - start

    pipe._flow = timed  # type: ignore[assignment, method-assign]
    if feed:
        threading.Thread(target=feed, daemon=True).start()
    pipe.run()
    return seconds


def _port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _nats_program() -> str | None:
    return shutil.which("nats-server", path=sysconfig.get_path("scripts")) or shutil.which("nats-server")


@contextmanager
def _nats_server(folder: Path) -> Iterator[str]:
    program, port = _nats_program(), _port()
    assert program
    command = [program, "-js", "-sd", str(folder), "-a", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 20
        while not _listens(port):
            if process.poll() is not None or time.monotonic() > until:
                raise ShoalError("nats-server: does not start; run it by hand to see why")
            time.sleep(0.02)
        yield f"nats://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


def _nats(home: Path, rounds: int, most: int) -> Figures:
    count = min(MESSAGES, most)
    import nats
    from nats.js.api import AckPolicy, ConsumerConfig

    async def with_stream(url: str, work: Callable[[Any], Any]) -> Any:
        client = await nats.connect(url)
        try:
            return await work(client.jetstream())
        finally:
            await client.close()

    async def fill(js: Any) -> None:
        await js.add_stream(name="RAW", subjects=["raw"])
        await js.add_stream(name="CLEAN", subjects=["clean"])
        payloads = [json.dumps(record).encode() for record in records(count)]
        for i in range(0, count, 1000):
            await asyncio.gather(*(js.publish("raw", payload) for payload in payloads[i : i + 1000]))

    async def empty(js: Any) -> None:
        await js.delete_stream("CLEAN")
        await js.add_stream(name="CLEAN", subjects=["clean"])

    async def passed_through(js: Any) -> float:
        start, done = time.perf_counter(), 0
        reader = await js.pull_subscribe("raw", stream="RAW", config=ConsumerConfig(ack_policy=AckPolicy.ALL))
        while done < count:
            some = await reader.fetch(1000, timeout=5)
            await asyncio.gather(*[await js.publish_async("clean", message.data) for message in some])
            await some[-1].ack()
            done += len(some)
        return time.perf_counter() - start

    alone, piped = [], []
    with _nats_server(home / "jetstream") as url:
        asyncio.run(with_stream(url, fill))
        place = f'url: "{url}"'
        for i in range(rounds):
            alone.append(asyncio.run(with_stream(url, passed_through)))
            asyncio.run(with_stream(url, empty))
            sink = f"{{nats: {{{place}, stream: CLEAN, subject: clean}}}}"
            piped.append(_piped(home, f"{{nats: {{{place}, stream: RAW, durable: shoal{i}}}}}", sink, count))
            asyncio.run(with_stream(url, empty))
    rate, own = count / median(piped), count / median(alone)
    return {"name": "JetStream to JetStream", "tuples": count, "rate": rate, "alone": own}


def _kafka(home: Path, rounds: int, most: int) -> Figures:
    """Topic to topic, beside a loop of the same client with the same transactions that parses each record and writes it."""
    count = min(30 * MESSAGES, most)
    piped, alone = [], []
    with kafka.broker(home / "kafka") as brokers:
        payloads = [json.dumps(record).encode() for record in records(count)]
        for i in range(rounds):
            kafka.fill(brokers, f"raw{i}", f"clean{i}", f"plain{i}", payloads)
            source = f'{{kafka: {{brokers: "{brokers}", topic: raw{i}, group: shoal{i}}}}}'
            sink = f'{{kafka: {{brokers: "{brokers}", topic: clean{i}, id: shoal{i}}}}}'
            alone.append(kafka.plain_loop(brokers, f"raw{i}", f"plain{i}", count))
            piped.append(_piped(home, source, sink, count))
    return {"name": "Kafka to Kafka", "tuples": count, "rate": count / median(piped), "alone": count / median(alone)}


def _http(home: Path, rounds: int, most: int) -> Figures:
    count = min(POSTED, most) // BATCH * BATCH or BATCH
    import httpx

    batch = pa.RecordBatch.from_pylist(records(BATCH))
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, batch.schema) as writer:
        writer.write_batch(batch)
    body = out.getvalue().to_pybytes()
    piped = []
    for _ in range(rounds):
        port = _port()

        def feed(port: int = port) -> None:
            kind = {"Content-Type": "application/vnd.apache.arrow.stream"}
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, headers=kind) as client:
                for i in range(count // BATCH):
                    while True:
                        try:
                            client.post("/", content=body, headers={"Idempotency-Key": str(i)}).raise_for_status()
                            break
                        except httpx.TransportError:
                            time.sleep(0.02)

        source = f"{{http: {{port: {port}, format: arrow}}}}"
        piped.append(_piped(home, source, "{file: {path: clean.jsonl}}", count, feed))
    return {"name": "HTTP (Arrow) to a file", "tuples": count, "rate": count / median(piped), "alone": None}
