"""All who wear the generalization of a group wear the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.audit.cover import cover
from shoal.audit.evidence import CLUSTER, Band, Evidence, Trace
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
    wearing = np.flatnonzero(~evidence.suppressed & (told.cluster >= 0) & ~untrue(evidence))
    order = wearing[np.argsort(told.cluster[wearing], kind="stable")]
    cluster = told.cluster[order]
    starts = np.flatnonzero(np.append(True, cluster[1:] != cluster[:-1])) if len(order) else np.empty(0, np.int64)
    for name, each in zip(evidence.published, keys(evidence.published), strict=True):
        if name in evidence.absent or not len(order):
            continue
        values = each[order]
        docket.rows(_odd(evidence, name, values, order, starts), "wears another generalization than its group", name)
        docket.rows(_beyond(values, told, order, starts), "shows what no member of its group shows", name)
    return docket.finding(NAME, SAYS, checked=len(order), figures={"groups": len(starts)})


def _odd(
    evidence: Evidence, name: str, values: Keys, order: NDArray[np.int64], starts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The rows that show another value than the generalization of their group."""
    largest = np.maximum.reduceat(values, starts)
    smallest = np.minimum.reduceat(np.where(values == NULL_KEY, np.iinfo(np.uint64).max, values), starts)
    ends = np.append(starts[1:], len(order))
    found = [np.empty(0, np.int64)]
    for group in np.flatnonzero((smallest != largest) & (largest != NULL_KEY)).tolist():
        part = slice(int(starts[group]), int(ends[group]))
        rows, shown = order[part], values[part]
        rows, shown = rows[shown != NULL_KEY], shown[shown != NULL_KEY]
        found.append(rows[shown != _worn(evidence, name, rows, shown)])
    return np.concatenate(found)


def _worn(evidence: Evidence, name: str, rows: NDArray[np.int64], shown: Keys) -> np.uint64:
    """The generalization of a group whose rows differ: it holds all members, most show it, or it is the narrowest."""
    told = evidence.trace
    assert told is not None
    before, after = evidence.original[name], evidence.published[name]
    records = told.row[rows[told.how[rows] == CLUSTER]]
    each, first, count = np.unique(shown, return_index=True, return_counts=True)
    ranks = []
    for row, votes in zip(rows[first].tolist(), count.tolist(), strict=True):
        holds = not cover(before, after, records, np.full(len(records), row)).outside.any()
        if isinstance(after, Band):
            width = float(after.hi[row] - after.lo[row])
        else:
            width = float(after.tree.last[after.node[row]] - after.tree.first[after.node[row]])
        ranks.append((not holds, -votes, width, row))
    return np.uint64(each[ranks.index(min(ranks))])


def _beyond(values: Keys, told: Trace, order: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows that show a value by reuse where no member of the group does."""
    is_member = told.how[order] == CLUSTER
    shown = values != NULL_KEY
    lengths = np.diff(np.append(starts, len(order)))
    some = np.logical_or.reduceat(is_member & shown, starts)
    grouped = np.logical_or.reduceat(is_member, starts)
    return order[np.repeat(~some & grouped, lengths) & shown & ~is_member]
