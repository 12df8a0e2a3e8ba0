"""Rows of a group that do not look alike, what they may blank, and what too few of them have."""

from __future__ import annotations

from typing import Any

import pytest

from shoal.audit import Verdict, WindowReport
from tests.audit.stage import PULSE, Stage, said, stage

TORN = "shows another pattern of nulls than its group"
BARE = "is null, where nulls_match: root shows the root"


def scene_of(nulls_match: str, without: tuple[int, ...] = (), count: int = 4, **more: Any) -> Stage:
    """Some records of which these have no pulse."""
    scene = stage("a" * count, {"nulls_match": nulls_match, **more.pop("privacy", {})}, **more)
    for row in without:
        scene.people[row]["pulse"] = None
    return scene


def attack(report: Any, name: str) -> Any:
    return next(each for each in report.figures.attacks if each.name == name)


@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize(("nulls_match", "pulse"), [("extended", None), ("root", PULSE)])
def test_a_group_that_shares_what_it_can(nulls_match: str, pulse: Any, traced: bool) -> None:
    scene = scene_of(nulls_match, without=(1,))
    scene.leave([0, 1, 2], 3, pulse=pulse)
    scene.leave([3], 3, "reuse", pulse=pulse)
    report = scene.report(traced)
    assert said(report) == {}
    if traced:
        assert report["true"].figures["blanked"] == (3 if nulls_match == "extended" else 0)
        assert {finding.verdict for finding in report.promises} == {Verdict.HELD}


@pytest.mark.parametrize("nulls_match", ["extended", "root"])
def test_a_value_for_one_who_has_none(nulls_match: str) -> None:
    scene = scene_of(nulls_match, without=(1,))
    scene.leave(range(4), 3)
    assert said(scene.report()) == {"true": ["output row 2, input row 2, 'pulse': a missing value became a value"]}


def test_a_member_that_shows_more_than_its_group() -> None:
    scene = scene_of("extended", without=(1,))
    scene.leave(range(4), 3, pulse=None)
    scene.output[2]["pulse"] = [60, 80]
    assert said(scene.report()) == {"alike": [f"output row 3, input row 3, 'pulse': {TORN}"]}
    assert said(scene.report(traced=False)) == {"k persons": ["output row 3: fewer than k=2 rows look like it"]}


def test_a_row_of_roots_and_nulls_does_not_look_suppressed() -> None:
    for nulls_match, few in (("maybe", []), ("extended", ["output row 1: fewer than k=2 rows look like it"])):
        scene = scene_of(nulls_match, without=(0,))
        scene.leave([0], 3, age=[0, 100], pulse=None)
        scene.suppress([1, 2, 3], 3)
        assert said(scene.report(traced=False)).get("k persons", []) == few


def test_most_members_show_what_one_does_not_have() -> None:
    scene = scene_of("extended", without=(1,))
    scene.leave(range(4), 3)
    scene.output[1]["pulse"] = None
    messages = said(scene.report())
    assert messages == {"alike": [f"output row {row + 1}, input row {row + 1}, 'pulse': {TORN}" for row in (0, 2, 3)]}


@pytest.mark.parametrize("how", ["cluster", "reuse"])
def test_one_that_is_blanked_alone(how: str) -> None:
    scene = scene_of("extended")
    scene.leave([0, 1, 2], 3)
    scene.leave([3], 3, how, pulse=None)
    assert said(scene.report()) == {"alike": [f"output row 4, input row 4, 'pulse': {TORN}"]}


def test_a_reuse_by_one_who_lacks_what_the_group_shows() -> None:
    scene = scene_of("extended", without=(3,))
    scene.leave([0, 1, 2], 3)
    scene.leave([3], 3, "reuse", pulse=None)
    assert said(scene.report()) == {"alike": [f"output row 4, input row 4, 'pulse': {TORN}"]}


@pytest.mark.parametrize("traced", [True, False])
def test_a_null_where_the_root_must_stand(traced: bool) -> None:
    scene = scene_of("root", without=(1,))
    scene.leave(range(4), 3, pulse=PULSE)
    for row in (1, 2):
        scene.output[row]["pulse"] = None
    messages = said(scene.report(traced))
    source = {row: f", input row {row + 1}" if traced else "" for row in (1, 2)}
    assert messages["true"] == [f"output row {row + 1}{source[row]}, 'pulse': {BARE}" for row in (1, 2)]
    assert list(messages) == ["true"]


