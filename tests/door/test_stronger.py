"""Nor does what breaks a stronger promise, though the algorithm does not mind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shoal.conformance.streams import Stream, engine
from tests.door.liar import liar
from tests.door.test_door import ATTRIBUTES, LENGTH, TIMES, K
from tests.naive import Arrival, Demand, Release


def stream(values: Callable[[int], tuple[Any, ...]], illness: Callable[[int], str], **asked: Any) -> Stream:
    """Four persons who come back in turn."""
    events = tuple(Arrival(i % 4, values(i), 1.0 * i, (illness(i),)) for i in range(60))
    return Stream(ATTRIBUTES, K, ("count", LENGTH), {"reuse_age": 1000}, events, (), **asked)


def lied(given: Stream, lie: str = "none") -> tuple[dict[str, int], list[Release]]:
    """The faults that are counted, and the releases."""
    anonymizer, _ = liar(given, lie, TIMES, after=1)
    releases = engine(anonymizer, given)
    return dict(anonymizer.stats.faults), releases


def hows(releases: list[Release]) -> dict[str, int]:
    return {how: sum(r.how == how for r in releases) for how in ("cluster", "reuse")}


def test_a_group_that_is_not_diverse() -> None:
    demand = Demand(0, "distinct", (2,))
    faults, releases = lied(stream(lambda i: (7.0, "a"), lambda i: "y" if i == 4 else "x", demands=(demand,)))
    assert hows(releases) == {"cluster": K, "reuse": 0}
    assert faults == {"uniform": 60 // K - 1}


def test_a_group_that_does_not_stay_diverse() -> None:
    """With x, y and z it may show x twice more, not three times: what every newcomer shows is counted."""
    demand = Demand(0, "entropy", (2.5,))
    faults, releases = lied(
        stream(lambda i: (7.0, "a"), lambda i: "xyz"[i] if i < 3 else "x", demands=(demand,)), "reuse that does not cover"
    )
    assert hows(releases) == {"cluster": K, "reuse": 2}
    assert faults["uniform"] > TIMES - 2


def test_a_group_that_shows_what_the_tuple_lacks() -> None:
    for match in ("extended", "root"):
        faults, releases = lied(
            stream(lambda i: (7.0, "a" if i < 3 else None), lambda i: "x", match=match), "reuse that does not cover"
        )
        assert hows(releases)["reuse"] == 0
        assert faults == {"uncovered": TIMES}


def test_a_person_with_two_of_four_rows() -> None:
    for one_in_k, faults in ((True, {"crowded": TIMES}), (False, {})):
        given = stream(lambda i: (7.0, "a"), lambda i: "x", one_in_k=one_in_k)
        found, releases = lied(given, "a person twice")
        assert found == faults
        assert sum(r.how == "suppressed" for r in releases) == TIMES * (K + 1) * one_in_k + 2, "two are left at the end"


def test_a_member_that_reuses_its_own_group() -> None:
    """After the first group of persons 0, 1 and 2 a lie is told of 3, 0, 1, 2: only 3 is no member of it."""
    for one_in_k, faults, reuses in ((True, {"crowded": TIMES - 1}, 1), (False, {}, TIMES)):
        given = stream(lambda i: (7.0, "a"), lambda i: "x", one_in_k=one_in_k)
        found, releases = lied(given, "reuse by a member")
        assert found == faults
        assert hows(releases)["reuse"] == reuses


def test_a_reuse_at_another_time() -> None:
    """The first group shows 0 to 2 seconds, and the lies are told of 3 to 6."""
    for grid, faults in ((1.0, {"uncovered": TIMES}), (5.0, {"uncovered": 1}), (100.0, {}), (None, {})):
        given = stream(lambda i: (7.0, "a"), lambda i: "x", time_grid=grid)
        found, releases = lied(given, "reuse at another time")
        assert found == faults
        assert hows(releases)["reuse"] == TIMES - faults.get("uncovered", 0)


def test_a_group_that_shows_what_too_few_have() -> None:
    given = stream(lambda i: (7.0 if i % 3 == 0 else None, "a"), lambda i: "x", match="maybe", min_support=2)
    faults, releases = lied(given, "low end too high")
    assert faults == {"thin": TIMES}
    assert sum(r.how == "suppressed" for r in releases) == TIMES * K
