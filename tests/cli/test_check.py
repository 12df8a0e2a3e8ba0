from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.base import record, write
from shoal.cli import app

MAYBE = "privacy.nulls_match: maybe lets a null stand for any value; an observer who takes nulls as values sees smaller groups"


@pytest.fixture(autouse=True)
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def test_a_policy_that_is_right() -> None:
    result = CliRunner().invoke(app, ["check", "policy.yaml"])
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "policy.yaml: no problems, no warnings\n"


def test_problems_and_warnings(folder: Path) -> None:
    write(folder / "people.jsonl", [record(i, age=7731 if i == 5 else 50) for i in range(100)])
    result = CliRunner().invoke(app, ["check", "policy.yaml", "people.jsonl", "--rows", "90"])
    assert (result.exit_code, result.stderr) == (2, "")
    assert result.stdout.splitlines() == [
        "problem: 'age', 1 of 90 rows, first row 6: outside [0, 100] (value withheld); widen the range or set "
        "out_of_range: clip",
        "warning: missing in part of the rows: 'city' 24 %; if a member of a group lacks a value, "
        'the whole group shows "or missing"',
        "policy.yaml with the first 90 rows of people.jsonl: 1 problem, 1 warning",
    ]


def test_a_policy_that_is_wrong(folder: Path) -> None:
    (folder / "policy.yaml").write_text("person: pid\nprivacy: {k: 50}\nwindow: {count: 20}\nalgorithm: {name: fads}\n")
    result = CliRunner().invoke(app, ["check", "policy.yaml", "people.jsonl"])
    assert (result.exit_code, result.stderr) == (2, "")
    assert result.stdout.splitlines() == [
        "problem: attributes: is missing; add what is published and how; nothing else is published",
        "problem: window.count=20 is below k=50: no group could ever fill. Use at least 50.",
        "warning: the data was not looked at, since the policy cannot be used",
        "policy.yaml: 2 problems, 1 warning",
    ]