def test_a_root_that_not_all_of_the_group_show() -> None:
    scene = scene_of("root", without=(1,))
    scene.leave(range(4), 3, pulse=PULSE)
    scene.output[0]["pulse"] = [60, 80]
    assert said(scene.report()) == {
        "alike": ["output row 1, input row 1, 'pulse': shows another generalization than its group"]
    }


def test_nothing_is_imputed_where_nulls_are_shared() -> None:
    for nulls_match, broken in (("maybe", []), ("extended", ["true", "silent"]), ("root", ["true", "silent"])):
        scene = scene_of(nulls_match, without=(1,), algorithm={"name": "iot"})
        scene.leave(range(4), 3)
        for line in scene.output:
            line["pulse"] = {"value": [60, 80], "of": 4, "had": 3}
        assert list(said(scene.report())) == broken


def test_a_dropped_line_among_blanked_ones() -> None:
    scene = scene_of("extended", without=(1,), count=8)
    scene.leave(range(4), 3, pulse=None)
    scene.leave(range(4, 8), 7, cluster=1, pulse=[64, 67])
    del scene.output[3]
    assert said(scene.report()) == {"once": ["input row 4: left by the trace, but is not in the output"]}


def test_the_pattern_of_nulls_tells_nothing_where_a_group_shares_it() -> None:
    found = {}
    for nulls_match, pulse in (("maybe", [60, 80]), ("extended", None), ("root", PULSE)):
        scene = scene_of(nulls_match, without=(1,), count=8)
        scene.leave(range(4), 3, age=[30, 33], pulse=pulse)
        scene.leave(range(4, 8), 7, cluster=1, age=[34, 37])
        if nulls_match == "maybe":
            scene.output[1]["pulse"] = None
        report = scene.report()
        assert said(report) == {}
        found[nulls_match] = attack(report, "null pattern")
    assert found["maybe"].success == (1 + 3 / 3 + 4 / 4) / 8 > found["maybe"].baseline == 1 / 4
    assert found["maybe"].detail.endswith("only the person's own fit for 1 of 8")
    for nulls_match in ("extended", "root"):
        assert found[nulls_match].success == found[nulls_match].baseline == 1 / 4
        assert found[nulls_match].detail.endswith("only the person's own fit for 0 of 8")


def test_the_strongest_reader_of_patterns_still_finds_a_whole_group() -> None:
    scene = scene_of("extended", without=(0, 1, 2, 3), count=8)
    scene.leave(range(4), 3, pulse=None)
    scene.leave(range(4, 8), 7, cluster=1)
    found = attack(scene.report(), "null pattern")
    assert (found.baseline, found.success) == (1 / 8, (4 / 4 + 4 / 8) / 8)


@pytest.mark.parametrize(("pulse", "broken"), [([60, 61], True), (PULSE, False)])
def test_what_too_few_of_a_group_have(pulse: list[int], broken: bool) -> None:
    scene = scene_of("maybe", without=(2, 3), count=5, privacy={"min_support": 3, "k": 3})
    scene.leave([0, 1], 3, pulse=pulse)
    scene.leave([2, 3], 3, pulse=None)
    scene.leave([4], 4, "reuse", pulse=pulse)
    scene.people[4]["pulse"] = 60.0
    report = scene.report()
    what = "'pulse': is not the root, though fewer than min_support=3 persons of its group have it"
    assert said(report) == (
        {"support": [f"output row {row + 1}, input row {row + 1}, {what}" for row in (0, 1, 4)]} if broken else {}
    )
    assert report["support"].figures == {"min_support": 3, "groups": 1}
    assert scene.report(traced=False)["support"].verdict == Verdict.NOT_CHECKABLE


def test_support_counts_persons() -> None:
    scene = scene_of("maybe", without=(2, 3), privacy={"min_support": 2})
    scene.leave([0, 1], 3)
    scene.leave([2, 3], 3, pulse=None)
    assert said(scene.report()) == {}
    scene.people[1]["pid"] = scene.people[0]["pid"]
    assert list(said(scene.report())) == ["support"]


def test_loss_of_what_a_tuple_had_with_weights() -> None:
    for nulls_match, pulse in (("extended", None), ("root", PULSE)):
        scene = scene_of(nulls_match, without=(1,), weights={"age": 2})
        scene.leave(range(3), 3, age=[30, 40], pulse=pulse)
        scene.suppress([3], 3)
        report = scene.report()
        assert isinstance(report, WindowReport)
        loss = report.figures.utility.loss
        assert loss.over_time == pytest.approx(((2 * 0.1 + 1) / 3, 0.1, (2 * 0.1 + 1) / 3, 1))
        assert loss.attribute == pytest.approx({"age": (3 * 0.1 + 1) / 4, "pulse": 1})
