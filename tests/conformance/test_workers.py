"""Several workers of FAST: every promise holds in every interleaving, and what one publishes serves all."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import Anonymizer, Policy
from shoal.anonymizer import lanes, windowed, workers
from shoal.anonymizer.workers import Workers
from shoal.conformance import stronger
from shoal.conformance.cutting import Interrupted, is_the_same_interrupted
from shoal.conformance.parameters import SHARES
from shoal.conformance.promises import steps
from shoal.conformance.streams import TREES, Stream, engine, one_by_one, policy_of
from tests.audit.base import FIELDS, judged_from_files, people
from tests.conformance.contention import SIZE, violations
from tests.conformance.test_lanes import in_order
from tests.examples import count, examples
from tests.naive import Arrival, Demand, Numeric, Release, Tick


@pytest.fixture(autouse=True)
def always_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "_FEW", 0)
    monkeypatch.setattr(windowed, "_PIECE", 64)


def a_stream(seed: int, most: int = 200) -> Stream:
    """A stream with few values, few persons and many nulls, in a few batches, so that rounds of all workers overlap."""
    draw = random.Random(seed)
    k, workers, kind = draw.randint(1, 5), draw.randint(2, 8), draw.choice(["count", "count", "time", "buffer"])
    size = draw.randint(k, k + 5)
    deadline = workers * size + draw.choice([0, 1, 10, 50])
    attributes: tuple[Numeric | str, ...] = tuple(
        draw.choice([Numeric(0.0, 1.0), Numeric(-3.0, 4.0), "deep", "flat"]) for _ in range(draw.randint(1, 3))
    )
    values = [
        sorted(TREES[one]) if isinstance(one, str) else [one.low, one.high, one.low + 0.1, one.low + 0.5] for one in attributes
    ]
    missing, persons = draw.choice([0.0, 0.2, 0.6]), draw.choice([2, 12, 100])
    demands = draw.choice([
        (), (), (Demand(0, "distinct", (min(2, k),)),), (Demand(0, "entropy", (1.8,)),), (Demand(0, "t", (0.4,), None),),
        (Demand(0, "recursive", (2.0, 2)), Demand(0, "t", (0.5,), SHARES[0])),
    ])  # fmt: skip
    events: list[Arrival | Tick] = []
    clock = 0.0
    for _ in range(draw.randint(10, most)):
        clock += draw.choice([0.0, 0.25, 1.0])
        if kind == "time" and draw.random() < 0.02:
            events.append(Tick(clock + draw.choice([0.0, 30.0])))
            continue
        shown = tuple(None if draw.random() < missing else draw.choice(choices) for choices in values)
        told = tuple(draw.choice(["x", "x", "y", "y", "z", None]) for _ in demands[:1])
        events.append(Arrival(draw.randrange(persons), shown, clock if kind == "time" else None, told))
    cuts = tuple(i for i in range(len(events)) if draw.random() < 0.01)
    reuse = {"reuse_age": draw.choice([5, 40, 1000]), "reuse_limit": draw.choice([1, 5, 200])}
    parameters = {"workers": workers, "round": size, "deadline": deadline, **reuse}
    window = (kind, 10.0 if kind == "time" else max(deadline, k))
    match = draw.choice(["maybe", "extended", "root", "blurred"])
    return Stream(attributes, k, window, parameters, tuple(events), cuts, match=match, demands=demands)


def check(stream: Stream, releases: list[Release]) -> None:
    releases = in_order(releases)
    stronger.check(stream, releases, "fast")
    if stream.window[0] == "count":
        shown = stronger.Values(stream)
        for step in steps(releases):
            came = int(step[0].released)
            shown.add(step, (came, came + 1))


def stress(seeds: Iterator[int]) -> None:
    for seed in seeds:
        stream = a_stream(seed)
        anonymizer = Anonymizer(policy_of("fast", stream))
        try:
            check(stream, engine(anonymizer, stream))
            assert anonymizer.stats.faults == {}
            assert anonymizer.stats.held == 0
        except AssertionError as error:
            raise AssertionError(f"seed {seed}") from error


@pytest.mark.slow
@pytest.mark.streams
@pytest.mark.parametrize("half", [0, 1])
def test_every_promise_holds_in_every_interleaving(half: int) -> None:
    stress(iter(range(half, count(2), 2)))


def test_contention_for_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_STRIDE", SIZE)
    monkeypatch.setattr(windowed, "_PIECE", SIZE)
    assert [violations(seed) for seed in range(3)] == [[], [], []]


@pytest.mark.long
def test_contention_without_a_lock_is_noticed(tmp_path: Path) -> None:
    """That workers pass the same as above is their lock's doing: without it something is found, or the process breaks down."""
    command = [sys.executable, "-m", "tests.conformance.lockless"]
    done = subprocess.run(command, env={**os.environ, "SHOAL_CACHE": str(tmp_path)}, capture_output=True)
    assert done.stdout == b"in turn: sound\n", done.stderr
    assert done.returncode == 3 or done.returncode < 0


