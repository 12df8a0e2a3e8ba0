"""`shoal run` and `shoal check` with a policy that releases or withholds at once."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from cli.base import ENVIRONMENT, shoal_run, write
from shoal import check, run
from shoal.anonymizer import FilterStats
from shoal.cli.run_display import faults, summary
from shoal.policy import Policy

pytestmark = pytest.mark.slow

POLICY = """
person: user
time: {field: t}
item: {field: site}
algorithm: {name: zanon, z: 2, window: 1h}
"""
VISITS = [{"t": t, "user": f"user-{t % 3}", "site": "abc"[t % 2]} for t in range(12)]
NO_SECRET = "SHOAL_SECRET: is not set, and algorithm.secret_file names no file; pseudonyms need a secret of at least 16 bytes"
NOTE = "time: is published as it came, exactly, and so are kept attributes; either may single an observation out"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("SHOAL_SECRET", raising=False)
    (tmp_path / "policy.yaml").write_text(POLICY)
    write(tmp_path / "visits.jsonl", [*VISITS])
    return tmp_path


def test_from_file_to_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENT, "SHOAL_SECRET", "sixteen bytes or more")
    done = shoal_run("run", "policy.yaml", "visits.jsonl", "out.jsonl", "--trace", "trace.jsonl", cwd=folder)
    assert done.returncode == 0, done.stderr
    out = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert [each["t"] for each in out] == list(range(2, 12))
    assert {each["site"] for each in out} == {"a", "b"}
    assert len({each["user"] for each in out}) == 3
    assert "user-" not in (folder / "out.jsonl").read_text()
    trace = [json.loads(line) for line in (folder / "trace.jsonl").read_text().splitlines()]
    assert trace[0] == {"row": 2, "how": "released", "z": 2} and len(trace) == len(out)


def test_every_format_says_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_SECRET", "sixteen bytes or more")
    policy = folder / "policy.yaml"
    for kind in ("csv", "parquet", "arrow"):
        run(policy, folder / "visits.jsonl", folder / f"out.{kind}")
        (folder / "one.yaml").write_text(POLICY.replace("z: 2", "z: 1"))
        run(folder / "one.yaml", folder / f"out.{kind}", folder / f"{kind}.jsonl")
        found = [json.loads(line) for line in (folder / f"{kind}.jsonl").read_text().splitlines()]
        assert [(float(each["t"]), each["site"]) for each in found] == [(t, "ab"[t % 2]) for t in range(2, 12)]


def test_without_a_secret_it_refuses(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(ENVIRONMENT, "SHOAL_SECRET", raising=False)
    done = shoal_run("run", "policy.yaml", "visits.jsonl", "out.jsonl", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"policy.yaml: {NO_SECRET}\n")
    assert not (folder / "out.jsonl").exists()


def test_a_check_counts_users(folder: Path) -> None:
    found = check(folder / "policy.yaml", folder / "visits.jsonl")
    assert (found.problems, found.warnings, found.rows, found.complete) == ((), (NOTE, NO_SECRET), 12, True)
    (folder / "policy.yaml").write_text(POLICY.replace("z: 2", "z: 20"))
    few = "algorithm.z: the input has only 3 users, below z=20: nothing is released"
    assert check(folder / "policy.yaml", folder / "visits.jsonl").warnings == (NOTE, NO_SECRET, few)


def test_a_check_finds_what_would_be_rejected(folder: Path) -> None:
    write(folder / "visits.jsonl", [VISITS[0], {"t": 1, "user": "Agnes"}, {"user": "Agnes", "site": "a"}, "{"])
    found = check(folder / "policy.yaml", folder / "visits.jsonl")
    assert found.problems[1:] == (
        "'site', 1 of 4 rows, first row 2: the item is missing; give one",
        "'t', 1 of 4 rows, first row 3: the time is missing; every record needs one",
    )
    assert "Agnes" not in " ".join(found.problems)


def test_the_summary() -> None:
    stats = FilterStats(received=110, rejected=10, reasons={}, released=60, generalized=20, withheld=40, z=2)
    console = Console(file=StringIO(), width=90)
    console.print(summary(Policy.parse(POLICY), stats, 2.0))
    assert isinstance(console.file, StringIO)
    lines = [line.strip("│ ").split("  ") for line in console.file.getvalue().splitlines()]
    told = {parts[0]: next(part.strip() for part in parts[1:] if part) for parts in lines[1:-1]}
    assert "zanon, z = 2" in lines[0][0]
    assert told == {
        "observations": "100",
        "observations per second": "50",
        "released": "60 (60.0 %)",
        "generalized": "20 (20.0 %)",
        "withheld": "40 (40.0 %)",
        "rejected": "10 (9.1 %)",
    }
    assert faults(stats) == []
