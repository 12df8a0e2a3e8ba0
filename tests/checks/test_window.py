"""A window that can never fill a group."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks.base import found, policy, record

REMEDY = "no group can fill; lengthen the window or lower k"


def test_too_few_persons_in_any_window(tmp_path: Path) -> None:
    slow = [record(i, pid=i // 10) for i in range(200)]
    findings = found(tmp_path, slow, policy(privacy={"k": 4}))
    assert findings.problems == (f"window.count: no window of the sample holds more than 3 persons, below k=4: {REMEDY}",)
    assert found(tmp_path, slow, policy(privacy={"k": 3})).ok


def test_a_person_counts_once(tmp_path: Path) -> None:
    same = [record(i, pid=("1", 1, " 1 ", 1.0)[i % 4]) for i in range(100)]
    assert found(tmp_path, same).problems == (
        f"window.count: no window of the sample holds more than 1 person, below k=3: {REMEDY}",
    )


@pytest.mark.parametrize(("seconds", "is_enough"), [(2, False), (2.5, True)])
def test_a_time_window(tmp_path: Path, seconds: float, is_enough: bool) -> None:
    by = policy(time={"field": "ts"}, window={"time": seconds})
    findings = found(tmp_path, [record(i, ts=i) for i in range(100)], by)
    expected = f"window.time: no window of the sample holds more than 2 persons, below k=3: {REMEDY}"
    assert findings.problems == (() if is_enough else (expected,))


def test_time_never_runs_backwards(tmp_path: Path) -> None:
    by = policy(time={"field": "ts"}, window={"time": 3})
    assert found(tmp_path, [record(i, ts=-i) for i in range(100)], by).ok


def test_a_buffer_may_gather_persons_from_anywhere(tmp_path: Path) -> None:
    slow = [record(i, pid=i // 10) for i in range(200)]
    assert found(tmp_path, slow, policy(window={"buffer": 10}, privacy={"k": 10})).ok
    findings = found(tmp_path, slow, policy(window={"buffer": 30}, privacy={"k": 21}))
    assert findings.problems == (f"window.buffer: the input holds 20 persons, below k=21: {REMEDY}",)


def test_a_pocket_lengthens_the_window(tmp_path: Path) -> None:
    slow = [record(i, pid=i // 10) for i in range(200)]
    by = policy(privacy={"k": 5}, algorithm={"name": "xband", "reuse_age": 30})
    assert found(tmp_path, slow, by).ok
    assert not found(tmp_path, slow, policy(privacy={"k": 5})).ok


def test_a_sample_shorter_than_the_window_only_warns(tmp_path: Path) -> None:
    by = policy(window={"count": 500}, privacy={"k": 18})
    findings = found(tmp_path, [record(i) for i in range(400)], by, rows=300)
    assert findings.ok
    assert findings.warnings[-1] == ("window.count: the sample (too short to be sure) holds only 17 persons, below k=18")
    assert not found(tmp_path, [record(i) for i in range(400)], by).ok


def test_without_persons_every_row_is_one(tmp_path: Path) -> None:
    assert found(tmp_path, [record(i, pid=1) for i in range(100)], policy(person="none")).ok


def test_rejected_rows_do_not_count(tmp_path: Path) -> None:
    findings = found(tmp_path, [record(i, pid=i % 3, age=-1 if i % 3 == 2 else 5) for i in range(100)])
    assert findings.problems[1] == (f"window.count: no window of the sample holds more than 2 persons, below k=3: {REMEDY}")
