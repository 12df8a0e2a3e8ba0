"""Tide's waves: when they close, how their work is spread over arrivals, and what stays behind."""

from __future__ import annotations

import math
import random
from collections import Counter

import pyarrow as pa
import pytest

from shoal import Anonymizer
from shoal.algorithms.tide.tide import DONE, OPEN, SETTLE
from shoal.conformance.parameters import MIXING, WINDOWS
from shoal.conformance.promises import check
from shoal.conformance.streams import TREES, Stream, engine, one_by_one, policy_of
from tests.conformance.twins import twin
from tests.examples import count
from tests.naive import Arrival, Numeric, Release, Tick

TEN = Numeric(0.0, 10.0)
ASKED = ({}, {"one_in_k": True}, {"one_in_k": True, "time_grid": 5.0}, {"time_grid": 40.0})


def long_stream(seed: int, kind: str) -> Stream:
    """Windows of several dozen tuples, so that a wave is closed before it leaves; persons who come back, bursts and ticks."""
    draw = random.Random(seed)
    attributes = tuple(draw.choice([TEN, Numeric(-1.0, 3.0), "deep", "flat"]) for _ in range(draw.choice([1, 2, 4, 7])))
    persons, clock, events = draw.choice([4, 12, 60, 10**6]), 0.0, []
    for _ in range(draw.choice([90, 150, 260])):
        clock += draw.choice([0.0, 0.0, 0.2, 1.0, 2.0])
        if kind == "time" and draw.random() < 0.05:
            events.append(Tick(clock + draw.choice([0.0, 0.5, 30.0])))
        values = tuple(_value(draw, attribute) for attribute in attributes)
        events.append(Arrival(draw.randrange(persons), values, clock))
    cuts = tuple(sorted(draw.sample(range(len(events)), 6)))
    length = draw.choice([32, 64, 100])
    parameters = {
        "effort": draw.choice(["quick", "thorough"]), "reuse_limit": draw.choice([0, 3, 1000]),
        "reuse_age": draw.choice([length - 3, length, 2 * length, 10 * length]),
    }  # fmt: skip
    k, match = draw.choice([2, 3, 8]), draw.choice(MIXING)
    return Stream(attributes, k, (kind, length), parameters, tuple(events), cuts, match=match, **draw.choice(ASKED))


def scarce_stream(seed: int, kind: str) -> Stream:
    """Strangers are rare, so that the k-th person often comes, or the stream ends, in the last 32nd of a window."""
    draw = random.Random(seed)
    k, length = draw.choice([2, 3]), 32 if kind == "time" else draw.choice([33, 64, 70])
    clock, events = 0.0, []
    for _ in range(draw.randint(6, 50) if kind == "time" else length + draw.choice([-1, 0, 1, 2, 30, length])):
        clock += draw.choice([0.0, 0.0, 0.25, 0.5, 1.0, 30.5, 31.0])
        if kind == "time" and draw.random() < 0.2:
            events.append(Tick(clock))
        stranger = draw.random() < (0.4 if kind == "time" else k / length)
        events.append(Arrival(draw.randint(1, 4) if stranger else 0, (float(draw.randint(0, 10)),), clock))
    cuts = tuple(i for i in range(len(events)) if draw.random() < 0.2)
    return Stream((TEN,), k, (kind, length), {"reuse_age": draw.choice([0, 31, 64])}, tuple(events), cuts)


def _value(draw: random.Random, attribute: Numeric | str) -> object:
    if draw.random() < 0.2:
        return None
    if isinstance(attribute, Numeric):
        return round(draw.uniform(attribute.low, attribute.high), draw.choice([0, 1, 3]))
    return draw.choice(sorted(TREES[attribute]))


@pytest.mark.slow
@pytest.mark.streams
@pytest.mark.parametrize("kind", WINDOWS)
def test_releases_equal_the_naive_twin_however_the_stream_is_cut(kind: str) -> None:
    for seed in range(count(0.04)):
        stream = long_stream(seed, kind)
        releases = agree(stream)
        check(stream, releases, "tide")
        policy = policy_of("tide", stream)
        assert one_by_one(Anonymizer(policy), stream) == releases
        assert engine(Anonymizer(policy), stream._replace(cuts=())) == releases


