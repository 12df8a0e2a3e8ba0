"""The attack on helpers finds a member that lies apart and has the rare value, and nothing where values follow no place."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from shoal.audit import Report
from shoal.audit.attacks import Attack
from tests.audit.stage import Stage, stage

K, GROUPS = 4, 40


def published(value: Any, size: int = K + 1, groups: int = GROUPS) -> Stage:
    """Groups around 30 with one member at 95; `value` says what a member shows: of the group's number and its place in it."""
    scene = stage([value(i // size, i % size) for i in range(groups * size)], {"k": K, "l": 2}, window={"count": 1000})
    random = Random(7)
    for i, person in enumerate(scene.people):
        person.update(age=95.0 if i % size == size - 1 else random.uniform(30, 40), pulse=70.0)
    for group in range(groups):
        rows = range(group * size, (group + 1) * size)
        scene.leave(rows, rows[-1], cluster=group, age=[30, 95], pulse=[70, 70])
    return scene


def found(report: Report) -> Attack:
    return next(attack for attack in report.figures.attacks if attack.name == "helper: illness")  # type: ignore[union-attr]


def test_a_lone_helper_is_found() -> None:
    attack = found(published(lambda group, place: "b" if place == K else "a").report())
    assert (attack.tried, attack.success, attack.baseline) == (GROUPS, 1.0, pytest.approx(1 / (K + 1)))
    assert attack.detail == (
        "farthest from the others, in groups of more than 4 members with several values; 20.0 % of their members, "
        "20.0 % of all have one"
    )


def test_one_that_hides_is_not() -> None:
    """The rare value is where nobody lies apart; so the one that does never has it."""
    attack = found(published(lambda group, place: "b" if place == 1 else "a").report())
    assert attack.success is not None and attack.success < 0.5


def test_values_that_follow_no_place_are_found_by_chance() -> None:
    random = Random(3)
    attack = found(published(lambda group, place: random.choice("aaab"), groups=400).report())
    assert attack.success == pytest.approx(attack.baseline, abs=0.08)


def test_groups_of_k_are_left_out_where_others_are_larger() -> None:
    scene = published(lambda group, place: "b" if place == K else "a")
    rows = range(GROUPS * (K + 1) - K, GROUPS * (K + 1))  # the last group without its first
    scene.output = scene.output[: -K - 1] + scene.output[-K:]
    scene.trace = scene.trace[: -K - 1] + scene.trace[-K:]
    assert len(rows) == K
    assert found(scene.report()).tried == GROUPS - 1


def test_the_oldest_is_the_first_to_come() -> None:
    """The members leave in another order: the guess goes by arrival, not by the order of the output."""
    scene = published(lambda group, place: "b" if place == K else "a")
    scene.output.reverse()
    scene.trace.reverse()
    for line in scene.trace:
        line["released"] = GROUPS * (K + 1)
    assert found(scene.report()).success == 1.0


@pytest.mark.parametrize(
    ("value", "obstacle"), [(None, "no group shows a value"), ("a", "no group shows the usual value and another")]
)
def test_where_there_is_nothing_to_find(value: str | None, obstacle: str) -> None:
    attack = found(published(lambda group, place: value).report())
    assert (attack.success, attack.obstacle) == (None, f"not applicable: {obstacle}")


def test_without_a_trace_and_without_a_demand() -> None:
    scene = published(lambda group, place: "b" if place == K else "a")
    assert found(scene.report(traced=False)).obstacle.startswith("not checkable")
    plain = stage("ab", {"k": 2})
    plain.leave([0, 1], 1)
    names = [attack.name for attack in plain.report().figures.attacks]  # type: ignore[union-attr]
    assert not any(name.startswith("helper") for name in names)
