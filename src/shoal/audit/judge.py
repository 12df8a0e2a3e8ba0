"""The audit itself."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import NamedTuple

import numpy as np

from shoal.audit.classes import READINGS, classes
from shoal.audit.evidence import Evidence, gather
from shoal.audit.figures import STEPS, figures
from shoal.audit.files import Source
from shoal.audit.observations import evidence as observations
from shoal.audit.observations.figures import transactions
from shoal.audit.observations.promises import PROMISES as PROMISES_OF_Z
from shoal.audit.promises import promises
from shoal.audit.report import FilterReport, Reading, Report, WindowReport
from shoal.policy import Policy


class Progress(NamedTuple):
    """How far an audit has come."""

    doing: str
    done: int  # rows read, or checks made
    total: int | None


def audit(
    policy: Policy | str | PathLike[str],
    input: Source,
    output: Source,
    trace: Source | None = None,
    *,
    late: float | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Report:
    """Judge whether the promises of a policy held.

    Parameters
    ----------
    policy
        A policy, or the path of one.
    input, output, trace
        What went in, what came out, and how each tuple left: files as `run` reads and writes them, or Arrow tables.
        Without a trace less can be checked, and the report says what.
    late
        Seconds by which a record's own time may be behind the newest before it, where a pipeline rejected others.
    on_progress
        Called after each block that is read and before each check.

    Raises
    ------
    PolicyError, InputError
        The policy or a file cannot be used.
    """
    policy = policy if isinstance(policy, Policy) else Policy.load(policy)
    read: dict[str, int] = {}

    def count(what: str, rows: int) -> None:
        read[what] = read.get(what, 0) + rows
        on_progress(Progress(f"reading the {what}", read[what], None))

    if policy.is_filter:
        return judge_filter(observations.gather(policy, input, output, trace, count, late), on_progress)
    return judge(gather(policy, input, output, trace, count, late), on_progress)


def judge(evidence: Evidence, on_progress: Callable[[Progress], None] = lambda progress: None) -> WindowReport:
    """The report on evidence that has been gathered."""
    findings = []
    made = promises(evidence.policy)
    steps = len(made) + len(READINGS) + len(STEPS)
    for done, (name, promise) in enumerate(made.items()):
        on_progress(Progress(f"checking: {name}", done, steps))
        findings.append(promise.check(evidence))
    nulls: dict[str, Reading] = {}
    seen = {}
    for done, reading in enumerate(READINGS, len(made)):
        on_progress(Progress(f"classes under {reading} match", done, steps))
        found = seen[reading] = classes(evidence, reading)
        below = (found.size < evidence.policy.privacy.k) & ~evidence.suppressed & ~found.unknown
        nulls[reading] = Reading(
            smallest=found.smallest,
            floor=found.floor,
            below=int(below.sum()),
            alone=int(((found.size == 1) & ~found.unknown).sum()),
            shown=int((~evidence.suppressed).sum()),
            unknown=int(found.unknown.sum()),
        )
    before = len(made) + len(READINGS)

    def measuring(step: str) -> None:
        on_progress(Progress(f"measuring: {step}", before + STEPS.index(step), steps))

    measured = figures(evidence, seen, measuring)
    on_progress(Progress("done", steps, steps))
    rows = {
        "input": evidence.rows,
        "accepted": evidence.accepted,
        "output": evidence.released,
        "suppressed": int(np.count_nonzero(evidence.suppressed)),
    }
    unit = "rows" if evidence.trace is None else "persons"
    return WindowReport(evidence.policy, tuple(findings), rows, unit, nulls, measured)


def judge_filter(
    evidence: observations.Observed, on_progress: Callable[[Progress], None] = lambda progress: None
) -> FilterReport:
    """The report on z-anonymity."""
    findings = []
    steps = len(PROMISES_OF_Z) + 1
    for done, (name, promise) in enumerate(PROMISES_OF_Z.items()):
        on_progress(Progress(f"checking: {name}", done, steps))
        findings.append(promise.check(evidence))
    on_progress(Progress("measuring: attacks", steps - 1, steps))
    measured = transactions(evidence)
    on_progress(Progress("done", steps, steps))
    rows = {
        "input": evidence.rows,
        "accepted": evidence.accepted,
        "output": evidence.released,
        "withheld": max(0, evidence.accepted - measured.shown),
    }
    return FilterReport(evidence.policy, tuple(findings), rows, evidence.trace is not None, measured)
