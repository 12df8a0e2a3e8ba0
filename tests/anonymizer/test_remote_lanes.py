"""Remote lanes: every tuple leaves once and in time, through packing and snapshots."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from shoal import Policy
from shoal.algorithms import WINDOWED
from shoal.anonymizer.remote_lane import RemoteLane, numbers, places
from shoal.anonymizer.split_tree import learned_tree
from shoal.anonymizer.transfer import Transfer
from shoal.columns.encode import Encoder

POLICY = """
person: {person}
time: {{field: ts}}
attributes:
  age: {{quasi: numeric, range: [0, 120], grid: 5}}
  pulse: {{quasi: numeric, range: [30, 220], grid: 10}}
  id: {{publish: keep}}
privacy: {{k: 5}}
suppressed: publish
window: {window}
algorithm: {{name: {name}}}
"""
KEY = np.array([1, 2], np.uint64)
SIZE, EACH = 1200, 300


def records() -> pa.RecordBatch:
    chance = random.Random(7)
    return pa.record_batch({
        "pid": [f"p{i % 400}" for i in range(SIZE)],
        "ts": [i / 100 for i in range(SIZE)],
        "age": [chance.randrange(18, 90) for _ in range(SIZE)],
        "pulse": [chance.randrange(50, 150) if chance.random() < 0.8 else None for _ in range(SIZE)],
        "id": list(range(SIZE)),
    })  # fmt: skip


def anonymized(window: str, lanes: int, person: str = "pid", name: str = "fads") -> tuple[pa.Table, int, list[RemoteLane]]:
    """What the lanes publish, each restored from its snapshot before every delivery; how many were handed over; the lanes."""
    policy = replace(Policy.parse(POLICY.format(window=window, person=person, name=name)), lanes=lanes)
    batch, encoder = records(), Encoder(policy, KEY)
    whole = encoder.encode(batch.slice(0, 0), np.zeros(0, np.int64)).whole
    tree = learned_tree(policy, encoder.encode(batch, np.arange(SIZE)).values)
    remote = [RemoteLane(policy, KEY, whole, number) for number in range(lanes + 1)]
    published: list[pa.RecordBatch] = []
    gone = 0
    for start in range(0, SIZE, EACH):
        encoded = encoder.encode(batch.slice(start, EACH), np.arange(start, start + EACH))
        chosen, newest = tree.lanes(encoded.values), float(encoded.time.max())
        counts = np.bincount(chosen, minlength=lanes)
        arrivals = Transfer.of(encoded)
        handed = []
        for number, lane in enumerate(remote[:lanes]):
            own = arrivals.select(np.flatnonzero(chosen == number))
            left = lane.arrive(Transfer.from_bytes(own.to_bytes()), counts, newest)
            published += left.published
            handed.append(Transfer.from_bytes(left.handed_over.to_bytes()))
        gone += sum(len(some.rows) for some in handed)
        published += remote[lanes].join(Transfer.concat(handed), EACH, newest).published
        for number, lane in enumerate(remote):
            saved, remote[number] = lane.snapshot(), RemoteLane(policy, KEY, whole, number)
            remote[number].restore(saved)
    rest = Transfer.concat([lane.hand_over_all().handed_over for lane in remote[:lanes]])
    published += remote[lanes].join(rest, 0, newest).published + remote[lanes].flush().published
    return pa.concat_tables([pa.Table.from_batches([some]) for some in published]), gone, remote


@pytest.mark.parametrize("window", ["{count: 100}", "{time: 1s}", "{buffer: 100}"])
def test_every_tuple_leaves_once_and_shows_its_value(window: str) -> None:
    table, _, remote = anonymized(window, 4)
    assert sorted(table.column("id").to_pylist()) == list(range(SIZE))
    ages = records().column("age").to_pylist()
    assert all(row["age"]["lo"] <= ages[row["id"]] <= row["age"]["hi"] for row in table.to_pylist() if row["age"])
    for name in ("late", "too_small", "uncovered", "twice"):
        assert sum(int(lane._lane.tally[name]) for lane in remote) == 0


@pytest.mark.slow
@pytest.mark.parametrize("window", ["{count: 100}", "{time: 3s}"])
@pytest.mark.parametrize("name", [name for name in WINDOWED if name not in ("fads", "fast")])
def test_of_every_algorithm_every_tuple_leaves_once_and_in_time(name: str, window: str) -> None:
    """In lanes that are thin, so that many are handed over, some of them at the end into the midst of a wave."""
    table, _, remote = anonymized(window, 16, name=name)
    assert sorted(table.column("id").to_pylist()) == list(range(SIZE))
    for fault in ("late", "too_small", "uncovered", "twice"):
        assert sum(int(lane._lane.tally[fault]) for lane in remote) == 0


@pytest.mark.parametrize("window", ["{count: 20}", "{time: 200ms}", "{buffer: 40}"])
def test_what_is_passed_through_stays_with_its_tuple_over_many_steps(window: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.anonymizer.remote_lane._STEP", 50)
    monkeypatch.setattr("shoal.anonymizer.core._SLACK", 0)
    table, _, remote = anonymized(window, 4)
    ages = records().column("age").to_pylist()
    assert sorted(table.column("id").to_pylist()) == list(range(SIZE))
    assert all(row["age"]["lo"] <= ages[row["id"]] <= row["age"]["hi"] for row in table.to_pylist() if row["age"])
    assert sum(int(lane._lane.tally.late) for lane in remote) == 0


@pytest.mark.slow
@pytest.mark.parametrize("window", ["{count: 100}", "{time: 1s}"])
def test_thin_lanes_hand_over(window: str) -> None:
    table, gone, remote = anonymized(window, 16)
    assert gone > 100
    assert sorted(table.column("id").to_pylist()) == list(range(SIZE))
    assert int(remote[-1]._lane.tally.clustered) > 0


def test_persons_who_are_not_known_are_each_their_own() -> None:
    table, _, remote = anonymized("{count: 100}", 4, person="none")
    assert sorted(table.column("id").to_pylist()) == list(range(SIZE))
    assert sum(int(lane._lane.tally.suppressed) for lane in remote) < SIZE // 20


def test_no_two_tuples_have_one_place() -> None:
    chance = np.random.default_rng(3)
    for _ in range(50):
        counts = chance.integers(0, 40, 6)
        found = np.concatenate([places(counts, lane) for lane in range(6)])
        assert sorted(found.tolist()) == list(range(int(counts.sum())))
        for lane in range(6):
            assert (np.diff(places(counts, lane)) > 0).all()


@pytest.mark.parametrize("bits", [1, 3, 19])
def test_no_two_tuples_that_were_handed_over_have_one_number(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor a lower number than a tuple that was there before, unless a millisecond has more tuples than numbers."""
    monkeypatch.setattr("shoal.anonymizer.remote_lane._SAME", bits)
    draw = np.random.default_rng(3)
    time, number = np.zeros(0), np.zeros(0, np.int64)
    for _ in range(40):
        coming = np.sort(draw.integers(0, 12, draw.integers(0, 20)) / 1000)
        found = numbers(coming, time, number)
        assert (np.diff(found) > 0).all()
        time, number = np.append(time, coming), np.append(number, found)
        assert len(set(number.tolist())) == len(number)
        if bits == 19:
            assert (np.diff(time[np.argsort(number)]) >= 0).all()
        stay = draw.random(len(time)) < 0.8
        time, number = time[stay], number[stay]


@pytest.mark.slow
@pytest.mark.parametrize("bits", [1, 19])
@pytest.mark.parametrize("name", ["fads", "tide", "xband"])
def test_many_of_one_millisecond_are_handed_over(name: str, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.anonymizer.remote_lane._SAME", bits)
    monkeypatch.setattr("shoal.anonymizer.remote_lane._MILLISECONDS", 0.5)  # which lasts two seconds
    table, gone, _ = anonymized("{time: 1s}", 16, name=name)
    assert gone > 100
    assert sorted(table.column("id").to_pylist()) == list(range(SIZE))


def test_when_something_is_due_though_nothing_arrives() -> None:
    policy = replace(Policy.parse(POLICY.format(window="{time: 4s}", person="pid", name="fads")), lanes=2)
    encoded = Encoder(policy, KEY).encode(records().slice(0, 3), np.arange(3))
    some = Transfer.of(encoded)
    lane = RemoteLane(policy, KEY, encoded.whole, 0)
    assert lane.next is None
    lane.arrive(some, np.array([3, 0]), 0.02)
    assert lane.next == 2.0
    left = lane.tick(2.02)
    assert len(left.handed_over.rows) == 3 and lane.held == 0 and lane.next is None
