"""Nor does a set without a member's value, or with one that too few persons have."""

from __future__ import annotations

from shoal.conformance.promises import check
from shoal.conformance.streams import Stream, engine
from tests.door.liar import liar
from tests.door.test_door import LENGTH, TIMES, K
from tests.naive import Arrival, Numeric


def stream(tree: str, values: str) -> Stream:
    """Four persons who come back in turn; their values are these, again and again."""
    events = tuple(Arrival(i % 4, (7.0, values[i % len(values)]), 1.0 * i) for i in range(60))
    return Stream((Numeric(0.0, 100.0), tree), K, ("count", LENGTH), {}, events, ())


def faults(given: Stream, lie: str) -> dict[str, int]:
    anonymizer, remaining = liar(given, lie, TIMES, after=1)
    releases = engine(anonymizer, given)
    check(given, releases)
    assert remaining == (TIMES if lie == "none" else 0)
    return dict(anonymizer.stats.faults)


def test_honest_sets_pass() -> None:
    assert faults(stream("deep set", "abcde"), "none") == {}
    assert faults(stream("deep set with support", "aade"), "none") == {}


def test_a_member_whose_value_is_left_out() -> None:
    assert faults(stream("deep set", "ace"), "a value left out of a set") == {"uncovered": TIMES}


def test_a_value_that_one_person_has() -> None:
    """Of a, d and e in a group, each is one person's: the root is due, and a is shown besides."""
    assert faults(stream("deep set with support", "ade"), "a lone value in a set") == {"thin": TIMES}
