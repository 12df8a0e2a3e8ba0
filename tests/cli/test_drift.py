"""Fields that come and go are told of, on a terminal and in a pipe."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cli.base import Shoal, record, write
from shoal import Anonymizer, Policy
from shoal.anonymizer import Drift
from shoal.cli.summary import drift, summary
from tests.cli.base import POLICY

pytestmark = pytest.mark.slow


def test_a_pipe(shoal: Shoal, folder: Path) -> None:
    fields = ("pid", "age", "city", "disease")
    first = [{name: record(i)[name] for name in fields} for i in range(100)]
    later = [{"pid": i, "city": "Paris", "disease": "x", "secret": 1} for i in range(100)]
    write(folder / "drifting.jsonl", [*first, *later])
    done = shoal("run", "policy.yaml", "drifting.jsonl", "out.jsonl")
    told = (
        "drifting.jsonl: 1 new field came up on the way, and is ignored\n"
        "drifting.jsonl: 'age': was not there in 100 (50.0 %) of the records\n"
    )
    assert (done.returncode, done.stderr) == (0, told)


def test_a_field_that_the_file_does_not_have(shoal: Shoal, folder: Path) -> None:
    (folder / "narrow.csv").write_text("pid,city,disease\n" + "".join(f"{i},Paris,x\n" for i in range(50)))
    done = shoal("run", "policy.yaml", "narrow.csv", "out.jsonl")
    assert (done.returncode, done.stderr) == (0, "narrow.csv: 'age': was not there in 50 (100.0 %) of the records\n")


def test_the_summary() -> None:
    policy = Policy.parse(POLICY)
    stats = replace(Anonymizer(policy).stats, received=1000, drift=Drift(new=2, absent={"age": 25}))
    grid = summary(policy, stats, 1.0).renderable
    names = [str(cell) for cell in grid.columns[0].cells]  # type: ignore[union-attr]
    assert names[-2:] == ["new fields", "without 'age'"]
    assert drift(stats) == [
        "2 new fields came up on the way, and are ignored",
        "'age': was not there in 25 (2.5 %) of the records",
    ]
    assert drift(replace(stats, drift=Drift())) == []
