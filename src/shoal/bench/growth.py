"""How the cost of a tuple grows with the window, with k, and with the number of quasi-identifiers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, TypedDict

import numpy as np

from shoal.bench.session import Session, anonymize
from shoal.bench.stopwatch import Job, Timing, interleaved
from shoal.bench.table import Table, count, whole

AXES = {"window": "window", "k": "k", "quasi": "quasi-identifiers"}


class Row(TypedDict):
    axis: str
    value: int
    algorithm: str
    timing: Timing
    loss: float


class Growth(TypedDict):
    rows: list[Row]
    fixed: dict[str, int]


def measure(session: Session) -> Growth:
    s = session.settings
    points = {"window": s.windows, "k": s.ks, "quasi": s.quasis}
    keys = [(axis, value, each) for axis, values in points.items() for value in values for each in session.contenders]
    jobs = []
    for axis, value, contender in keys:
        change: dict[str, Any] = {axis: value}
        changed = replace(s, **change)
        work = partial(anonymize, session.policy(contender, changed), session.stream(s.growth, changed))
        jobs.append(Job(f"{contender.label}, {AXES[axis]} {value:,}", work, s.growth))
    timed = interleaved(jobs, s.rounds, session.step)
    rows: list[Row] = [
        {"axis": axis, "value": value, "algorithm": contender.label, "timing": each.timing, "loss": each.result.loss}
        for (axis, value, contender), each in zip(keys, timed, strict=True)
    ]
    return {"rows": rows, "fixed": {"window": s.window, "k": s.k, "quasi": s.quasi}}


def tables(result: Growth) -> list[Table]:
    fixed = result["fixed"]
    found = []
    for axis, name in AXES.items():
        rows = [row for row in result["rows"] if row["axis"] == axis]
        values = sorted({row["value"] for row in rows})
        lines = []
        for algorithm in dict.fromkeys(row["algorithm"] for row in rows):
            costs = [row["timing"]["ns"] for row in rows if row["algorithm"] == algorithm]
            lines.append((algorithm, *map(whole, costs), f"{exponent(values, costs):+.2f}"))
        rest = ", ".join(f"{AXES[other]} {fixed[other]:,}" for other in AXES if other != axis)
        tuples = count(rows[0]["timing"]["tuples"])
        title = f"ns a tuple by {name} ({rest}; {tuples} tuples)"
        header = (name, *(f"{value:,}" for value in values), "exponent")
        found.append(Table(title, header, lines))
    return [*found[:-1], replace(found[-1], notes=["The exponent is e where cost grows as the e-th power."])]


def exponent(values: list[int], costs: list[float]) -> float:
    """The e for which the costs go most nearly as values ** e.

    >>> round(exponent([1, 2, 4], [3.0, 6.0, 12.0]), 6)
    1.0
    """
    if len(values) < 2:
        return 0.0
    return float(np.polyfit(np.log(values), np.log(costs), 1)[0])
