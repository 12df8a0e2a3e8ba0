"""Sensitive values that differ too little, or too much from those of all, and the audit that says so."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from shoal.audit import Verdict, audit
from shoal.audit.promises.sensitive import mixtures
from tests.audit.stage import AGE, PULSE, Stage, said, stage, table
from tests.audit.stream import write

DIVERSE: list[tuple[Any, Sequence[Any], bool]] = [
    (2, "ab", True),
    (2, "aa", False),
    (2, ["a", None], False),
    (2, ["a", "?"], False),
    (2, ["a", " a "], False),
    (2, ["caf\u00e9", "cafe\u0301"], False),
    (1, [None, "?"], True),  # nothing is shown
    (3, "aabc", True),
    (3, "aabb", False),
    ({"entropy": 2}, "abab", True),
    ({"entropy": 2}, "aaab", False),
    ({"entropy": 1.7}, "aaab", True),
    ({"entropy": 3}, "abc", True),
    ({"entropy": 1}, [None, None], True),
    ({"recursive": [2, 2]}, "aabb", True),
    ({"recursive": [2, 2]}, "aab", False),
    ({"recursive": [2.1, 2]}, "aab", True),
    ({"recursive": [3, 3]}, "aabbc", True),
    ({"recursive": [2, 3]}, "aabbc", False),
    ({"recursive": [9, 3]}, "ab", False),
]
NAMES = {"2": "l=2", "1": "l=1", "3": "l=3", "{'recursive': [2, 2]}": "recursive c=2, l=2"}


@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize(("asked", "illnesses", "holds"), DIVERSE)
def test_diversity_of_a_group(asked: Any, illnesses: Sequence[Any], holds: bool, traced: bool) -> None:
    scene = stage(illnesses, {"l": asked, "k": len(illnesses)})
    scene.leave(range(len(illnesses)), len(illnesses) - 1)
    report = scene.report(traced)
    if holds:
        assert said(report) == {}
        assert report["diversity"].verdict == Verdict.HELD
        return
    messages = said(report)
    assert list(messages) == ["diversity"]
    assert len(messages["diversity"]) == len(illnesses)
    if str(asked) in NAMES:
        place = "output row 1, input row 1, 'illness': left in" if traced else "output row 1, 'illness': looks like"
        assert messages["diversity"][0] == f"{place} a group whose values do not differ by {NAMES[str(asked)]}"


class TestWithheld:
    """A group whose values differ too little, or are too far from those of all, shows none of them."""

    def scene(self, shown: Sequence[str | None]) -> Stage:
        scene = stage("aaabab", {"l": 2, "t": 0.4, "k": 3}, {"distribution": {"a": 0.6, "b": 0.4}})
        scene.leave([0, 1, 2], 2)
        scene.leave([3, 4, 5], 5, cluster=1, age=[30, 60])
        for row, illness in enumerate(shown):
            scene.output[row]["illness"] = illness
        return scene

    def test_for_all_of_its_members(self) -> None:
        scene = self.scene([None, None, None])
        for traced in (True, False):
            report = scene.report(traced)
            assert said(report) == {}
            assert report["diversity"].figures["illness"]["withheld"] == 3
            assert "illness: 3 values withheld" in report["diversity"].note
            assert report.figures.diversity["illness"].uniform == 0  # type: ignore[union-attr]

    def test_although_it_would_hold(self) -> None:
        scene = self.scene(["a", "a", "a"])
        scene.output[3]["illness"] = scene.output[4]["illness"] = scene.output[5]["illness"] = None
        assert list(said(scene.report())) == ["diversity"]
        assert said(scene.report())["diversity"][0].startswith("output row 1")

    @pytest.mark.parametrize("member", [0, 1, 2])
    def test_but_for_one(self, member: int) -> None:
        shown: list[str | None] = [None, None, None]
        shown[member] = "a"
        found = said(self.scene(shown).report())
        assert len(found["diversity"]) == 3
        others = [f"output row {row + 1}" for row in range(3) if row != member]
        assert [line.split(",")[0] for line in found["unaltered"]] == others
        assert all(line.endswith("the value is not the one that came") for line in found["unaltered"])

    def test_and_then_reused_with_a_value(self) -> None:
        scene = stage("aaab", {"l": 2, "k": 3})
        scene.leave([0, 1, 2], 2)
        scene.leave([3], 3, "reuse")
        for row in range(3):
            scene.output[row]["illness"] = None
        assert {"diversity", "unaltered"} <= set(said(scene.report()))

    def test_another_value_in_place_of_null(self) -> None:
        assert "unaltered" in said(self.scene([None, None, "b"]).report())

    def test_no_demand_no_excuse(self) -> None:
        scene = stage("aaa", {"k": 3})
        scene.leave([0, 1, 2], 2)
        for row in range(3):
            scene.output[row]["illness"] = None
        assert list(said(scene.report())) == ["unaltered"]

    def test_a_suppressed_tuple_has_no_group(self) -> None:
        scene = stage("aaa", {"l": 2, "k": 3})
        scene.suppress([0, 1, 2], 2)
        scene.output[1]["illness"] = None
        assert [line.split(",")[0] for line in said(scene.report())["unaltered"]] == ["output row 2"]

    def test_without_a_trace_more_values_than_came(self) -> None:
        scene = self.scene([None, None, "b"])
        assert said(scene.report(traced=False))["unaltered"] == ["'illness': the values are not those of the input"]


def test_a_reuse_that_tips_the_balance_and_one_that_restores_it() -> None:
    scene = stage("abab", {"l": {"entropy": 2}})
    scene.leave([0, 1], 1)
    scene.leave([2], 2, "reuse")
    scene.leave([3], 3, "reuse")
    assert said(scene.report()) == {
        "diversity": ["output row 3, input row 3, 'illness': left in a group whose values do not differ by entropy l=2"]
    }
    assert said(scene.report(traced=False)) == {}
    assert scene.report()["diversity"].figures["illness"]["least"] == pytest.approx(math.exp(math.log(3) - 2 / 3 * math.log(2)))


@pytest.mark.parametrize("last", ["reuse", "cluster"])
def test_who_reuses_a_group_counts_alone_even_at_one_instant(last: str) -> None:
    scene = stage("abab", {"l": {"entropy": 2}})
    scene.leave([0, 1], 3)
    scene.leave([2], 3, "reuse")
    scene.leave([3], 3, last)
    assert [line.split(",")[0] for line in said(scene.report())["diversity"]] == ["output row 3"]


def test_a_group_that_a_later_member_makes_diverse() -> None:
    scene = stage("aab", {"l": 2})
    scene.leave([0, 1], 1)
    scene.leave([2], 2)
    assert [line.split(",")[0] for line in said(scene.report())["diversity"]] == ["output row 1", "output row 2"]


def test_groups_do_not_help_each_other_and_the_suppressed_are_in_none() -> None:
    scene = stage("aabbc", {"l": 2})
    scene.leave([0, 1], 1)
    scene.suppress([4], 4)
    scene.leave([2, 3], 4, cluster=1, age=[0, 60])
    assert len(said(scene.report())["diversity"]) == 4
    assert len(said(scene.report(traced=False))["diversity"]) == 4


def test_without_a_trace_under_maybe_match_neither_can_be_checked() -> None:
    scene = stage("aa", {"l": 2, "t": 0.1, "nulls_match": "maybe"}, {"distribution": {"a": 0.5, "b": 0.5}})
    scene.leave([0, 1], 1)
    report = scene.report(traced=False)
    assert report["diversity"].verdict == report["closeness"].verdict == Verdict.NOT_CHECKABLE
    assert list(said(scene.report())) == ["diversity", "closeness"]


def test_what_is_not_asked_is_not_judged() -> None:
    scene = stage("aa", {})
    scene.leave([0, 1], 1)
    promises = [finding.promise for finding in scene.report().promises]
    assert promises == ["k persons", "one in k", "support", "once", "in time", "true", "alike", "unaltered", "silent"]
    scene = stage("ab", {"t": 0.9}, {"l": 2})
    scene.leave([0, 1], 1)
    found = [finding.promise for finding in scene.report().promises]
    assert found[:5] == ["k persons", "one in k", "diversity", "closeness", "support"]


@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize(
    ("distribution", "illnesses", "apart"),
    [
        ({"a": 0.5, "b": 0.5}, "ab", 0.0),
        ({"a": 0.5, "b": 0.5}, "aa", 0.5),
        ({"a": 0.2, "b": 0.3, "c": 0.5}, "ab", 0.5),
        ({"c": 1}, "ab", 1.0),
        ({"a": 1}, ["a", None, "?", " a"], 0.0),
        ({"a": 1}, [None, None], 0.0),
    ],
)
def test_closeness_to_a_distribution(
    distribution: dict[str, float], illnesses: Sequence[Any], apart: float, traced: bool
) -> None:
    for t, holds in ((apart + 0.01, True), (apart, True), (apart - 0.01, False)):
        if not 0 < t <= 1:
            continue
        scene = stage(illnesses, {"t": t}, {"distribution": distribution})
        scene.leave(range(len(illnesses)), len(illnesses) - 1)
        report = scene.report(traced)
        assert report["closeness"].figures["illness"]["largest"] == pytest.approx(apart)
        messages = said(report)
        assert list(messages) == ([] if holds else ["closeness"])
        if not holds and traced:
            place = "output row 1, input row 1, 'illness': left in a group whose values"
            assert messages["closeness"][0] == f"{place} are further than t={t:g} from those of all"


@pytest.mark.parametrize(("released", "apart"), [(2, 0.0), (3, 1 / 3), (4, 1 / 2)])
def test_closeness_to_the_input_so_far_with_the_newest_or_without(released: int, apart: float) -> None:
    for t, holds in ((apart + 0.01, True), (max(apart - 0.01, 0.001), not apart)):
        scene = stage("aabbb", {"t": t})
        scene.leave([0, 1], released)
        scene.suppress([2, 3, 4], 4)
        report = scene.report()
        assert report["closeness"].figures["illness"] == {
            "t": t, "reference": "input so far", "largest": pytest.approx(apart),
        }  # fmt: skip
        assert list(said(report)) == ([] if holds else ["closeness"])
    assert scene.report(traced=False)["closeness"].verdict == Verdict.NOT_CHECKABLE


def test_closeness_of_a_reuse_counts_all_who_wear_it() -> None:
    scene = stage("abab", {"t": 0.1}, {"distribution": {"a": 0.5, "b": 0.5}})
    scene.leave([0, 1], 2)
    scene.leave([2], 3, "reuse")
    scene.leave([3], 3, "reuse")
    messages = said(scene.report())["closeness"]
    assert [line.split(",")[0] for line in messages] == ["output row 3"]


def test_of_several_arrivals_at_one_instant_any_may_have_been_the_newest() -> None:
    for times, blameless in (([0, 0, 5, 5, 5, 5], True), ([0, 0, 5, 6, 6, 6], False)):
        scene = stage("aabbaa", {"t": 0.05}, time={"field": "ts"}, window={"time": "20s"})
        for row, ts in zip(scene.people, times, strict=True):
            row["ts"] = float(ts)
        scene.leave([0, 2], 5.0)
        scene.suppress([1, 3, 4, 5], 6.0 if times[-1] == 6 else 5.0)
        assert list(said(scene.report())) == ([] if blameless else ["closeness"])


def test_the_one_reading_of_an_instant_that_holds_is_found() -> None:
    scene = stage("aaa" + "b" * 10, {"t": 0.02}, time={"field": "ts"}, window={"time": "20s"})
    for row in scene.people:
        row["ts"] = 5.0 if row["illness"] == "b" else 0.0
    scene.leave([0, 3], 5.0)
    scene.suppress([1, 2, *range(4, 13)], 5.0)
    assert said(scene.report()) == {}


def counted(group: Iterable[int], moment: Iterable[int], code: Iterable[int]) -> dict[int, dict[int, int]]:
    """What each group has shown at each moment, entry by entry."""
    found: dict[int, dict[int, int]] = {}
    seen: dict[int, Counter[int]] = {}
    for whose, when, what in zip(group, moment, code, strict=True):
        if what >= 0:
            seen.setdefault(whose, Counter())[what] += 1
        found[when] = dict(seen.get(whose, {}))
    return found


@pytest.mark.parametrize("cells", [1, 3, 7, 20, 1000])
def test_mixtures_in_pieces(cells: int) -> None:
    random = Random(cells)
    group = sorted(random.randrange(9) for _ in range(200))
    group = np.unique(group, return_inverse=True)[1].tolist()
    steps = [random.random() < 0.6 for _ in group]
    moment = np.cumsum([place == 0 or group[place] != group[place - 1] or steps[place] for place in range(len(group))]) - 1
    code = [random.randrange(-1, 5 if whose % 2 else 2) for whose in group]
    found: dict[int, dict[int, int]] = {}
    for mixture in mixtures(np.array(group), moment, np.array(code), cells):
        for when, value, count in zip(mixture.moment.tolist(), mixture.value.tolist(), mixture.counts.tolist(), strict=True):
            assert when not in found
            found[when] = {v: c for v, c in zip(value, count, strict=True) if c}
            assert all(c == 0 for v, c in zip(value, count, strict=True) if v < 0)
    assert found == counted(group, moment.tolist(), code)


@pytest.mark.parametrize("seed", range(6))
def test_a_random_trace_is_judged_as_by_hand(seed: int) -> None:
    random = Random(seed)
    illnesses = [random.choice(["a", "a", "b", "c", None]) for _ in range(60)]
    scene = stage(illnesses, {"l": {"entropy": 2}, "t": 0.25}, window={"count": 60})
    waiting, clusters = list(range(60)), 0
    shown: dict[int, list[str]] = {}
    far, uniform = set(), set()
    for row in range(60):
        released = max(row, 3)
        if row not in waiting:
            continue
        if clusters and random.random() < 0.5:
            rows, cluster, how = [row], random.randrange(clusters), "reuse"
        else:
            rows, cluster, how = [r for r in waiting if r <= released][:4], clusters, "cluster"
            clusters += 1
        waiting = [r for r in waiting if r not in rows]
        start = len(scene.output)
        scene.leave(rows, released, how, cluster, age=[0, 90 + cluster / 10])
        shown.setdefault(cluster, []).extend(illnesses[r] for r in rows if illnesses[r])
        counts = Counter(shown[cluster])
        size = sum(counts.values())
        h = -sum(n / size * math.log(n / size) for n in counts.values())
        if size and math.exp(h) < 2 - 1e-6:
            uniform.update(range(start, len(scene.output)))
        distances = []
        for reach in (released, released + 1):
            known = Counter(each for each in illnesses[:reach] if each)
            every = set(known) | set(counts)
            total = sum(known.values())
            distances.append(sum(abs(counts[v] / size - known[v] / total) for v in every) / 2 if size else 0)
        if min(distances) > 0.25 + 1e-6:
            far.update(range(start, len(scene.output)))
    report = scene.report()
    assert report["diversity"].broken == len(uniform) > 0
    assert report["closeness"].broken == len(far) > 0


def test_values_of_json_lines(tmp_path: Path) -> None:
    source = tmp_path / "people.jsonl"
    mixed: list[tuple[list[Any], int]] = [(["flu", " flu", "?", None, ""], 1), (["flu", 1, "1", 1.0, " flu"], 2)]
    for illnesses, least in [*mixed, ([1, 1.0, 2.5, None, 1], 2)]:
        scene = stage(illnesses, {"l": 2})
        write(source, scene.people)
        scene.leave(range(5), 4)
        output = [{**line, "illness": "shown"} for line in scene.output]
        found = audit(scene.policy, source, table(output), table(scene.trace))["diversity"]
        assert found.figures["illness"]["least"] == least
        assert found.broken == (5 if least < 2 else 0)


def test_a_root_that_looks_suppressed_is_no_class() -> None:
    scene = stage("aab", {"l": 2})
    scene.leave([0, 1], 1, age=AGE, pulse=PULSE)
    scene.suppress([2], 2)
    assert list(said(scene.report())) == ["diversity"]
    assert said(scene.report(traced=False)) == {}
