from __future__ import annotations

from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from cli.base import POLICY
from shoal.anonymizer import Anonymizer, Stats
from shoal.cli.run_display import faults, summary
from shoal.policy import Policy

STATS = Stats(
    received=1000, rejected=10, reasons={"'age': infinite": 10}, held=0, released=990, groups=100, clustered=800,
    reused=90, suppressed=100, loss=0.2345, smallest_group=3, longest_wait=20.0, stretched=0, faults={},
)  # fmt: skip


def shown(policy: Policy, stats: Stats, elapsed: float) -> list[list[str]]:
    """The lines of the panel, without its frame, by word."""
    console = Console(file=StringIO(), width=80)
    console.print(summary(policy, stats, elapsed))
    assert isinstance(console.file, StringIO)
    return [[part for part in line.strip("│ \n").split("  ") if part] for line in console.file.getvalue().splitlines()]


def figures(policy: Policy, stats: Stats, elapsed: float = 2.0) -> dict[str, str]:
    return {line[0]: line[1].strip() for line in shown(policy, stats, elapsed)[1:-1]}


def test_the_figures() -> None:
    assert figures(Policy.parse(POLICY), STATS) == {
        "tuples": "990",
        "tuples a second": "495",
        "loss": "0.234",
        "smallest group": "3 persons",
        "longest wait": "20 arrivals",
        "suppressed": "100 (10.1 %)",
        "reused": "90 (9.1 %)",
        "rejected": "10 (1.0 %)",
    }


@pytest.mark.parametrize(
    ("window", "wait", "promised"),
    [
        ("{count: 20}", "20 arrivals", "promised: 20 arrivals"),
        ("{buffer: 20}", "20 arrivals", "promised: none"),
        ("{time: 90s}\ntime: {field: ts}", "20 s", "promised: 1.5 min"),
    ],
)
def test_the_unit_of_waiting(window: str, wait: str, promised: str) -> None:
    policy = Policy.parse(POLICY.replace("{count: 20}", window))
    line = next(line for line in shown(policy, STATS, 2.0) if line[0] == "longest wait")
    assert [part.strip() for part in line[1:]] == [wait, promised]


def test_an_empty_stream() -> None:
    policy = Policy.parse(POLICY)
    told = figures(policy, Anonymizer(policy).stats, 0.0)
    assert (told["tuples"], told["smallest group"], told["longest wait"]) == ("0", "none", "none")


@pytest.mark.parametrize(
    ("stopped", "told"),
    [({}, []), ({"too_small": 3}, ["a fault of the algorithm: 3 releases were too small; please report it"])],
)
def test_faults(stopped: dict[str, Any], told: list[str]) -> None:
    assert faults(replace(STATS, faults=stopped)) == told
