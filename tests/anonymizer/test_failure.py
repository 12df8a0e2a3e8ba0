"""Bad weather: a thread that fails loses nothing and hangs nothing; the stream goes on from a snapshot."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal
from shoal import Anonymizer, Policy, WorkerError
from shoal.anonymizer import anonymizer as front
from shoal.anonymizer import lanes, split_tree, windowed
from shoal.anonymizer.lane import Lane
from tests.audit.base import people

POLICY = """
person: pid
attributes: {age: {quasi: numeric, range: [0, 100]}, note: {publish: keep}}
privacy: {k: 3}
suppressed: publish
window: {count: 40}
"""
LANES = POLICY + "lanes: 3\nalgorithm: {name: fads}"
WORKERS = POLICY + "algorithm: {name: fast, workers: 3, round: 6}"
ALONE = POLICY + "algorithm: {name: fads}"
ALL = pytest.mark.parametrize("written", [ALONE, LANES, WORKERS], ids=["alone", "lanes", "workers"])
BOTH = pytest.mark.parametrize("written", [LANES, WORKERS], ids=["lanes", "workers"])

FAILED = (
    "MemoryError while tuples were taken in; nothing of this call has left: continue from the last snapshot, or run it again"
)
STOPPED = "an earlier call failed; restore the last snapshot, and continue from there"


@pytest.fixture(autouse=True)
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "_FEW", 0)
    monkeypatch.setattr(split_tree, "SAMPLE", 30)


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lets the n-th piece of work of a lane fail."""

    def plant(number: int) -> None:
        done, advance = [0], Lane.advance

        def failing(self: Lane, *arguments: Any, **options: Any) -> None:
            done[0] += 1
            if done[0] == number:
                raise MemoryError("12 apples")
            advance(self, *arguments, **options)

        monkeypatch.setattr(Lane, "advance", failing)

    return plant


def batches(count: int = 6, size: int = 100) -> list[pa.RecordBatch]:
    records = [{"pid": one["pid"], "age": one["age"], "note": i} for i, one in enumerate(people(count * size, 300))]
    return [pa.RecordBatch.from_pylist(records[i : i + size]) for i in range(0, len(records), size)]


def notes(batch: pa.RecordBatch) -> list[int]:
    return batch.column("note").to_pylist()


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("number, piece", [(10, 100), (11, 100), (12, 100), (13, 100), (14, 100), (20, 40), (25, 40), (30, 40)])
def test_nobody_is_lost(written: str, number: int, piece: int, fail: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What left before the failure, and what leaves after the last snapshot, are all tuples, each once."""
    monkeypatch.setattr(windowed, "_PIECE", piece)
    policy = Policy.parse(written)
    anonymizer = Anonymizer(policy)
    left: list[int] = []
    saved, done = anonymizer.snapshot(), 0
    fail(number)
    with pytest.raises(WorkerError) as raised:
        for batch in batches():
            left += notes(anonymizer.push_batch(batch))
            saved, done = anonymizer.snapshot(), done + 1
    assert str(raised.value) == FAILED
    assert isinstance(raised.value.__cause__, MemoryError)
    assert 0 < done < 5
    other = Anonymizer(policy)
    other.restore(saved)
    for batch in batches()[done:]:
        left += notes(other.push_batch(batch))
    left += notes(other.flush())
    assert sorted(left) == list(range(600))
    assert other.stats.faults == {}


@ALL
def test_after_a_failure_nothing_but_restore_is_done(written: str, fail: Any) -> None:
    anonymizer = Anonymizer(Policy.parse(written))
    first, second, *_ = batches()
    left = notes(anonymizer.push_batch(first))
    saved = anonymizer.snapshot()
    fail(1 if written == ALONE else 2)
    again = [lambda: anonymizer.push_batch(second)] * 2
    for call in (*again, anonymizer.flush, anonymizer.snapshot):
        with pytest.raises(WorkerError) as raised:
            call()
        assert str(raised.value) in (FAILED, STOPPED)
    assert str(raised.value) == STOPPED
    anonymizer.restore(saved)
    left += notes(anonymizer.push_batch(second)) + notes(anonymizer.flush())
    assert sorted(left) == list(range(200))


@ALL
def test_a_failure_at_the_end(written: str, fail: Any) -> None:
    anonymizer = Anonymizer(Policy.parse(written))
    left = notes(anonymizer.push_batch(batches()[0]))
    saved = anonymizer.snapshot()
    fail(1)
    with pytest.raises(WorkerError):
        anonymizer.flush()
    anonymizer.restore(saved)
    assert sorted(left + notes(anonymizer.flush())) == list(range(100))


def test_what_left_in_the_same_call_is_told(fail: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long batch is taken in piece by piece."""
    monkeypatch.setattr(front, "_SLICE", 100)
    whole = pa.Table.from_batches(batches()).combine_chunks().to_batches()[0]
    anonymizer = Anonymizer(Policy.parse(WORKERS))
    fail(8)
    with pytest.raises(WorkerError) as raised:
        anonymizer.push_batch(whole)
    assert 100 < raised.value.released.num_rows < 200
    assert anonymizer.trace.column("row").to_pylist() == notes(raised.value.released)


class Pipe(io.BytesIO):
    """Standard output, whose bytes can be looked at."""

    @property
    def buffer(self) -> Pipe:
        return self

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.getvalue().splitlines()]


def test_a_run_writes_what_left_and_ends(fail: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(front, "_SLICE", 100)
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("".join(json.dumps(record) + "\n" for batch in batches() for record in batch.to_pylist()))
    pipe = Pipe()
    monkeypatch.setattr(sys, "stdout", pipe)
    fail(8)
    with pytest.raises(WorkerError):
        shoal.run(Policy.parse(WORKERS), source, "-")
    assert 100 < len(pipe.lines()) < 200
    fail(8)
    with pytest.raises(WorkerError):
        shoal.run(Policy.parse(WORKERS), source, target)
    assert not target.exists()


def test_threads_live_as_long_as_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    pool = lanes.ThreadPoolExecutor
    monkeypatch.setattr(lanes, "ThreadPoolExecutor", lambda *arguments: made.append(arguments) or pool(*arguments))
    monkeypatch.setattr("shoal.anonymizer.lanes.cores", lambda: 2)
    for written in (LANES, WORKERS):
        anonymizer = Anonymizer(Policy.parse(written))
        for batch in batches():
            anonymizer.push_batch(batch)
    assert [threads for threads, _ in made] == [2, 3]
