"""The audit itself: gather the evidence, check the promises, measure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from typing import NamedTuple

import numpy as np

from shoal.audit.classes import READINGS, classes
from shoal.audit.evidence import Evidence
from shoal.audit.evidence import gather as gather_tuples
from shoal.audit.exposure import exposures
from shoal.audit.figures import STEPS, figures
from shoal.audit.files import Source
from shoal.audit.manifest import Span
from shoal.audit.observations.evidence import Observed, observe
from shoal.audit.observations.figures import transactions
from shoal.audit.observations.promises import PROMISES
from shoal.audit.original import Original
from shoal.audit.population import presence, read_population
from shoal.audit.promises import promises
from shoal.audit.record import recorded
from shoal.audit.report import FilterReport, Reading, Report, WindowReport
from shoal.audit.second_output import read_bags
from shoal.audit.trace import SUPPRESSED
from shoal.audit.whole_rows import whole_rows
from shoal.errors import InputError
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
    population: Source | None = None,
    ahead: float | None = None,
    span: Span | None = None,
    bags: Source | None = None,
    by: str | None = None,
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
    population
        Records of the population that the persons are drawn from, with the quasi-identifiers: for k-map and presence.
    ahead
        Seconds by which a record's own time may be ahead of the newest before it and of most of the hundred behind it, where
        a run or a pipeline rejected others.
    span
        The part of a running pipeline to judge, as `read_manifest` returns it from the pipeline's manifest.
    bags
        The second output, of a policy with `as: bag`.
    by
        Who runs the audit, for the report; by default the user of this process.
    on_progress
        Called after each block that is read and before each check.

    Raises
    ------
    PolicyError, InputError
        The policy or a file cannot be used.
    """
    written = None if isinstance(policy, Policy) else policy
    policy = policy if isinstance(policy, Policy) else Policy.load(policy)
    read: dict[str, int] = {}

    def count(what: str, rows: int) -> None:
        read[what] = read.get(what, 0) + rows
        on_progress(Progress(f"reading the {what}", read[what], None))

    if span is not None and trace is None:
        raise InputError("the manifest: needs the trace too; name the one that the pipeline writes")
    if bags is not None and (policy.is_filter or not policy.bags):
        raise InputError("the bags: no attribute of the policy is published in bags; leave them out")
    if bags is not None and span is not None:
        raise InputError("the bags: are judged with a whole stream, not with a part of it; leave them or the manifest out")
    evidence = gather(policy, input, output, trace, count, late, ahead, span, bags)
    around = None
    if population is not None:
        if policy.is_filter:
            raise InputError("the population: z-anonymity publishes no classes to compare it with; leave it out")
        around = read_population(policy, population, lambda rows: count("population", rows))
    files = {"input": input, "output": output, "bags": bags, "trace": trace, "policy": written, "population": population}
    return replace(judge(evidence, on_progress, around), record=recorded(files, by, span))


def gather(
    policy: Policy,
    input: Source,
    output: Source,
    trace: Source | None = None,
    on_rows: Callable[[str, int], None] = lambda what, rows: None,
    late: float | None = None,
    ahead: float | None = None,
    span: Span | None = None,
    bags: Source | None = None,
) -> Evidence | Observed:
    """Read the input, the output and, if there are any, the trace and the bags. Raises InputError if one cannot be used."""
    if policy.is_filter:
        return observe(policy, input, output, trace, on_rows, late, ahead, span)
    found = None if bags is None else read_bags(bags)
    return gather_tuples(policy, input, output, trace, on_rows, late, ahead, span, found)


def judge(
    evidence: Evidence | Observed,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    population: Original | None = None,
) -> Report:
    """The report on evidence that has been gathered."""
    if isinstance(evidence, Evidence):
        return _judge_tuples(evidence, on_progress, population)
    return _judge_filter(evidence, on_progress)


def _judge_tuples(evidence: Evidence, on_progress: Callable[[Progress], None], population: Original | None) -> WindowReport:
    findings = []
    made = promises(evidence.policy)
    steps = len(made) + len(READINGS) + len(STEPS)
    for done, (name, check) in enumerate(made.items()):
        on_progress(Progress(f"checking: {name}", done, steps))
        findings.append(check(evidence))
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
    if evidence.policy.suppressed == "drop":
        trace = evidence.releases
        rows["suppressed"] = (
            max(0, evidence.accepted - evidence.released) if trace is None else int((trace.how == SUPPRESSED).sum())
        )
    unit = "rows" if evidence.trace is None else "persons"
    whole = whole_rows(evidence)
    around = presence(evidence, population) if population is not None else None
    outsider = exposures(evidence.policy, [*measured.attacks, *([around[1]] if around else [])], whole)
    present = around[0] if around else None
    return WindowReport(evidence.policy, tuple(findings), rows, unit, nulls, measured, whole, outsider, present)


def _judge_filter(evidence: Observed, on_progress: Callable[[Progress], None]) -> FilterReport:
    findings = []
    steps = len(PROMISES) + 1
    for done, (name, check) in enumerate(PROMISES.items()):
        on_progress(Progress(f"checking: {name}", done, steps))
        findings.append(check(evidence))
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
