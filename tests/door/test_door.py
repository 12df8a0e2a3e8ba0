"""Whatever an algorithm asks for, nothing wrong gets out through the door."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import Anonymizer
from shoal.conformance.promises import check, has_k_persons, is_true, late, leaves_once
from shoal.conformance.streams import Stream, engine, paired, record, released, streams
from tests.door.liar import LIES, liar
from tests.examples import examples
from tests.naive import Arrival, Numeric, Release

K, LENGTH, TIMES = 3, 12, 4
ATTRIBUTES = (Numeric(0.0, 100.0), "deep")
PATIENT = ("newest instead of oldest", "held past the deadline")

STOPPED = {  # the faults that are counted, and how many tuples are suppressed
    "none": ({}, 0),
    "k - 1 persons": ({"too_small": TIMES}, TIMES * (K - 1)),
    "k tuples of fewer persons": ({"too_small": TIMES}, TIMES * K),
    "nobody": ({"too_small": TIMES}, 0),
    "low end too high": ({"uncovered": TIMES}, TIMES * K),
    "high end too low": ({"uncovered": TIMES}, TIMES * K),
    "category too narrow": ({"uncovered": 2 + 3 + 2 + 3}, TIMES * K),
    "quasi-identifier missing": ({"uncovered": TIMES * K}, TIMES * K),
    "a tuple twice in a full group": ({"twice": TIMES}, 0),
    "a tuple twice in place of a person": ({"twice": TIMES, "too_small": TIMES}, TIMES * (K - 1)),
    "slots that hold nothing": ({"twice": TIMES * 4}, 0),
    "reuse of a row never published": ({"too_small": TIMES}, TIMES),
    "reuse of a negative row": ({"too_small": TIMES}, TIMES),
    "reuse of a row far out": ({"too_small": TIMES}, TIMES),
    "reuse that does not cover": ({"uncovered": TIMES}, TIMES),
    "reuse of a candidate let into the reuse set": ({"too_small": TIMES}, TIMES),
    "suppressed with a row": ({}, TIMES),
}


def stream(kind: str, batch_size: int = 120) -> Stream:
    """Four persons who come back in turn; any three tuples in a row differ in both attributes."""
    events = tuple(Arrival(i % 4, (float(7 * i % 100), "abcde"[i % 5]), 1.0 * i) for i in range(120))
    return Stream(ATTRIBUTES, K, (kind, LENGTH), {}, events, tuple(range(batch_size - 1, 120, batch_size)))


def lied(stream: Stream, lie: str) -> tuple[Anonymizer, list[Release]]:
    """A liar and its releases, after one honest group, four lies and the rest honest again."""
    anonymizer, remaining = liar(stream, lie, TIMES, after=1)
    releases = engine(anonymizer, stream)
    assert remaining == (TIMES if lie == "none" else 0)
    return anonymizer, releases


def before_the_end(releases: list[Release]) -> list[Release]:
    return [r for r in releases if r.released < releases[-1].released]


@pytest.mark.parametrize("batch_size", [120, pytest.param(5, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["count", "time", "buffer"])
@pytest.mark.parametrize("lie", STOPPED)
def test_a_lie_is_stopped_and_counted_under_its_name(lie: str, kind: str, batch_size: int) -> None:
    given = stream(kind, batch_size)
    anonymizer, releases = lied(given, lie)
    check(given, releases)
    faults, suppressed = STOPPED[lie]
    assert dict(anonymizer.stats.faults) == faults
    on_the_way = before_the_end(releases)
    assert sum(r.how == "suppressed" for r in on_the_way) == suppressed
    assert [r.how for r in on_the_way[-40:]] == ["cluster"] * 40, "honest steps work afterwards"


@pytest.mark.parametrize(("lie", "kind"), [(PATIENT[0], "count"), (PATIENT[1], "time")])
def test_late_tuples_leave_and_are_counted(lie: str, kind: str) -> None:
    given = stream(kind)
    anonymizer, releases = lied(given, lie)
    leaves_once(given, releases)
    is_true(given, releases)
    has_k_persons(given, releases)
    rows = late(given, releases, LENGTH)
    assert len(rows) > 0
    assert dict(anonymizer.stats.faults) == {"late": len(rows)}
    assert anonymizer.stats.longest_wait == max(r.released - r.arrived for r in releases) > LENGTH


def test_a_turn_set_back_costs_at_most_utility() -> None:
    given = stream("count")
    anonymizer, releases = lied(given, "turn set back")
    check(given, releases)
    assert set(anonymizer.stats.faults) <= {"too_small", "twice"}


@examples(2)
@given(
    streams(lambda k, window: st.just({}), attributes=ATTRIBUTES),
    st.sampled_from([lie for lie in LIES if lie not in PATIENT]),
    st.integers(1, 20),
    st.integers(0, 2),
)
def test_no_lie_gets_through_on_any_stream(stream: Stream, lie: str, times: int, after: int) -> None:
    anonymizer, _ = liar(stream, lie, times, after)
    releases = engine(anonymizer, stream)
    check(stream, releases)
    assert anonymizer.stats.held == 0
    assert anonymizer.stats.released == len(releases)


@given(
    streams(lambda k, window: st.just({"reuse_age": 1000}), kinds=("count", "buffer"), attributes=ATTRIBUTES),
    st.sampled_from([*STOPPED, *["reuse of a candidate let into the reuse set"] * 20]),
    st.integers(0, 2),
)
def test_nothing_of_a_lie_comes_through_a_snapshot(stream: Stream, lie: str, after: int) -> None:
    """Right after a lie the state is saved, and an honest algorithm goes on with it."""
    made, remaining = liar(stream, lie, 1, after)
    releases: list[Release] = []
    for number, event in enumerate(stream.events):
        assert isinstance(event, Arrival)
        releases += paired(made, made.push(record(stream, event, number)), stream)
        if remaining == 0:
            snapshot, made = made.snapshot(), Anonymizer(made.policy)
            made.restore(snapshot)
            remaining = np.ones(1)
    releases += released(made, made.flush(), stream)
    check(stream, releases)
    assert made.stats.released == len(releases)
