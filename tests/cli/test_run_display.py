"""The summary of a run, and fields that come and go, on a terminal and in a pipe."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cli.base import POLICY, Shoal, record, write
from shoal.anonymizer import Anonymizer, Drift, Stats
from shoal.cli.run_display import drift, faults, outside, summary
from shoal.policy import Policy

STATS = Stats(
    received=1000, rejected=10, reasons={"'age': infinite": 10}, held=0, released=990, groups=100, clustered=800,
    reused=90, suppressed=100, loss=0.2345, doubt=0.0, withheld=0, smallest_group=3, longest_wait=20.0, stretched=0, faults={},
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
        "OUTSIDE k": "100 (10.1 %)",
        "tuples per second": "495",
        "loss": "0.234",
        "smallest group": "3 persons",
        "longest wait": "20 arrivals",
        "reused": "90 (9.1 %)",
        "rejected": "10 (1.0 %)",
    }


@pytest.mark.parametrize(("beyond", "shown"), [("drop", "left out"), ("withhold", "without sensitive values")])
def test_records_beyond_the_budget(beyond: str, shown: str) -> None:
    more = f"\ntime: {{field: ts}}\nreleases: {{per_person: 1, per: 1d, beyond: {beyond}}}"
    policy, stats = Policy.parse(POLICY + more), replace(STATS, over_budget=50, suppressed=0)
    assert figures(policy, stats)["beyond budget"] == "50 (5.0 %)"
    assert outside(policy, stats) == [f"50 (5.0 %) records are beyond the budget of releases: {shown}"]
    assert outside(policy, replace(stats, over_budget=0)) == []


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


def test_drift_in_a_pipe(shoal: Shoal, folder: Path) -> None:
    fields = ("pid", "age", "city", "disease")
    first = [{name: record(i)[name] for name in fields} for i in range(100)]
    later = [{"pid": i, "city": "Paris", "disease": "x", "secret": 1} for i in range(100)]
    write(folder / "drifting.jsonl", [*first, *later])
    done = shoal("run", "policy.yaml", "drifting.jsonl", "out.jsonl")
    told = (
        "drifting.jsonl: 1 new field appeared later, and is ignored\n"
        "drifting.jsonl: 'age': was absent in 100 (50.0 %) of the records\n"
    )
    assert (done.returncode, done.stderr) == (0, told)


def test_a_field_that_the_file_does_not_have(shoal: Shoal, folder: Path) -> None:
    (folder / "narrow.csv").write_text("pid,city,disease\n" + "".join(f"{i},Paris,x\n" for i in range(50)))
    done = shoal("run", "policy.yaml", "narrow.csv", "out.jsonl")
    told = "narrow.csv: has no field 'age'; correct its name in the policy, or list it under input.optional\n"
    assert (done.returncode, done.stderr) == (2, told)


def test_drift_in_the_summary() -> None:
    policy = Policy.parse(POLICY)
    stats = replace(Anonymizer(policy).stats, received=1000, drift=Drift(new=2, absent={"age": 25}))
    grid = summary(policy, stats, 1.0).renderable
    names = [str(cell) for cell in grid.columns[0].cells]  # type: ignore[union-attr]
    assert names[-2:] == ["new fields", "without 'age'"]
    assert drift(stats) == [
        "2 new fields appeared later, and are ignored",
        "'age': was absent in 25 (2.5 %) of the records",
    ]
    assert drift(replace(stats, drift=Drift())) == []