@pytest.mark.streams
@pytest.mark.parametrize("kind", WINDOWS)
def test_releases_equal_the_naive_twin_when_persons_are_scarce(kind: str) -> None:
    for seed in range(count(0.5 if kind == "time" else 0.15)):
        agree(scarce_stream(seed, kind))


@pytest.mark.parametrize("length", [32.0, 10.0, 0.7, 3.3])
def test_seconds_are_not_rounded(length: float) -> None:
    """A tuple that comes just before the last 32nd begins is in the wave; one that comes as it begins is not."""
    begins = length - length / 32
    times = [0.0, 0.0, 0.0, math.nextafter(begins, 0.0), begins, length]
    events = tuple(Arrival(i, (float(i),), time) for i, time in enumerate(times))
    stream = Stream((TEN,), 2, ("time", length), {"reuse_age": 0}, (*events, Tick(length * 1.5)), ())
    assert {r.row: r.released for r in agree(stream)} == {i: length if i < 4 else length * 1.5 for i in range(6)}


def test_when_no_candidate_is_left_the_oldest_is_a_seed() -> None:
    """All six seeds, every third tuple, grow into one and the same group."""
    others = iter([9.0, 9.0, 3.0, 7.0, 10.0, 9.0, 7.0, 10.0, 8.0, 6.0, 5.0, 7.0])
    events = tuple(Arrival(i, (0.0 if i % 3 == 1 else next(others),)) for i in range(18))
    releases = agree(Stream((TEN,), 6, ("count", 18), {}, events, ()))
    groups = [[r.row for r in releases if r.cluster == number] for number in range(3)]
    assert groups == [[0, 2, 5, 8, 9, 12], [1, 4, 7, 10, 13, 16], [3, 6, 11, 14, 15, 17]]


@pytest.mark.parametrize("match", MIXING)
def test_more_quasi_identifiers_than_a_vector_holds(match: str) -> None:
    draw = random.Random(2)
    values = [tuple(None if draw.random() < 0.1 else float(draw.randint(0, 10)) for _ in range(20)) for _ in range(66)]
    events = tuple(Arrival(i, value) for i, value in enumerate(values))
    assert agree(Stream((TEN,) * 20, 3, ("count", 32), {}, events, (), match=match))


def agree(stream: Stream) -> list[Release]:
    anonymizer = Anonymizer(policy_of("tide", stream))
    releases = engine(anonymizer, stream)
    assert releases == twin("tide", stream)
    assert anonymizer.stats.faults == {}
    return releases


def people(count: int, window: tuple[str, float], k: int = 3, each: float = 0.0) -> Stream:
    draw = random.Random(1)
    events = tuple(Arrival(i, (round(draw.uniform(0, 10), 2),), i * each) for i in range(count))
    return Stream((TEN,), k, window, {}, events, ())


def test_a_wave_is_closed_a_little_before_it_leaves() -> None:
    """With 64 arrivals, 2 before: 62 tuples leave when the 65th comes, and the two that came later wait."""
    stream = people(65, ("count", 64))
    anonymizer = Anonymizer(policy_of("tide", stream))
    for i, arrival in enumerate(stream.events):
        assert anonymizer.stats.released == 0
        assert anonymizer._engine._lane.state.memory.closed[0] == (62 if i > 62 else 0)
        anonymizer.push({"pid": i, "q0": arrival.values[0]})
    assert (anonymizer.stats.released, anonymizer.stats.held) == (62, 3)
    assert {how["arrived"] for how in anonymizer.trace.to_pylist()} == set(range(62))


def test_the_work_is_spread_over_arrivals() -> None:
    """Between closing and leaving every arrival does its share: when the last one comes, little is left to do."""
    stream = people(641, ("count", 640))
    anonymizer = Anonymizer(policy_of("tide", stream))
    stages = []
    for i, arrival in enumerate(stream.events[:640]):
        anonymizer.push({"pid": i, "q0": arrival.values[0]})
        if anonymizer._engine._lane.state.memory.closed[0]:
            work = anonymizer._engine._lane.state.memory.wave.work
            stages.append((int(work.stage), int(work.next), int(work.groups)))
    assert len(stages) == 20
    assert stages[0][0] < SETTLE and SETTLE < stages[-1][0] <= DONE
    assert len(set(stages)) > 10
    assert sorted(stages, key=lambda stage: stage[0]) == stages
    assert anonymizer.stats.released == 0


