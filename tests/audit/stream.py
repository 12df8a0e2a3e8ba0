"""Good outputs, and what is needed to plant a violation in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import shoal
from shoal.audit import Report, Verdict, audit
from shoal.policy import Policy

ALGORITHMS = ("castle", "fads", "fast", "idea", "iot", "kvarp", "tide", "xband")
WINDOWS = {"count": "{count: 60}", "time": "{time: 40s}", "buffer": "{buffer: 60}"}
K = 4
CITIES = {"Europe": {"France": ["Paris", "Lyon", "Nice"], "Norway": ["Oslo", "Bergen"], "Malta": "Valletta"}}
LEAVES = ["Paris", "Lyon", "Nice", "Oslo", "Bergen", "Valletta"]


def policy(algorithm: str = "fads", window: str = "count", parameters: dict[str, Any] | None = None, **more: Any) -> Policy:
    """A policy with a bit of everything."""
    age = {"reuse_age": "80s"} if algorithm == "fast" and window == "time" else {}
    written: dict[str, Any] = {
        "person": "pid",
        "time": {"field": "ts", "publish": "generalize" if window == "time" else "keep"},
        "nulls": ["", "?", "-1"],
        "attributes": {
            "age": {"quasi": "numeric", "range": [0, 100], "grid": 5},
            "pulse": {"quasi": "numeric", "range": [40, 200], "out_of_range": "clip"},
            "city": {"quasi": "categorical", "hierarchy": CITIES, "unknown": "root"},
            "illness": {"sensitive": True},
            "note": {"publish": "keep"},
        },
        "privacy": {"k": K, "nulls_match": "maybe"},
        "window": {window: 60 if window != "time" else "40s"},
        "algorithm": {"name": algorithm, **age, **(parameters or {})},
    }
    return Policy.parse({**written, **more})


def records(rows: int = 400, seed: int = 0, gaps: tuple[float, ...] = (0, 1)) -> Iterator[dict[str, Any]]:
    """Records of persons who come back, with values missing, unknown, out of range, and some that are to be rejected."""
    random = Random(seed)
    ts = 1_700_000_000.0
    for row in range(rows):
        ts += random.choice(gaps) if row % 97 else 0
        yield {
            "pid": f"p{random.randrange(70)}",
            "ts": ts,
            "age": random.choice([random.randrange(100), random.randrange(100), None, "?", -1]) if row % 97 else 333,
            "pulse": random.choice([random.randrange(40, 200) / 1, 60.5, None, 250]),
            "city": random.choice([*LEAVES, " Oslo ", "Atlantis", None]),
            "illness": random.choice(["flu", "angina", None, "gout"]),
            "note": row,
        }


@dataclass
class Case:
    """A run whose output and trace can be altered line by line."""

    policy: Policy
    source: Path
    target: Path
    trace_file: Path
    output: list[dict[str, Any]]
    trace: list[dict[str, Any]]

    def report(self, traced: bool = True) -> Report:
        write(self.target, self.output)
        write(self.trace_file, self.trace)
        return audit(self.policy, self.source, self.target, self.trace_file if traced else None)

    def groups(self) -> list[list[int]]:
        """The output rows of the groups that left together."""
        members: dict[int, list[int]] = {}
        for row, line in enumerate(self.trace):
            if line["how"] == "cluster":
                members.setdefault(line["cluster"], []).append(row)
        return list(members.values())

    def group(self) -> list[int]:
        """The first group."""
        return self.groups()[0]

    def row(self, how: str) -> int:
        return next(row for row, line in enumerate(self.trace) if line["how"] == how)


def case(folder: Path, algorithm: str = "fads", window: str = "count", complete: bool = False) -> Case:
    """A good run; on request of records that miss nothing."""
    chosen = policy(algorithm, window)
    source, target, trace_file = folder / "in.jsonl", folder / "out.jsonl", folder / "trace.jsonl"
    usual = {"age": 50, "pulse": 70, "city": "Oslo"}
    lines = list(records())
    if complete:
        lines = [{**line, **{name: value for name, value in usual.items() if line[name] in (None, "?", -1)}} for line in lines]
    write(source, lines)
    shoal.run(chosen, source, target, trace=trace_file)
    return Case(chosen, source, target, trace_file, read(target), read(trace_file))


def write(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def judged(report: Report) -> dict[str, Any]:
    """The report as JSON, without the record of the files and the moment, and the assessment, which has it too."""
    found = json.loads(report.to_json())
    del found["record"], found["assessment"]
    return found


def broken(report: Report) -> list[str]:
    return [finding.promise for finding in report.promises if finding.verdict == Verdict.BROKEN]
