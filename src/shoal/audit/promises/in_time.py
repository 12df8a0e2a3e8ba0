"""No tuple is held past its deadline, on the stream's own clock."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.audit.evidence import NO_ROW, Evidence, Trace
from shoal.audit.finding import Docket, Finding, Verdict
from shoal.audit.held import held
from shoal.audit.values import Flags, Floats
from shoal.policy import Policy

NAME = "in time"
SAYS = "no tuple is held past its deadline, measured on the stream's own clock"
_SHARES = (0.5, 0.9, 0.99)
_BARS = 20
INSTANT = 2e-6  # seconds


def check(evidence: Evidence) -> Finding:
    """Compare when each tuple came and left, by the trace; its arrivals are checked against the input."""
    docket, policy, told = Docket(evidence), evidence.policy, evidence.releases
    longest = deadline(policy)
    figures: dict[str, Any] = {"deadline": None if math.isinf(longest) else longest, "unit": _unit(policy)}
    if math.isinf(longest):
        otherwise, note = Verdict.NOT_PROMISED, _why(policy)
    else:
        otherwise, note = Verdict.HELD, ""
    if told is None:
        otherwise = Verdict.NOT_PROMISED if math.isinf(longest) else Verdict.NOT_CHECKABLE
        return docket.finding(NAME, SAYS, otherwise=otherwise, note=note or "needs a trace", figures=figures)
    wait = told.released - told.arrived
    now = clock(evidence)
    known = told.row != NO_ROW
    came = np.where(known, now[told.row] if len(now) else math.nan, math.nan)
    if policy.window.timed:
        docket.lines(np.flatnonzero(told.arrived < came - INSTANT), "the trace lets it arrive before its own time")
        docket.lines(_overtaken(told), "the trace lets it arrive after a record that came later")
        now = _ticked(now, told)
        ticked = int((told.arrived > came + INSTANT).sum())
        if ticked:
            said = f"{ticked:,} tuples arrived later by the trace than by their own time, as they do after clock ticks"
            note = "; ".join(filter(None, [note, said]))
    else:
        docket.lines(np.flatnonzero(known & (told.arrived != came)), "the trace gives it another arrival than the input")
    docket.lines(np.flatnonzero(wait < 0), "left before it came")
    late = told.released > _due(told, now, _stretched(policy))
    docket.lines(np.flatnonzero(late), f"left past its deadline of {longest:g} {_unit(policy)}")
    docket.lines(_displaced(told, late), "the trace lets it leave out of order")
    if policy.stretch > 1:
        stretched = figures["stretched"] = _stretch(evidence, docket, told, _due(told, now, stays(policy)), late)
        note = "; ".join(filter(None, [note, f"{stretched:,} tuples were held past the window, for want of k persons"]))
    figures |= {"late": int(late.sum()), **_waiting(wait)}
    return docket.finding(NAME, SAYS, otherwise=otherwise, note=note, checked=len(wait), figures=figures)


def deadline(policy: Policy) -> float:
    """The longest that a tuple may wait, in arrivals or seconds; infinite where nothing is promised."""
    return sum(_stretched(policy))


def _stretched(policy: Policy) -> tuple[float, ...]:
    return tuple(policy.stretch * stay for stay in stays(policy))


def stays(policy: Policy) -> tuple[float, ...]:
    """How long a tuple is held in the window and, of X-BAND, after that in the pocket, while k persons are there."""
    algorithm, window = policy.algorithm, policy.window
    if window.kind == "buffer" or (algorithm.name == "fast" and window.timed):
        return (math.inf,)
    if algorithm.name == "fast":
        return (float(window.length if algorithm.deadline is None else algorithm.deadline),)
    return (window.length, policy.reuse.age) if algorithm.name == "xband" else (window.length,)


def _why(policy: Policy) -> str:
    if policy.window.kind == "buffer":
        return "a buffer window bounds memory, not waiting"
    if policy.algorithm.name == "fast":
        return "fast waits for full rounds under a time window, whatever the clock says"
    return "reuse_age is unbounded"


def _unit(policy: Policy) -> str:
    return "seconds" if policy.window.timed else "arrivals"


def clock(evidence: Evidence) -> Floats:
    """When each record arrived: its number, or the newest time seen by then."""
    if not evidence.policy.window.timed or evidence.time is None:
        return np.arange(evidence.accepted, dtype=np.float64)
    return np.maximum.accumulate(evidence.time)


def _ticked(now: Floats, told: Trace) -> Floats:
    """When each record arrived, if one that is older than a tick counts as arriving at the tick."""
    known, moved = told.row != NO_ROW, now.copy()
    moved[told.row[known]] = np.maximum(now[told.row[known]], told.arrived[known])
    return moved


def _overtaken(told: Trace) -> NDArray[np.int64]:
    """The lines whose arrival is later than that of a record behind them: the clock never runs backwards."""
    lines = np.flatnonzero(told.row != NO_ROW)
    lines = lines[np.argsort(told.row[lines], kind="stable")]
    arrived = told.arrived[lines]
    behind = np.minimum.accumulate(arrived[::-1])[::-1]
    return np.sort(lines[arrived > behind + INSTANT])


def _due(told: Trace, clock: Floats, stays: tuple[float, ...]) -> Floats:
    """When each tuple has to leave at the latest.

    The clock moves only when a record arrives or a tick comes, of which those are known that let something go. So a
    stay is over at the first such moment that is its end or later, where the next stay begins.
    """
    if math.isinf(sum(stays)) or not len(told.row):
        return np.full(len(told.row), math.inf)
    moments = np.unique(np.concatenate([clock, told.released]))
    due = told.arrived
    for stay in stays:
        due = _first(moments, due, stay)
    return due


def _stretch(evidence: Evidence, docket: Docket, told: Trace, due: Floats, late: Flags) -> int:
    """How many were held past the window; enter those who were although k persons were there. The late are named already."""
    k, stretched = evidence.policy.privacy.k, told.released > due
    if len(stays(evidence.policy)) == 1 and evidence.policy.algorithm.name != "fast":
        lines = np.flatnonzero(stretched & ~late)
        there = held(told, evidence.person_of(told.row), due[lines]) if len(lines) else lines
        docket.lines(lines[there >= k], f"kept longer than the window although k={k} persons were there")
    return int(stretched.sum())


def _displaced(told: Trace, late: Flags) -> NDArray[np.int64]:
    """The lines that left before one above them, or after one below, whichever are fewer; not those that are late anyway."""
    lines = np.flatnonzero(~late)
    released = told.released[lines]
    early = released < np.maximum.accumulate(released)
    delayed = released > np.minimum.accumulate(released[::-1])[::-1]
    return lines[early if early.sum() <= delayed.sum() else delayed]


def _first(moments: Floats, since: Floats, stay: float) -> Floats:
    """The first moment that is at least `stay` after each `since`; infinite if there is none."""
    place = np.searchsorted(moments, since + stay)
    for step in (-1, 0):  # rounding may have put the sum beside the moment
        near = np.clip(place + step, 0, len(moments) - 1)
        place = np.where(moments[near] - since >= stay, np.minimum(place, near), place)
    return np.append(moments, math.inf)[place]


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
