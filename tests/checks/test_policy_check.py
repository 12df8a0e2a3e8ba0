from __future__ import annotations

from pathlib import Path

from checks.base import MAYBE, policy
from shoal.checks import Findings, check


def test_a_policy_alone() -> None:
    assert check(policy()) == Findings(warnings=(MAYBE,))
    assert check(policy()).ok


def test_all_problems_of_a_policy(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("person: pid\nprivacy: {k: 50}\nwindow: {count: 20}\nalgorithm: {name: magic}\n")
    findings = check(path)
    assert not findings.ok
    assert [problem.split(":")[0] for problem in findings.problems] == [
        "attributes",
        "algorithm.name",
        "window.count=20 is below k=50",
    ]
    assert findings.warnings == ()


def test_a_broken_policy_leaves_the_data_alone(tmp_path: Path) -> None:
    findings = check(tmp_path / "none.yaml", tmp_path / "none.jsonl")
    assert findings.problems == (f"{tmp_path / 'none.yaml'}: does not exist; correct the path",)
    assert findings.warnings == ("the data was not looked at, since the policy cannot be used",)


def test_absent_data(tmp_path: Path) -> None:
    findings = check(policy(), tmp_path / "none.jsonl")
    reason = "cannot be read (no such file or directory); check the name and the permissions"
    assert findings.problems == (f"{tmp_path / 'none.jsonl'}: {reason}",)
    assert findings.rows is None
