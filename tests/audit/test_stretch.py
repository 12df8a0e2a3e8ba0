"""Windows that are longer while fewer than k persons are there."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from shoal.audit.trace import Trace, held
from tests.audit.stage import Stage, said, stage

KEPT = "kept longer than the window although k=3 persons were there"


def scene_of(persons: list[int], algorithm: Any = "fads", stretch: float = 3.0) -> Stage:
    more = {"window": {"count": 4}, "sparse": {"stretch": stretch}, "algorithm": {"name": algorithm}}
    scene = stage("a" * len(persons), {"k": 3, "one_in_k": False}, **more)
    for line, pid in zip(scene.people, persons, strict=True):
        line["pid"] = pid
    return scene


def test_tuples_that_wait_for_k_persons() -> None:
    scene = scene_of([1, 1, 1, 1, 1, 1, 2, 3])
    scene.leave(range(8), 7)
    report = scene.report()
    assert said(report) == {}
    assert report["in time"].figures["stretched"] == 3
    assert report["in time"].figures["deadline"] == 12
    assert report["in time"].note == "3 tuples were held past the window: fewer than k persons were there"


def test_tuples_that_wait_though_k_persons_are_there() -> None:
    scene = scene_of([1, 2, 3, 4, 5, 6, 7])
    scene.leave(range(7), 6)
    report = scene.report()
    assert said(report) == {"in time": [f"output row {row + 1}, input row {row + 1}: {KEPT}" for row in (0, 1)]}


def test_exactly_k_persons_are_enough_to_leave() -> None:
    for persons, kept in (([1, 2, 3, 3, 3, 4], [0]), ([1, 2, 2, 2, 2, 4], [])):
        scene = scene_of(persons)
        scene.leave(range(6), 5)
        messages = said(scene.report()).get("in time", [])
        assert messages == [f"output row {row + 1}, input row {row + 1}: {KEPT}" for row in kept]


def test_one_that_is_late_is_named_once() -> None:
    scene = scene_of([1, 2, 3, 4, 5, 6, 7], stretch=1.25)
    scene.leave([0], 6)
    scene.leave(range(1, 7), 6)
    messages = said(scene.report())["in time"]
    assert messages[0] == "output row 1, input row 1: left past its deadline of 5 arrivals"
    assert messages[1:] == [f"output row 2, input row 2: {KEPT}"]


def test_those_who_left_at_the_deadline_of_another_are_not_there_any_more() -> None:
    scene = scene_of([1, 2, 3, 4, 5, 6])
    scene.leave([1, 2, 3], 4)
    scene.leave([0], 5, "reuse")
    scene.suppress([4, 5], 5)
    assert said(scene.report()) == {}


@pytest.mark.parametrize(("stretch", "deadline"), [(3, 12), (1, 4)])
def test_a_tuple_past_the_longest_window(stretch: float, deadline: int) -> None:
    scene = scene_of([1] * 20, stretch=stretch)
    scene.suppress([0], 4 + deadline - 3)
    for row in range(1, 20):
        scene.suppress([row], max(row, 4 + deadline - 3))
    scene.trace.sort(key=lambda line: (line["released"], line["row"]))
    messages = said(scene.report())
    assert messages == {"in time": [f"output row 1, input row 1: left past its deadline of {deadline} arrivals"]}


@pytest.mark.parametrize("algorithm", ["xband", "fast"])
def test_where_only_the_longest_wait_is_judged(algorithm: str) -> None:
    scene = scene_of([1, 2, 3, 4, 5, 6, 7], algorithm)
    scene.leave(range(7), 6)
    assert said(scene.report()) == {}


@pytest.mark.parametrize("seed", range(20))
def test_who_is_held_as_by_hand(seed: int) -> None:
    random = Random(seed)
    arrived = np.array([float(random.randrange(12)) for _ in range(15)])
    released = arrived + [random.randrange(6) for _ in arrived]
    person = np.array([random.randrange(-1, 4) for _ in arrived])
    nothing = np.zeros(len(arrived), np.int64)
    moments = np.arange(18.0)
    expected = [
        len({p for p, a, r in zip(person.tolist(), arrived, released, strict=True) if a < moment < r and p >= 0})
        for moment in moments
    ]
    assert held(Trace(nothing, nothing, nothing, arrived, released), person, moments).tolist() == expected
