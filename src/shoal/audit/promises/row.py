"""Promises on the rows that are alike: no person has more than 1/k of them, and all show one time."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.audit.evidence import Evidence
from shoal.audit.finding import Docket, Finding, Verdict
from shoal.audit.published import Band
from shoal.audit.trace import NO_ROW
from shoal.audit.values import Flags, Floats, Ints

_INSTANT = 2e-6  # seconds; times are written to the millisecond, and computed in float64


def one_in_k(evidence: Evidence) -> Finding:
    """Count, at each moment of release, the rows of each person among all rows that show its group.

    It is enough to look at the persons that are released: the share of every other person only shrinks. Rows of several groups
    may look alike; if no person has more than 1/k of either, none has more than 1/k of both. What *k persons* and *once* name
    is not named again: groups while they count fewer than k persons, and records that left before.
    """
    says = "at each moment of release no person has more than 1/k of the rows that show a group, reuse included"
    docket, k, replay, releases = Docket(evidence), evidence.policy.privacy.k, evidence.replay, evidence.releases
    figures: dict[str, Any] = {"k": k, "largest_share": None}
    if replay is None or releases is None:
        note = "needs a trace, which names the records and the groups"
        return docket.finding("one in k", says, otherwise=Verdict.NOT_CHECKABLE, note=note, figures=figures)
    person = evidence.person_of(releases.row[replay.line])
    person[_is_again(releases.row)[replay.line]] = -1
    known = person >= 0
    rows = replay.so_far(known.astype(np.int64))
    own = _own_so_far(replay.group, person, replay.moment)
    known &= replay.so_far(replay.first_seen(person)) >= k
    docket.lines(replay.line[known & (own * k > rows)], f"its person has more than 1/{k} of the rows that show its group")
    if known.any():
        figures["largest_share"] = float((own[known] / rows[known]).max())
    return docket.finding("one in k", says, checked=int(known.sum()), figures=figures)


def _is_again(row: Ints) -> Flags:
    """Which lines name a record that an earlier line names."""
    found = np.ones(len(row), bool)
    found[np.unique(row, return_index=True)[1]] = False
    return found


def _own_so_far(group: Ints, person: Ints, moment: Ints) -> Ints:
    """How many rows of its group the person of each line has, up to the end of its moment.

    >>> _own_so_far(np.array([0, 0, 0, 1]), np.array([7, 7, 7, 7]), np.array([0, 0, 1, 2])).tolist()
    [2, 2, 3, 1]
    """
    size = len(group)
    order = np.lexsort((moment, person, group))
    group, person, moment = group[order], person[order], moment[order]
    other = np.append(True, (group[1:] != group[:-1]) | (person[1:] != person[:-1]))[:size]
    later = other | np.append(True, moment[1:] != moment[:-1])[:size]
    first = np.maximum.accumulate(np.where(other, np.arange(size), 0))
    ends = np.append(np.flatnonzero(later)[1:], size)
    found = np.empty(size, np.int64)
    found[order] = ends[np.cumsum(later) - 1] - first
    return found


def one_time(evidence: Evidence) -> Finding:
    """Compare the time that each row shows with those of its group, with the record's own, and with the grid."""
    says = "all rows of a group show one interval of time, which holds the time of each; its ends lie on the grid"
    docket, field, moment, grid = Docket(evidence), evidence.time_field, evidence.moment, evidence.policy.time_grid
    assert field is not None and moment is not None and grid is not None
    figures: dict[str, Any] = {"grid": grid, "mean_width": None}
    docket.fields([field])
    if field in evidence.absent:
        return docket.finding("one time", says, figures=figures)
    shown = ~moment.null
    wrong = evidence.suppressed & shown
    docket.rows(np.flatnonzero(wrong), "is suppressed, but shows a time", field)
    nothing = ~evidence.suppressed & ~shown
    docket.rows(np.flatnonzero(nothing), "shows no time", field)
    rest = ~evidence.suppressed & shown
    off = rest & ~(_on_grid(moment.lo, grid) & _on_grid(moment.hi, grid))
    docket.rows(np.flatnonzero(off), "an end of the time is not a multiple of time.grid", field)
    if rest.any():
        figures["mean_width"] = float((moment.hi - moment.lo)[rest].mean())
    if evidence.trace is None:
        note = "needs a trace, which names the groups; without one only the ends are checked"
        return docket.finding("one time", says, otherwise=Verdict.NOT_CHECKABLE, note=note, figures=figures)
    other = rest & ~off & _differs(evidence, moment)
    docket.rows(np.flatnonzero(other), "shows another time than its group", field)
    missed = rest & ~off & ~other & ~_holds(evidence, moment)
    docket.rows(np.flatnonzero(missed), "its own time lies outside the time that is shown", field)
    return docket.finding("one time", says, checked=evidence.released, figures=figures)


def _on_grid(ends: Floats, grid: float) -> Flags:
    with np.errstate(invalid="ignore"):
        found: Flags = np.abs(ends - grid * np.round(ends / grid)) < _INSTANT
    return found


def _holds(evidence: Evidence, moment: Band) -> Flags:
    """Which rows show an interval that holds the time of their record."""
    assert evidence.trace is not None and evidence.time is not None
    known = evidence.trace.row != NO_ROW
    own = evidence.time[np.where(known, evidence.trace.row, 0)] if len(evidence.time) else np.zeros(len(known))
    found: Flags = ~known | ((moment.lo - _INSTANT <= own) & (own <= moment.hi + _INSTANT))
    return found


def _differs(evidence: Evidence, moment: Band) -> Flags:
    """Which rows show another interval than the first row of their group that shows one."""
    assert evidence.trace is not None
    cluster = evidence.trace.cluster
    found = np.zeros(len(cluster), bool)
    rows = np.flatnonzero(~evidence.suppressed & ~moment.null & (cluster >= 0))
    if len(rows):
        _, first, group = np.unique(cluster[rows], return_index=True, return_inverse=True)
        found[rows] = (moment.lo[rows] != moment.lo[rows[first]][group]) | (moment.hi[rows] != moment.hi[rows[first]][group])
    return found
