"""All who wear the generalization of a group wear the same, and where the policy says so the same nulls."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shoal.audit.cover import cover, is_root
from shoal.audit.evidence import CLUSTER, NO_ROW, NULL, Band, Evidence, Node, Trace
from shoal.audit.finding import Docket, Finding, Verdict
from shoal.audit.keys import NULL_KEY, Keys, keys
from shoal.audit.promises.true import untrue

NAME = "alike"
_SAYS = {
    "maybe": "all members of a group, and all who reuse it, wear the same generalization",
    "extended": "all members of a group, and all who reuse it, show exactly the same, nulls included",
    "root": "all members of a group, and all who reuse it, show exactly the same",
}


def check(evidence: Evidence) -> Finding:
    """Compare what the rows of each group show; rows that are already untrue are not named twice."""
    docket = Docket(evidence)
    told, reading = evidence.trace, evidence.policy.privacy.nulls_match
    says = _SAYS[reading]
    if told is None:
        return docket.finding(NAME, says, otherwise=Verdict.NOT_CHECKABLE, note="needs a trace, which tells the groups")
    wearing = np.flatnonzero(~evidence.suppressed & (told.cluster >= 0) & ~untrue(evidence))
    order = wearing[np.argsort(told.cluster[wearing], kind="stable")]
    cluster = told.cluster[order]
    starts = np.flatnonzero(np.append(True, cluster[1:] != cluster[:-1])) if len(order) else np.empty(0, np.int64)
    for name, each in zip(evidence.published, keys(evidence.published), strict=True):
        if name in evidence.absent or not len(order):
            continue
        values = each[order]
        odd, torn = _odd(evidence, name, values, order, starts)
        docket.rows(odd, "wears another generalization than its group", name)
        docket.rows(torn, "shows another pattern of nulls than its group", name)
        if reading == "maybe":
            docket.rows(_beyond(values, told, order, starts), "shows what no member of its group shows", name)
    return docket.finding(NAME, says, checked=len(order), figures={"groups": len(starts)})


def _odd(
    evidence: Evidence, name: str, values: Keys, order: NDArray[np.int64], starts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows that show another value than the generalization of their group; and those that differ in being null at all.

    Under `maybe` each row has its own nulls, and no null is odd.
    """
    own_nulls = evidence.policy.privacy.nulls_match == "maybe"
    largest = np.maximum.reduceat(values, starts)
    told = np.where(values == NULL_KEY, np.iinfo(np.uint64).max, values) if own_nulls else values
    smallest = np.minimum.reduceat(told, starts)
    ends = np.append(starts[1:], len(order))
    odd, torn = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for group in np.flatnonzero((smallest != largest) & (largest != NULL_KEY)).tolist():
        part = slice(int(starts[group]), int(ends[group]))
        rows, shown = order[part], values[part]
        if own_nulls:
            rows, shown = rows[shown != NULL_KEY], shown[shown != NULL_KEY]
        worn = _worn(evidence, name, rows, shown)
        is_torn = (shown == NULL_KEY) != (worn == NULL_KEY)
        odd.append(rows[(shown != worn) & ~is_torn])
        torn.append(rows[is_torn])
    return np.concatenate(odd), np.concatenate(torn)


def _worn(evidence: Evidence, name: str, rows: NDArray[np.int64], shown: Keys) -> np.uint64:
    """The generalization of a group whose rows differ: it holds all members, most show it, or it is the narrowest."""
    told, reading = evidence.trace, evidence.policy.privacy.nulls_match
    assert told is not None
    before, after = evidence.original[name], evidence.published[name]
    attribute = evidence.policy.attributes[name]
    records = told.row[rows[(told.how[rows] == CLUSTER) & (told.row[rows] != NO_ROW)]]
    each, first, count = np.unique(shown, return_index=True, return_counts=True)
    ranks = []
    for row, votes in zip(rows[first].tolist(), count.tolist(), strict=True):
        same = np.full(len(records), row)
        wrong = cover(before, after, records, same).beyond(reading, is_root(after, attribute, same))
        holds = not (wrong.outside | (wrong.appeared & (reading != "maybe"))).any()
        ranks.append((not holds, -votes, _width(after, row), row))
    return np.uint64(each[ranks.index(min(ranks))])


def _width(after: Band | Node, row: int) -> float:
    """How wide a row's value is; null tells the least."""
    if isinstance(after, Band):
        width = float(after.hi[row] - after.lo[row])
        return math.inf if math.isnan(width) else width
    node = after.node[row]
    return math.inf if node == NULL else float(after.tree.last[node] - after.tree.first[node])


def _beyond(values: Keys, told: Trace, order: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows that show a value by reuse where no member of the group does."""
    is_member = told.how[order] == CLUSTER
    shown = values != NULL_KEY
    lengths = np.diff(np.append(starts, len(order)))
    some = np.logical_or.reduceat(is_member & shown, starts)
    grouped = np.logical_or.reduceat(is_member, starts)
    return order[np.repeat(~some & grouped, lengths) & shown & ~is_member]
