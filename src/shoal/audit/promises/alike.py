"""All who wear the generalization of a group wear the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.audit.evidence import CLUSTER, Evidence, Trace
from shoal.audit.finding import Docket, Finding, Verdict
from shoal.audit.keys import NULL_KEY, Keys, keys
from shoal.audit.promises.true import untrue

NAME = "alike"
SAYS = "all members of a group, and all who reuse it, wear the same generalization"


def check(evidence: Evidence) -> Finding:
    """Compare what the rows of each group show; rows that are already untrue are not named twice."""
    docket = Docket(evidence)
    told = evidence.trace
    if told is None:
        return docket.finding(NAME, SAYS, otherwise=Verdict.NOT_CHECKABLE, note="needs a trace, which tells the groups")
    wearing = np.flatnonzero(~evidence.suppressed & (told.cluster >= 0) & ~untrue(evidence)[0])
    order = wearing[np.argsort(told.cluster[wearing], kind="stable")]
    cluster = told.cluster[order]
    starts = np.flatnonzero(np.append(True, cluster[1:] != cluster[:-1])) if len(order) else np.empty(0, np.int64)
    for name, each in zip(evidence.published, keys(evidence.published), strict=True):
        if name in evidence.absent or not len(order):
            continue
        values = each[order]
        docket.rows(_odd(values, told, order, starts), "wears another generalization than its group", name)
        docket.rows(_beyond(values, told, order, starts), "shows what no member of its group shows", name)
    return docket.finding(NAME, SAYS, checked=len(order), figures={"groups": len(starts)})


def _odd(values: Keys, told: Trace, order: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows that show another value than most members of their group."""
    largest = np.maximum.reduceat(values, starts)
    smallest = np.minimum.reduceat(np.where(values == NULL_KEY, np.iinfo(np.uint64).max, values), starts)
    mixed = np.flatnonzero((smallest != largest) & (largest != NULL_KEY))
    ends = np.append(starts[1:], len(order))
    found = [np.empty(0, np.int64)]
    for group in mixed.tolist():
        part = slice(int(starts[group]), int(ends[group]))
        rows, shown = order[part], values[part]
        members = shown[(told.how[rows] == CLUSTER) & (shown != NULL_KEY)]
        worn = _most_common(members if len(members) else shown[shown != NULL_KEY])
        found.append(rows[(shown != NULL_KEY) & (shown != worn)])
    return np.concatenate(found)


def _most_common(values: Keys) -> np.uint64:
    """Of equally common ones the first."""
    each, first, count = np.unique(values, return_index=True, return_counts=True)
    return np.uint64(each[np.lexsort((first, -count))[0]])


def _beyond(values: Keys, told: Trace, order: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows that show a value by reuse where no member of the group does."""
    is_member = told.how[order] == CLUSTER
    shown = values != NULL_KEY
    lengths = np.diff(np.append(starts, len(order)))
    some = np.logical_or.reduceat(is_member & shown, starts)
    grouped = np.logical_or.reduceat(is_member, starts)
    return order[np.repeat(~some & grouped, lengths) & shown & ~is_member]
