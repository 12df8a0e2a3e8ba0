"""The example package, built and installed as a package of its own: commands, lists, the lab, and the conformance suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.outside.environment import Environment

LISTS = """
from shoal.bench import variants
from shoal.lab import Lab
from shoal.policy import package_of
assert [variant.label for variant in variants()][-2:] == ["queue", "tight"]
with Lab() as lab:
    assert list(lab.state()["algorithms"])[-2:] == ["queue", "tight"]
from shoal.web.lab import _ALGORITHM
assert "|queue|tight" in str(_ALGORITHM.__metadata__[0].metadata)
print(package_of("tight"))
"""
BROKEN = ("src/shoal_example/tight.py", "return group\n", "return group[:-1]\n")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("example"))


@pytest.mark.slow
def test_commands_take_it(environment: Environment) -> None:
    steps = (
        ("demo", "built", "--tuples", "1500", "--algorithm", "tight"),
        ("check", "built/policy.yaml", "built/wearables.jsonl"),
        ("run", "built/policy.yaml", "built/wearables.jsonl", "out.jsonl", "--trace", "trace.jsonl"),
        ("audit", "built/policy.yaml", "built/wearables.jsonl", "out.jsonl", "--trace", "trace.jsonl"),
    )
    for step in steps:
        done = environment.run("shoal", *step)
        assert done.returncode == 0, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert "the deadline of tight is the one that package shoal-example-algorithm 0.1.0 declares" in said


@pytest.mark.slow
def test_lists_have_it(environment: Environment) -> None:
    done = environment.run("python", "-c", LISTS)
    assert (done.stdout, done.returncode) == ("shoal-example-algorithm 0.1.0\n", 0), done.stderr


@pytest.mark.slow
def test_its_own_tests_pass(environment: Environment) -> None:
    done = environment.run("pytest", str(environment.home / "source/tests"))
    assert done.returncode == 0, done.stdout


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_suite_finds_groups_that_are_too_small(tmp_path: Path) -> None:
    done = Environment(tmp_path, BROKEN).run("pytest", "--pyargs", "shoal.conformance", "-k", "keeps_the_promises and tight")
    assert done.returncode == 1, done.stdout
    assert "too_small" in done.stdout
