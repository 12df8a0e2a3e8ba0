"""Outputs that are made by hand, tuple by tuple."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from shoal.audit import Report, audit
from shoal.policy import Policy

AGE, PULSE = [0, 100], [0, 200]
SHOWN: dict[str, Any] = {"age": [30, 50], "pulse": [60, 80]}


@dataclass
class Stage:
    """Records, and what is published of them so far."""

    policy: Policy
    people: list[dict[str, Any]]
    output: list[dict[str, Any]] = field(default_factory=list)
    trace: list[dict[str, Any]] = field(default_factory=list)

    def leave(self, rows: Iterable[int], released: float, how: str = "cluster", cluster: int | None = 0, **shown: Any) -> None:
        """Let these records leave at once."""
        for row in rows:
            arrived = self.people[row]["ts"] if self.policy.window.timed else row
            self.output.append({**SHOWN, **shown, "illness": self.people[row]["illness"]})
            self.trace.append({"row": row, "how": how, "cluster": cluster, "arrived": arrived, "released": released})

    def suppress(self, rows: Iterable[int], released: float) -> None:
        self.leave(rows, released, "suppressed", None, age=AGE, pulse=PULSE)

    def report(self, traced: bool = True) -> Report:
        return audit(self.policy, table(self.people), table(self.output), table(self.trace) if traced else None)


def table(rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as they are read from JSON lines, where a column may hold nothing but nulls."""
    return pa.table({name: pa.array([row[name] for row in rows]) for name in rows[0]})


def stage(illnesses: Iterable[Any], privacy: dict[str, Any], illness: dict[str, Any] | None = None, **more: Any) -> Stage:
    """A stage with a record for each of these values, each of another person, whose quasi-identifiers all look alike."""
    written: dict[str, Any] = {
        "person": "pid",
        "nulls": ["", "?"],
        "attributes": {
            "age": {"quasi": "numeric", "range": AGE},
            "pulse": {"quasi": "numeric", "range": PULSE},
            "illness": {"sensitive": True, **(illness or {})},
        },
        "privacy": {"k": 2, **privacy},
        "window": {"count": 20},
        "algorithm": {"name": "fads"},
        "suppressed": "publish",
        **more,
    }
    people = [
        {"pid": row, "ts": float(row), "age": 30.0 + row, "pulse": 60.0 + row, "illness": each}
        for row, each in enumerate(illnesses)
    ]
    return Stage(Policy.parse(written), people)


def said(report: Report) -> dict[str, list[str]]:
    """What is said of each promise that was broken."""
    return {each.promise: [str(violation) for violation in each.violations] for each in report.promises if each.broken}
