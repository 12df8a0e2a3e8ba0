"""An audit in parts: each part of a stream is judged where it lies, and the findings are put together.

A part has whole groups: all tuples that show a group, and their records. What a promise says of a group, a tuple or a record
can be seen there. What it needs of the whole stream are the moments at which its clock moved: `Whole`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from shoal.audit.algorithms import stays
from shoal.audit.evidence import Evidence, gather
from shoal.audit.finding import SHOWN, Finding, Verdict
from shoal.audit.promises import promises
from shoal.audit.trace import NO_ROW
from shoal.audit.values import Floats
from shoal.errors import PolicyError
from shoal.policy import Policy

_TOGETHER: dict[str, Any] = {
    **dict.fromkeys(("smallest", "least"), min),
    **dict.fromkeys(("largest", "largest_share", "longest"), max),
    **dict.fromkeys(
        ("groups", "accepted", "rejected", "released", "dropped", "late", "missing", "missing_published", "unnamed"), sum
    ),
}
_WORST = (Verdict.BROKEN, Verdict.NOT_CHECKABLE, Verdict.NOT_PROMISED, Verdict.HELD)


class Whole(NamedTuple):
    """What a part has to know of the whole stream."""

    accepted: int
    moments: Floats  # when the clock moved; where it counts arrivals: only when tuples left after the last one


def check_parts(policy: Policy) -> None:
    """Refuse policies whose promises cannot be judged in parts.

    Raises
    ------
    PolicyError
        A promise compares with the whole stream.
    """
    problems = []
    if policy.is_filter:
        problems.append("algorithm: z-anonymity is judged by shoal audit, which needs no trace for it")
    else:
        if policy.bags:
            problems.append("bags: are judged by shoal audit")
        if policy.releases:
            problems.append("releases: the trace does not show which records the budget held back")
        if policy.stretch > 1:
            problems.append("sparse: who was in a stretched window is judged by shoal audit")
        if any(demand.t is not None and demand.distribution is None for demand in policy.requirements):
            problems.append("privacy.t: without a distribution is compared with the whole stream; use shoal audit")
    if problems:
        raise PolicyError(problems)


def judge_part(
    policy: Policy, input: pa.Table, output: pa.Table, trace: pa.Table, came: Floats, run: Floats, whole: Whole
) -> tuple[Finding, ...]:
    """Check each promise on a part of a stream.

    Parameters
    ----------
    input, output, trace
        As those of an audit; rows of the trace are rows of this input.
    came
        When each record of the input came, by the clock of the whole stream.
    run
        For each line of the trace a number: the same for members of a group that left at once, and rising within a group.
    """
    evidence = gather(policy, input, output, trace)
    assert evidence.releases is not None
    grouped = replace(evidence, releases=evidence.releases._replace(released=run))
    timed = _on_the_clock(evidence, came[evidence.line], whole)
    return tuple(check(timed if name == "in time" else grouped) for name, check in promises(policy).items())


def _on_the_clock(evidence: Evidence, came: Floats, whole: Whole) -> Evidence:
    """The evidence for *in time*: among the records of the part stand the moments of the stream."""
    releases = evidence.releases
    assert releases is not None
    moments = whole.moments
    if not evidence.policy.window.timed:
        ends = [releases.arrived + wait for wait in np.cumsum(stays(evidence.policy)) if wait < math.inf]
        moments = np.concatenate([moments, *(end[end < whole.accepted] for end in ends)])
    known = releases.row != NO_ROW
    arrived = np.full(len(came), math.inf)
    arrived[releases.row[known]] = releases.arrived[known]
    clock = np.concatenate([moments, came])
    order = np.lexsort((np.concatenate([np.full(len(moments), -math.inf), arrived]), clock))
    place = np.empty(len(clock), np.int64)
    place[order] = np.arange(len(clock))
    row = np.where(known, np.append(place[len(moments) :], NO_ROW)[releases.row], NO_ROW)
    line = np.append(np.zeros(len(moments), np.int64), evidence.line)[order]
    return replace(evidence, clock=clock[order], line=line, releases=releases._replace(row=row))


def together(parts: Iterable[Sequence[Finding]]) -> tuple[Finding, ...]:
    """The findings on the whole stream.

    >>> found = [[Finding("once", "", verdict, checked=2, broken=broken)] for verdict, broken in (("held", 0), ("broken", 1))]
    >>> [(each.verdict, each.checked, each.broken) for each in together(found)]
    [('broken', 4, 1)]
    """
    return tuple(_one(found) for found in zip(*parts, strict=True))


def _one(found: Sequence[Finding]) -> Finding:
    first, notes = found[0], {each.note for each in found}
    figures = {name: _figure(name, [each.figures[name] for each in found]) for name in first.figures}
    return Finding(
        first.promise, first.says,
        min((each.verdict for each in found), key=_WORST.index),
        note=notes.pop() if len(notes) == 1 else "",
        checked=sum(each.checked for each in found),
        broken=sum(each.broken for each in found),
        violations=tuple(violation for each in found for violation in each.violations)[:SHOWN],
        figures={name: value for name, value in figures.items() if value is not None},
    )  # fmt: skip


def _figure(name: str, values: Sequence[Any]) -> Any:
    """A figure of the whole stream; None where it does not follow from those of the parts."""
    known = [value for value in values if value is not None]
    if name in _TOGETHER:
        return _TOGETHER[name](known) if known else None
    return values[0] if all(value == values[0] for value in values) else None
