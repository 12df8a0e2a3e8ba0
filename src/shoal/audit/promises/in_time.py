"""No tuple is held past its deadline, on the stream's own clock."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.audit.algorithms import deadline, rule, stays
from shoal.audit.evidence import Evidence
from shoal.audit.finding import Docket, Finding, Verdict
from shoal.audit.trace import NO_ROW, Trace, held
from shoal.audit.values import Flags, Floats, Ints

_SHARES = (0.5, 0.9, 0.99)
_BARS = 20
INSTANT = 2e-6  # seconds


def in_time(evidence: Evidence) -> Finding:
    """Compare when each tuple came and left, by the trace; the trace's arrivals are checked against the input."""
    says = "no tuple is held past its deadline, measured on the stream's own clock"
    docket, policy, trace = Docket(evidence), evidence.policy, evidence.releases
    longest, unit = deadline(policy), "seconds" if policy.window.timed else "arrivals"
    bounded = math.isfinite(longest)
    figures: dict[str, Any] = {"deadline": longest if bounded else None, "unit": unit}
    note = rule(policy).source if bounded else rule(policy).unbounded
    if trace is None:
        otherwise = Verdict.NOT_CHECKABLE if bounded else Verdict.NOT_PROMISED
        note = "needs a trace" if bounded else note
        return docket.finding("in time", says, otherwise=otherwise, note=note, figures=figures)
    otherwise = Verdict.HELD if bounded else Verdict.NOT_PROMISED
    wait = trace.released - trace.arrived
    now = clock(evidence)
    known = trace.row != NO_ROW
    came = np.where(known, now[trace.row] if len(now) else math.nan, math.nan)
    if policy.window.timed:
        docket.lines(np.flatnonzero(trace.arrived < came - INSTANT), "according to the trace, it arrived before its own time")
        docket.lines(_overtaken(trace), "according to the trace, it arrived after a record that came later")
        now = _ticked(now, trace)
        ticked = int((trace.arrived > came + INSTANT).sum())
        if ticked:
            said = f"{ticked:,} tuples arrived later by the trace than by their own time, as they do after clock ticks"
            note = "; ".join(filter(None, [note, said]))
    else:
        docket.lines(np.flatnonzero(known & (trace.arrived != came)), "the trace gives it another arrival than the input")
    docket.lines(np.flatnonzero(wait < 0), "left before it came")
    late = trace.released > _due(trace, now, stays(policy))
    docket.lines(np.flatnonzero(late), f"left past its deadline of {longest:g} {unit}")
    docket.lines(_displaced(trace, late), "according to the trace, it left out of order")
    if policy.stretch > 1:
        due = _due(trace, now, stays(policy, stretched=False))
        stretched = figures["stretched"] = _stretch(evidence, docket, trace, due, late)
        note = "; ".join(
            filter(None, [note, f"{stretched:,} tuples were held past the window: fewer than k persons were there"])
        )
    figures |= {"late": int(late.sum()), **_waiting(wait)}
    return docket.finding("in time", says, otherwise=otherwise, note=note, checked=len(wait), figures=figures)


def clock(evidence: Evidence) -> Floats:
    """When each record arrived: its number, or the newest time seen by then."""
    if evidence.clock is not None:
        return evidence.clock
    if not evidence.policy.window.timed or evidence.time is None:
        return np.arange(evidence.accepted, dtype=np.float64)
    return np.maximum.accumulate(evidence.time)


def _ticked(now: Floats, trace: Trace) -> Floats:
    """When each record arrived, where one that is older than a tick arrives at the tick."""
    known, moved = trace.row != NO_ROW, now.copy()
    moved[trace.row[known]] = np.maximum(now[trace.row[known]], trace.arrived[known])
    return moved


def _overtaken(trace: Trace) -> Ints:
    """The lines whose arrival is later than that of a record behind them: the clock never runs backwards."""
    lines = np.flatnonzero(trace.row != NO_ROW)
    lines = lines[np.argsort(trace.row[lines], kind="stable")]
    arrived = trace.arrived[lines]
    behind = np.minimum.accumulate(arrived[::-1])[::-1]
    return np.sort(lines[arrived > behind + INSTANT])


def _due(trace: Trace, clock: Floats, stays: tuple[float, ...]) -> Floats:
    """When each tuple has to leave at the latest.

    The clock moves only when a record arrives or a tick comes; ticks that released nothing are unknown. So a stay is over at
    the first known moment that is its end or later, and there the next stay begins.
    """
    if math.isinf(sum(stays)) or not len(trace.row):
        return np.full(len(trace.row), math.inf)
    moments = np.unique(np.concatenate([clock, trace.released]))
    due = trace.arrived
    for stay in stays:
        due = _first(moments, due, stay)
    return due


def _stretch(evidence: Evidence, docket: Docket, trace: Trace, due: Floats, late: Flags) -> int:
    """How many tuples were held past the window; a violation for each that was although k persons were there, unless late."""
    k, stretched = evidence.policy.privacy.k, trace.released > due
    if rule(evidence.policy).leaves_at_k:
        lines = np.flatnonzero(stretched & ~late)
        there = held(trace, evidence.person_of(trace.row), due[lines]) if len(lines) else lines
        docket.lines(lines[there >= k], f"kept longer than the window although k={k} persons were there")
    return int(stretched.sum())


def _displaced(trace: Trace, late: Flags) -> Ints:
    """The lines that left before one above them, or after one below, whichever are fewer; late ones are left out."""
    lines = np.flatnonzero(~late)
    released = trace.released[lines]
    early = released < np.maximum.accumulate(released)
    delayed = released > np.minimum.accumulate(released[::-1])[::-1]
    return lines[early if early.sum() <= delayed.sum() else delayed]


def _first(moments: Floats, since: Floats, stay: float) -> Floats:
    """The first moment that is at least `stay` after each `since`; infinite if there is none.

    A sum may be rounded to a moment beside it, on either side; the difference decides.

    >>> _first(np.array([1794771673.5598705, 1794771673.5599704]), np.array([1794771673.2598705]), 0.3).tolist()
    [1794771673.5599704]
    """
    ended = np.append(moments, math.inf)
    place = np.maximum(np.searchsorted(moments, since + stay) - 1, 0)
    with np.errstate(invalid="ignore"):  # a stay without an end is not followed by another
        for _ in range(2):
            place = place + (ended[place] - since < stay)
    return ended[place]


def _waiting(wait: Floats) -> dict[str, Any]:
    if not len(wait):
        return {"longest": None, "mean": None, "shares": {}, "histogram": {"edges": [], "counts": []}}
    counts, edges = _bars(wait)
    return {
        "longest": float(wait.max()),
        "mean": float(wait.mean()),
        "shares": {f"{share:g}": float(np.quantile(wait, share)) for share in _SHARES},
        "histogram": {"edges": edges.tolist(), "counts": counts.tolist()},
    }


def _bars(wait: Floats) -> tuple[NDArray[np.integer], Floats]:
    """Bars of equal width, and of whole width where all waits are whole.

    >>> counts, edges = _bars(np.array([0.0, 3.0, 30.0]))
    >>> edges.tolist()[:3], counts.tolist()[:3]
    ([0.0, 2.0, 4.0], [1, 1, 0])
    """
    top, bars = max(float(wait.max()), 1.0), _BARS
    if (wait == np.rint(wait)).all():
        width = math.ceil(top / _BARS)
        bars = math.ceil(top / width)
        top = float(width * bars)
    return np.histogram(wait, bins=bars, range=(0.0, top))
