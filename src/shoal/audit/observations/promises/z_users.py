"""At the moment an item is published, z users have exposed it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.audit.finding import Docket, Finding, Verdict
from shoal.audit.observations.evidence import NO_LEVEL, Observed
from shoal.audit.observations.recount import NO_NODE, recount
from shoal.audit.values import Flags

NAME = "z users"
SAYS = "of every item that is published, at least z users exposed it, or something below it, within the window before"


def check(evidence: Observed) -> Finding:
    """Recount every release; without a trace over the whole input, which can only count more."""
    docket = Docket(evidence)
    notes = [] if evidence.fixed else [_follows(evidence)]
    if evidence.trace is None:
        shown, users = _outsider(evidence)
        docket.rows(shown[users < evidence.least], _few(evidence))
        notes.append("needs a trace; without one the users of the whole input are counted, whenever they came")
        otherwise, checked = Verdict.NOT_CHECKABLE, len(shown)
    else:
        otherwise = Verdict.HELD
        users = _insider(evidence, docket)
        checked = len(users)
    figures = {"z": evidence.least, "fixed": evidence.fixed, "smallest": int(users.min()) if len(users) else None}
    return docket.finding(NAME, SAYS, otherwise=otherwise, checked=checked, note="; ".join(notes), figures=figures)


def _insider(evidence: Observed, docket: Docket) -> NDArray[np.int64]:
    """Enter who left with too few users, or under a wrong z; the users of each release."""
    rows, users = counted(evidence)
    if evidence.fixed:
        other = evidence.linked[evidence.told.z[evidence.linked] != evidence.least]
        docket.rows(other, "the trace tells another z than the policy")
    else:
        docket.rows(rows[evidence.told.z[rows] < evidence.least], f"the z of the trace is below the floor of {evidence.least}")
    docket.rows(np.flatnonzero(too_few(evidence)), _few(evidence))
    return users


def counted(evidence: Observed) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows that show their item or an ancestor, and the users of it by then."""
    known = evidence.level != NO_LEVEL
    rows, level = evidence.linked[known], evidence.level[known]
    return rows, evidence.count.users[evidence.told.row[rows], level].astype(np.int64)


def required(evidence: Observed, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The z that held when each of these rows left: the policy's, or the trace's."""
    return np.full(len(rows), evidence.least) if evidence.fixed else np.maximum(evidence.told.z[rows], evidence.least)


def too_few(evidence: Observed) -> Flags:
    """Which rows left with fewer than z users."""
    rows, users = counted(evidence)
    few = users < required(evidence, rows)
    behind = few & evidence.count.behind[evidence.told.row[rows]]
    for place in np.flatnonzero(behind).tolist():
        few[place] = _users(evidence, int(rows[place])) < required(evidence, rows[place : place + 1])[0]
    found = np.zeros(evidence.released, bool)
    found[rows[few]] = True
    return found


def _users(evidence: Observed, row: int) -> int:
    """The users who had exposed what a row shows within the window before its time, one by one.

    The recount forgets who was there a window before the newest; for a row that is far behind, less need be forgotten.
    """
    record = int(evidence.told.row[row])
    time = evidence.time[: record + 1]
    near = np.flatnonzero((time >= time[-1] - evidence.rule.window) & (time <= time[-1]))
    exposed = (evidence.nodes.path[near] == evidence.nodes.shown[row]).any(axis=1)
    return len(np.unique(evidence.user[near[exposed]]))


def _outsider(evidence: Observed) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows that show an item and a time that the input has, and the users of it until the end of that instant."""
    order = np.argsort(evidence.time, kind="stable")
    path, time = evidence.nodes.path[order], evidence.time[order]
    users = recount(path, evidence.user[order], time, evidence.rule.window).users
    moments = np.unique(time)
    record, level = np.nonzero(path != NO_NODE)
    key = path[record, level].astype(np.int64) * (len(moments) + 1) + np.searchsorted(moments, time[record])
    rank = np.lexsort((users[record, level], key))
    key, users = key[rank], users[record, level][rank]
    shown, at = evidence.nodes.shown.astype(np.int64), np.searchsorted(moments, evidence.shown_time)
    last = np.searchsorted(key, shown * (len(moments) + 1) + at, side="right") - 1
    fits = (shown >= 0) & np.isin(evidence.shown_time, moments) & (last >= 0)
    fits[fits] = key[last[fits]] == (shown * (len(moments) + 1) + at)[fits]
    return np.flatnonzero(fits), users[last[fits]].astype(np.int64)


def _few(evidence: Observed) -> str:
    z = f"z={evidence.least}" if evidence.fixed else "z" if evidence.trace else f"the floor of {evidence.least}"
    return f"fewer than {z} users had exposed what is published"


def _follows(evidence: Observed) -> str:
    if evidence.trace is None:
        return f"z follows the stream and stands in no file: counts are held against its floor of {evidence.least}"
    return f"z follows the stream: counts are held against the z of the trace, and that against its floor of {evidence.least}"
