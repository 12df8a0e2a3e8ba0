"""At the moment a tuple leaves, the group whose generalization it wears counts k persons."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.audit.classes import classes, promised
from shoal.audit.cover import is_root
from shoal.audit.evidence import CLUSTER, NO_CLUSTER, REUSE, SUPPRESSED, Evidence
from shoal.audit.finding import Docket, Finding, Verdict

NAME = "k persons"
SAYS = "whenever a tuple leaves unsuppressed, the group whose generalization it wears counts at least k persons"


def check(evidence: Evidence) -> Finding:
    """Replay the trace; without one, count the rows that an outsider cannot tell apart."""
    told, replay = evidence.releases, evidence.replay
    if told is None or replay is None:
        return _outsider(evidence)
    docket, k = Docket(evidence), evidence.policy.privacy.k
    member = replay.is_member
    member_person = np.where(member, evidence.person_of(told.row[replay.line]), -1)
    count, left = replay.so_far(replay.first_seen(member_person)), replay.so_far(member.astype(np.int64))
    few = count < k
    docket.lines(replay.line[member & few], f"left in a group of fewer than k={k} persons")
    docket.lines(replay.line[~member & (left == 0)], "reuses a group that was not published before")
    docket.lines(replay.line[~member & (left > 0) & few], f"reuses a group of fewer than k={k} persons")
    nameless = told.cluster == NO_CLUSTER
    docket.lines(np.flatnonzero((told.how == CLUSTER) & nameless), "left in a group that is not named")
    docket.lines(np.flatnonzero((told.how == REUSE) & nameless), "reuses a group that was not published before")
    sizes = count[member][np.unique(replay.group[member], return_index=True)[1]]
    figures: dict[str, Any] = {"k": k, "groups": len(sizes), "smallest": int(sizes.min()) if len(sizes) else None}
    note = "rows are counted as persons, since the policy names none" if evidence.policy.person is None else ""
    return docket.finding(NAME, SAYS, checked=int((told.how != SUPPRESSED).sum()), figures=figures, note=note)


def _outsider(evidence: Evidence) -> Finding:
    docket, k = Docket(evidence), evidence.policy.privacy.k
    reading = promised(evidence.policy)
    found = classes(evidence, reading)
    size = found.size
    if reading == "maybe":
        size = size + np.where(_shows_nothing(evidence), np.count_nonzero(evidence.suppressed), 0)
    few = np.flatnonzero((size < k) & ~evidence.suppressed & ~found.unknown)
    docket.rows(few, f"fewer than k={k} rows look like it")
    figures = {"k": k, "smallest": found.smallest, "floor": found.floor}
    note = "without a trace rows that look alike are counted, as an outsider sees them, not persons"
    unknown = int(found.unknown.sum())
    if unknown:
        note += f"; {unknown:,} rows match few others at sight and were not compared with all"
    checked = int((~evidence.suppressed).sum()) - unknown
    otherwise = Verdict.NOT_CHECKABLE if unknown else Verdict.HELD
    return docket.finding(NAME, SAYS, otherwise=otherwise, checked=checked, figures=figures, note=note)


def _shows_nothing(evidence: Evidence) -> NDArray[np.bool_]:
    """Which rows show a root or null everywhere: those that show roots alone, suppressed or not, look like them."""
    shown = ((evidence.published[name], attribute) for name, attribute in evidence.policy.quasi)
    return np.logical_and.reduce([is_root(column, attribute) | column.null for column, attribute in shown])
