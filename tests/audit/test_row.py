"""Violations of *one in k* and *one time* are planted, and the audit names exactly those."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.audit import Verdict
from shoal.policy import Policy
from tests.audit.stage import said, stage
from tests.audit.stream import Case, K, case, read
from tests.audit.test_planted import the_only

TIME = {"time": {"field": "ts", "publish": "generalize", "grid": 5}}


def where(bad: Case, row: int, what: str) -> str:
    return f"output row {row + 1}, input row {bad.trace[row]['row'] + 1}, 'ts': {what}"


def test_a_row_with_a_time_of_its_own(tmp_path: Path) -> None:
    bad = case(tmp_path, window="time")
    row = bad.group()[1]
    low, high = bad.output[row]["ts"]
    bad.output[row]["ts"] = [low - 2, high]
    assert the_only(bad.report(), "one time") == [where(bad, row, "shows another time than its group")]


def test_without_a_trace_such_a_row_is_in_no_class_of_k(tmp_path: Path) -> None:
    bad = case(tmp_path, window="time", complete=True)
    assert bad.report(traced=False)["k persons"].verdict == Verdict.HELD
    row = bad.group()[1]
    low, high = bad.output[row]["ts"]
    bad.output[row]["ts"] = [low - 1000, high + 1000]
    found = bad.report(traced=False)
    assert [each.output_row for each in found["k persons"].violations] == bad.group()
    assert found["one time"].verdict == Verdict.NOT_CHECKABLE


def test_a_time_that_misses_a_member(tmp_path: Path) -> None:
    bad = case(tmp_path, window="time")
    row = bad.group()[0]
    own = read(bad.source)[bad.trace[row]["row"]]["ts"]
    cluster = bad.trace[row]["cluster"]
    shown = [own + 2 - own % 2, own + 2000 - own % 2]
    wearing = [other for other, line in enumerate(bad.trace) if line["cluster"] == cluster]
    for other in wearing:
        bad.output[other]["ts"] = shown
    times = {other: read(bad.source)[bad.trace[other]["row"]]["ts"] for other in wearing}
    missed = [other for other in wearing if times[other] < shown[0]]
    assert row in missed
    messages = the_only(bad.report(), "one time")
    assert messages == [where(bad, other, "its own time lies outside the time that is shown") for other in missed][:20]


def test_a_time_off_the_grid(tmp_path: Path) -> None:
    bad = case(tmp_path, window="time")
    cluster = bad.trace[bad.group()[0]]["cluster"]
    wearing = [row for row, line in enumerate(bad.trace) if line["cluster"] == cluster]
    for row in wearing:
        bad.output[row]["ts"][0] -= 0.5
    messages = the_only(bad.report(), "one time")
    assert messages == [where(bad, row, "an end of the time is not a multiple of time.grid") for row in wearing][:20]


def test_a_suppressed_tuple_that_shows_a_time() -> None:
    made = stage("abc", {"k": 2}, **TIME)
    made.leave([0, 1], 5, ts=[0.0, 5.0])
    made.suppress([2], 20)
    made.output[2]["ts"] = None
    assert said(made.report()) == {}
    made.output[2]["ts"] = [0.0, 5.0]
    assert said(made.report()) == {"one time": ["output row 3, input row 3, 'ts': is suppressed, but shows a time"]}


def test_a_row_that_shows_no_time(tmp_path: Path) -> None:
    bad = case(tmp_path, window="time")
    row = bad.group()[1]
    bad.output[row]["ts"] = None
    assert the_only(bad.report(), "one time") == [where(bad, row, "shows no time")]


def test_a_reuse_outside_of_the_time() -> None:
    made = stage("abcdef", {"k": 2}, **TIME)
    made.leave([0, 1, 2], 5, ts=[0.0, 5.0])
    made.leave([4], 6, "reuse", ts=[0.0, 5.0])
    made.leave([3, 5], 20, ts=[0.0, 5.0], cluster=1)
    assert said(made.report()) == {}
    made.people[4]["ts"] = 6.0
    outside = "its own time lies outside the time that is shown"
    assert said(made.report()) == {"one time": [f"output row 4, input row 5, 'ts': {outside}"]}


@pytest.mark.parametrize("one_in_k", [True, False])
def test_a_person_with_more_than_its_share(one_in_k: bool) -> None:
    """Of k = 2 persons one has two of three rows; a fourth row of another person comes too late."""
    made = stage("abcdef", {"k": 2, "one_in_k": one_in_k})
    made.people[2]["pid"] = 0
    made.leave([0, 1, 2], 5)
    made.leave([3], 6, "reuse")
    made.leave([4, 5], 20, cluster=1)
    share = "its person has more than 1/2 of the rows that show its group"
    assert said(made.report()) == (
        {"one in k": [f"output row {row + 1}, input row {row + 1}: {share}" for row in (0, 2)]} if one_in_k else {}
    )


def test_a_person_that_reuses_its_own_group_too_early() -> None:
    made = stage("abcdef", {"k": 2})
    made.people[2]["pid"] = 0
    made.leave([0, 1], 5)
    made.leave([2], 6, "reuse")
    made.leave([3], 7, "reuse")
    made.leave([4, 5], 20, cluster=1)
    report = made.report()
    share = "its person has more than 1/2 of the rows that show its group"
    assert said(report) == {"one in k": [f"output row 3, input row 3: {share}"]}
    assert report["one in k"].figures == {"k": 2, "largest_share": 2 / 3}


def test_a_person_that_reuses_its_own_group_after_others() -> None:
    made = stage("abcdef", {"k": 2})
    made.people[3]["pid"] = 0
    made.leave([0, 1], 5)
    made.leave([2], 6, "reuse")
    made.leave([3], 7, "reuse")
    made.leave([4, 5], 20, cluster=1)
    report = made.report()
    assert said(report) == {}
    assert report["one in k"].figures["largest_share"] == 1 / 2


def test_without_a_trace_shares_are_not_checkable(tmp_path: Path) -> None:
    assert case(tmp_path).report(traced=False)["one in k"].verdict == Verdict.NOT_CHECKABLE


def test_what_is_asked() -> None:
    assert K > 1
    plain = stage("ab", {}).policy
    assert plain.one_in_k
    for written in ({"k": 1}, {"one_in_k": False}):
        assert not stage("ab", written).policy.one_in_k
    nobody = {"attributes": {"age": {"quasi": "numeric", "range": [0, 1]}}, "privacy": {"k": 2}, "window": {"count": 2}}
    assert not Policy.parse({"person": "none", **nobody}).one_in_k