@pytest.mark.parametrize("workers", [2, 8])
def test_the_judge_finds_nothing(workers: int, tmp_path: Path) -> None:
    """Persons who come back, what is asked of sensitive values, and the default reading of nulls; from file to file."""
    rest = f"privacy: {{k: 4, l: 2, t: 0.9}}\nwindow: {{count: 60}}\nalgorithm: {{name: fast, workers: {workers}}}"
    report = judged_from_files(Policy.parse(FIELDS + rest), people(2000, 500), tmp_path)
    assert [finding for finding in report.promises if finding.verdict == "broken"] == []
    assert report.held


def numbers(count: int) -> pa.RecordBatch:
    draw = random.Random(7)
    return pa.RecordBatch.from_pydict({"pid": list(range(count)), "x": [draw.uniform(0, 100) for _ in range(count)]})


NUMBERS = (
    "{person: pid, attributes: {x: {quasi: numeric, range: [0, 100]}}, privacy: {k: 3}, window: {count: 200}, "
    "algorithm: {name: fast, round: 6, workers: 4, reuse_age: 100000, reuse_limit: 100000}}"
)


def test_what_one_publishes_serves_all() -> None:
    anonymizer = Anonymizer(Policy.parse(NUMBERS))
    anonymizer.push_batch(numbers(3000))
    turn = {row: row // 6 if row < 24 else row % 4 for row in range(3000)}
    trace = anonymizer.trace.to_pylist()
    makers = {left["cluster"]: turn[left["row"]] for left in trace if left["how"] == "cluster"}
    served = [makers[left["cluster"]] != turn[left["row"]] for left in trace if left["how"] == "reuse"]
    assert sum(served) > len(served) / 4


def test_no_published_group_is_lost() -> None:
    """All that was published, by whomever, is in the reuse set, once."""
    anonymizer = Anonymizer(Policy.parse(NUMBERS))
    anonymizer.push_batch(numbers(3000))
    whole: Workers = anonymizer._engine._lane  # type: ignore[attr-defined]
    for worker in whole._all:
        reuse = worker.state.reuse
        entries = int(reuse.rule.entries)
        assert sorted(reuse.number[:entries].tolist()) == list(range(anonymizer.stats.groups))


@pytest.mark.streams
def test_snapshots_break_no_promise() -> None:
    @examples(0.2)
    @given(st.integers(0, 10**6), st.data())
    def hold(seed: int, data: st.DataObject) -> None:
        stream = a_stream(seed, most=80)
        check(stream, engine(Interrupted(Anonymizer(policy_of("fast", stream)), data), stream))  # type: ignore[arg-type]

    hold()


@pytest.mark.streams
def test_workers_that_take_turns_repeat_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without threads nothing is left to chance, so that snapshot and restore change nothing; one by one the promises hold."""
    monkeypatch.setattr(lanes, "_FEW", 10**9)

    @examples(0.13)
    @given(st.integers(0, 10**6), st.data())
    def equal(seed: int, data: st.DataObject) -> None:
        stream = a_stream(seed, most=80)
        policy = policy_of("fast", stream)
        is_the_same_interrupted(policy, stream, data)
        check(stream, one_by_one(Anonymizer(policy), stream))

    equal()


def test_whether_a_run_is_repeatable() -> None:
    assert not Policy.parse(NUMBERS).repeatable
    assert Policy.parse(NUMBERS.replace("workers: 4", "workers: 1")).repeatable
