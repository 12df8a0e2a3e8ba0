"""A pipeline: file to file against `shoal run`, and over brokers; how late tuples leave; how long checkpoints take."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import shoal
from shoal.bench import brokers
from shoal.bench import tables as into
from shoal.bench.benchmark import Benchmark, Figures
from shoal.bench.data import write_stream
from shoal.bench.machine import bound_to
from shoal.bench.table import NOTHING, Table, count, rate, times
from shoal.bench.timing import Task
from shoal.connectors import Delivery, Position, Sink, Source
from shoal.formats import lines
from shoal.pipeline import Pipe, PipelineFile

FORMATS = ("jsonl", "csv")
RATE = 1_000  # tuples per second whose lateness is measured
HELD = 100_000  # tuples that wait while checkpoints are written
ALGORITHMS = ("tide", "fads")  # whose lateness is measured

_POLICY = """
person: pid
time: {field: t}
attributes: {age: {quasi: numeric, range: [0, 100], grid: 5}, note: {publish: keep}}
privacy: {k: 10}
window: {time: WINDOW}
algorithm: {name: ALGORITHM}
"""
_PIPELINE = """
policy: policy.yaml
source: {file: {path: SOURCE}}
sink: {file: {path: TARGET}}
state: {dir: state, checkpoint: EVERY, key: {env: SHOAL_BENCH_KEY}}
"""


def measure(bench: Benchmark) -> Figures:
    os.environ["SHOAL_BENCH_KEY"] = os.urandom(32).hex()
    w, home = bench.workload, bench.home
    rows = _files(bench, home)
    over = brokers.measure(home, w.rounds, w.large, bench.step)
    with bound_to(bench.cores):
        written = into.measure(home, w.rounds, w.large, bench.step)
    bench.step(f"lateness at {RATE:,} tuples per second", 0, 1)
    seconds = 10.0 if w.large >= HELD else 2.0
    lateness = {name: _lateness(home, seconds, name) for name in ALGORITHMS}
    held = min(HELD, w.large)
    bench.step(f"checkpoints of {held:,} held tuples", 0, 1)
    pauses, size = _pauses(home, held)
    return {
        "rows": rows,
        "brokers": over,
        "tables": written,
        "absent": [*brokers.absent(), *into.absent()],
        "seconds": seconds,  # for which tuples came at RATE
        "lateness": lateness,  # milliseconds beyond the deadline, by algorithm
        "held": held,
        "pauses": pauses,  # milliseconds for which checkpoints held the stream up
        "size": size,  # bytes of a checkpoint
    }


def _files(bench: Benchmark, home: Path) -> list[Figures]:
    tuples = bench.workload.large
    bench.adult.write_policy(bench.first, bench.workload, home)
    policy, tasks = bench.policy(bench.first), []
    for kind in FORMATS:
        source, target = home / f"raw.{kind}", home / f"clean.{kind}"
        write_stream(bench.stream(tuples), source)
        remove = partial(_remove, home, target)
        tasks.append(Task(f"shoal run, {kind}", partial(shoal.run, policy, source, target), tuples, prepare=remove))
        tasks.append(Task(f"shoal pipe, {kind}", partial(_piped, home, source, target), tuples, prepare=remove))
    timed = bench.timed(tasks)
    return [
        {"format": kind, "run": run.timing, "pipe": pipe.timing, "ratio": pipe.timing["rate"] / run.timing["rate"]}
        for kind, run, pipe in zip(FORMATS, timed[::2], timed[1::2], strict=True)
    ]


def _remove(home: Path, target: Path) -> None:
    """The output and the state of the last run."""
    target.unlink(missing_ok=True)
    for path in (home / "state").glob("*"):
        path.unlink()


def _pipeline(home: Path, source: Path, target: Path, every: str) -> PipelineFile:
    written = _PIPELINE.replace("SOURCE", source.name).replace("TARGET", target.name).replace("EVERY", every)
    return PipelineFile.parse(written, home)


def _piped(home: Path, source: Path, target: Path) -> None:
    Pipe(_pipeline(home, source, target, "5s")).run()


class _SteadySource(Source):
    """Gives records at an even rate, each with its moment of arrival."""

    replays = True

    def __init__(self, tuples: int, rate: float, each: Callable[[int, float], dict[str, Any]], most: int = 100) -> None:
        self._tuples, self._rate, self._each, self._most = tuples, rate, each, most
        self._given, self._start = 0, time.time()

    def begin(self, position: Position | None) -> Position:
        self._start = time.time()
        return {}

    def read(self, seconds: float) -> Delivery | None:
        due = int((time.time() - self._start) * self._rate)
        if due <= self._given:
            time.sleep(min(seconds, 1 / self._rate))
            return None
        due = min(due, self._given + self._most, self._tuples)
        now = time.time()
        records = [self._each(i, now) for i in range(self._given, due)]
        self._given = due
        self.ended = due == self._tuples
        return Delivery([lines(pa.RecordBatch.from_pylist(records))], {})

    def acknowledge(self, position: Position) -> None: ...

    def close(self) -> None: ...


class _LatenessSink(Sink):
    """Notes how late each tuple is written, by the moment of its arrival, which it carries."""

    remembers = True

    def __init__(self) -> None:
        self.late: list[float] = []
        self.saving: list[bool] = []  # whether a checkpoint was written at that moment
        self.window = 0.0
        self.is_saving: Callable[[], bool] = bool

    def begin(self, mark: Position | None, sequence: int) -> None: ...

    def write(self, batch: pa.RecordBatch, sequence: int) -> None:
        now = time.time()
        self.late += [now - float(note) - self.window for note in batch["note"].to_pylist()]
        self.saving += [self.is_saving()] * len(batch)

    def caught_up(self, sequence: int) -> None: ...

    def close(self) -> None: ...


def _watched(home: Path, window: str, source: _SteadySource, every: str, algorithm: str = "fads") -> Pipe:
    _remove(home, home / "clean.jsonl")
    (home / "policy.yaml").write_text(_POLICY.replace("WINDOW", window).replace("ALGORITHM", algorithm))
    pipe = Pipe(_pipeline(home, home / "raw.jsonl", home / "clean.jsonl", every))
    source.fields, source.passed = pipe.source.fields, pipe.source.passed
    pipe.source, pipe.sink = source, _LatenessSink()
    return pipe


def _lateness(home: Path, seconds: float, algorithm: str) -> dict[str, float]:
    """Milliseconds from the deadline to the moment a tuple was written, of those that waited until then.

    A checkpoint is written every 200 ms; what left meanwhile is also counted by itself.
    """
    source = _SteadySource(int(seconds * RATE), RATE, lambda i, now: {"pid": i, "t": now, "age": i * 7 % 100, "note": now})
    pipe = _watched(home, "1s", source, "200ms", algorithm)
    sink = pipe.sink
    assert isinstance(sink, _LatenessSink)
    sink.window = 1.0
    sink.is_saving = lambda: pipe._is_saving
    pipe.run()
    late, saving = np.array(sink.late) * 1000, np.array(sink.saving)
    waited = late >= 0
    meanwhile = late[waited & saving]
    return {
        "median": float(np.median(late[waited])),
        "p99": float(np.percentile(late[waited], 99)),
        "most": float(late.max()),
        "saving": float(np.percentile(meanwhile, 99)) if len(meanwhile) else 0.0,
    }


def _pauses(home: Path, held: int) -> tuple[list[float], int]:
    """Milliseconds that the stream stands still while checkpoints are begun, with many tuples held."""
    note = "x" * 40
    source = _SteadySource(
        held + held // 5, held // 2, lambda i, now: {"pid": i % 5000, "t": now, "age": i * 7 % 100, "note": note}, most=5_000
    )
    pipe = _watched(home, "1h", source, "100ms")
    pauses: list[float] = []
    save = pipe._save

    def timed(*arguments: Any) -> None:
        start = time.perf_counter()
        save(*arguments)
        if pipe._held >= held:
            pauses.append(1000 * (time.perf_counter() - start))

    pipe._save = timed  # type: ignore[assignment, method-assign]
    pipe.sink.window = 0.0  # type: ignore[attr-defined]
    pipe.sink.write = lambda batch, sequence: None  # type: ignore[method-assign]
    pipe.run()
    size = max(path.stat().st_size for path in (home / "state").glob("checkpoint-*"))
    return pauses, size


def tables(result: Figures) -> list[Table]:
    header = ("format", "shoal run, tuples/s", "shoal pipe, tuples/s", "ratio")
    rows = [(row["format"], rate(row["run"]["rate"]), rate(row["pipe"]["rate"]), times(row["ratio"])) for row in result["rows"]]
    pauses = result["pauses"]
    notes = [
        *(
            f"At {RATE:,} tuples per second for {result['seconds']:g} s, {name} lets tuples leave after their deadline by "
            f"{late['median']:.1f} ms (median), {late['p99']:.1f} ms (99 %), {late['most']:.1f} ms (the most); by "
            f"{late['saving']:.1f} ms (99 %) while a checkpoint is written."
            for name, late in result["lateness"].items()
        ),
        f"With {count(result['held'])} tuples held, a checkpoint ({result['size'] / 1e6:.1f} MB) holds the stream up for "
        f"{np.median(pauses):.0f} ms (median of {len(pauses)}), {max(pauses):.0f} ms (the most)." if pauses else "",
    ]  # fmt: skip
    over = _compared(result["brokers"])
    alone = [
        "Alone: what the client itself passes through, message by message; with Kafka it also parses and changes each record, "
        "in transactions of about the same size."
    ]
    if result["absent"]:
        (alone if over else notes).append(f"Not measured, since they are not installed: {', '.join(result['absent'])}.")
    brokered = Table("A pipeline over brokers", ("", "tuples", "tuples/s", "alone, messages/s", "ratio"), over, alone)
    written = [
        (row["name"], rate(row["alone"]), rate(row["sink"]), times(row["sink"] / row["alone"]),
         rate(row["rate"]), times(row["rate"] / row["alone"]),
         rate(row["loop"]), rate(row["lines"]), times(row["lines"] / row["loop"]))
        for row in result["tables"]
    ]  # fmt: skip
    beside = [
        "Client: it writes the published rows, which it has in memory. Sink: it is given the same rows as a pipeline gives "
        "them. Both commit as many rows at a time, and wait until a local disk has them. Pipeline: it also reads the records "
        "from Parquet and anonymizes them. Loop: the client parses the same JSON lines in Python, leaves the person out, and "
        "writes the other fields. On all cores."
    ]
    compared = (
        "", "client, rows/s", "sink, rows/s", "ratio", "pipeline, tuples/s", "ratio to the client", "loop, rows/s",
        "pipeline from JSON, tuples/s", "ratio",
    )  # fmt: skip
    stored = Table("A pipeline into tables", compared, written, beside)
    return [
        Table("A pipeline, file to file", header, rows, notes),
        *([brokered] if over else []),
        *([stored] if written else []),
    ]


def _compared(rows: list[Figures]) -> list[tuple[str, ...]]:
    return [
        (row["name"], count(row["tuples"]), rate(row["rate"]), rate(row["alone"]) if row["alone"] else NOTHING,
         times(row["rate"] / row["alone"]) if row["alone"] else NOTHING)
        for row in rows
    ]  # fmt: skip