@pytest.mark.slow
def test_work_that_a_restore_lost_is_done_again() -> None:
    stream = people(200, ("count", 64))
    expected = one_by_one(Anonymizer(policy_of("tide", stream)), stream)
    anonymizer = Anonymizer(policy_of("tide", stream))
    found = []
    for i, arrival in enumerate(stream.events):
        found += anonymizer.push({"pid": i, "q0": arrival.values[0], "note": i})
        snapshot = anonymizer.snapshot()
        anonymizer = Anonymizer(anonymizer.policy)
        anonymizer.restore(snapshot)
        assert anonymizer._engine._lane.state.memory.wave.work.stage == OPEN
    found += anonymizer.to_records(anonymizer.flush())
    assert [shown["note"] for shown in found] == [release.row for release in expected]


def test_with_too_few_persons_only_the_oldest_leaves() -> None:
    stream = people(4, ("time", 10.0), k=3, each=4.0)
    anonymizer = Anonymizer(policy_of("tide", stream))
    two = [{"pid": i, "ts": 4.0 * i, "q0": 1.0} for i in range(2)]
    for record in two:
        assert anonymizer.push(record) == []
    assert len(anonymizer.to_records(anonymizer.tick(10.0))) == 1
    assert anonymizer.trace.to_pylist()[0]["how"] == "suppressed"
    assert anonymizer.stats.held == 1


def test_the_end_of_the_stream_opens_a_closed_wave_again() -> None:
    """The two that came after closing would be too few alone."""
    stream = people(64, ("count", 64))
    anonymizer = Anonymizer(policy_of("tide", stream))
    releases = engine(anonymizer, stream)
    assert Counter(release.how for release in releases) == {"cluster": 64}


def test_a_burst_leaves_in_waves_of_bounded_size() -> None:
    draw = random.Random(2)
    events = tuple(Arrival(i, (round(draw.uniform(0, 10), 3),), 0.0) for i in range(17_000))
    stream = Stream((TEN,), 100, ("time", 10.0), {}, events, ())
    anonymizer = Anonymizer(policy_of("tide", stream))
    anonymizer.push_batch(_batch(events))
    anonymizer.tick(9.8)
    assert anonymizer._engine._lane.state.memory.closed[0] == 8192
    assert anonymizer.tick(10.0).num_rows == 17_000
    assert anonymizer.stats.suppressed == 0 and anonymizer.stats.faults == {}
    assert len(anonymizer._engine._lane.state.memory.wave.tuples.group) <= 16_384 + 64


def _batch(events: tuple[Arrival, ...]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({
        "pid": [event.person for event in events], "ts": [event.time for event in events],
        "q0": [event.values[0] for event in events], "note": list(range(len(events))),
    })  # fmt: skip


def test_the_second_tuple_of_a_person_does_not_count_on_the_cover_that_its_first_will_use() -> None:
    """It is given a place in a group while the groups are formed; a cover that fails later costs more."""
    spread = [(9, 11.0), (9, 11.0), *((20 + i, 16.0) for i in range(6)), *((30 + i, 6.0 - i / 8) for i in range(3))]
    events = [*(Arrival(i, (10.0 + i,), 0.0) for i in range(3)), Tick(11.0), *(Arrival(p, (v,), 12.0) for p, v in spread)]
    one = Stream((Numeric(0.0, 100.0),), 3, ("time", 10.0), {"reuse_age": 100.0}, tuple(events), (), one_in_k=True)
    releases = agree(one)
    shown = Counter(release.generalization[0] for release in releases)
    assert shown == {(10.0, 12.0): 4, (11.0, 16.0): 3, (16.0, 16.0): 4, (5.75, 6.0): 3}
