"""What sets promise: not too many values, and each that of enough persons of the group."""

from __future__ import annotations

import numpy as np

from shoal.audit.evidence import Evidence
from shoal.audit.finding import Docket, Finding, Verdict
from shoal.audit.original import Category
from shoal.audit.published import Node
from shoal.audit.trace import CLUSTER, NO_ROW, Trace
from shoal.audit.values import Ints

_ROOT = 0


def sets(evidence: Evidence) -> Finding:
    """Count the labels of each set; with a trace, also the persons of the group that have each of them."""
    says = "a set has no more values than the policy allows, each that of a member of its group, or of min_support persons"
    docket, trace = Docket(evidence), evidence.trace
    checked = 0
    for name, attribute in evidence.policy.quasi:
        column, before = evidence.published[name], evidence.original[name]
        if attribute.sets is None or name in evidence.absent:
            continue
        assert isinstance(column, Node) and isinstance(before, Category)
        labels = np.array([*(1 for _ in column.tree.name), *map(len, column.sets), 0, 0])[column.node]
        checked += int((labels > 0).sum())
        if attribute.sets.most is not None:
            what = f"has more values than most={attribute.sets.most}"
            docket.rows(np.flatnonzero(labels > attribute.sets.most), what, name)
        if trace is not None:
            least = attribute.sets.min_support
            nobody, few = _scarce(evidence, trace, column, before, least)
            docket.rows(nobody, "shows a value that no member of its group has", name)
            docket.rows(few, f"shows a value that fewer than min_support={least} persons of its group have", name)
    if trace is None:
        note = "needs a trace, which names the groups"
        return docket.finding("sets", says, otherwise=Verdict.NOT_CHECKABLE, note=note)
    return docket.finding("sets", says, checked=checked)


def _scarce(evidence: Evidence, trace: Trace, column: Node, before: Category, least: int) -> tuple[Ints, Ints]:
    """The rows with a label that no member of their group has; and those with one that too few persons have. A root may be."""
    member = np.flatnonzero((trace.how == CLUSTER) & (trace.cluster >= 0) & (trace.row != NO_ROW))
    member = member[np.argsort(trace.cluster[member], kind="stable")]
    cluster, record = trace.cluster[member], trace.row[member]
    leaf, person = before.leaf[record], evidence.person_of(record)
    rows = np.flatnonzero((trace.cluster >= 0) & (column.node > _ROOT) & ~evidence.suppressed)
    shown = np.stack([trace.cluster[rows], column.node[rows]], axis=1)
    pairs, of_row = np.unique(shown, axis=0, return_inverse=True)
    start, stop = (np.searchsorted(cluster, pairs[:, 0], side) for side in ("left", "right"))
    fewest = np.full(len(pairs), np.iinfo(np.int64).max)
    for i, number in enumerate(pairs[:, 1].tolist()):
        own, persons = leaf[start[i] : stop[i]], person[start[i] : stop[i]]
        for node in column.sets[number - len(column.tree.name)] if number >= len(column.tree.name) else (number,):
            inside = (column.tree.first[node] <= own) & (own <= column.tree.last[node])
            fewest[i] = min(fewest[i], len(np.unique(persons[inside])))
    known = stop > start
    least_of_row = np.where(known, fewest, least)[of_row.reshape(-1)]
    return rows[least_of_row == 0], rows[(least_of_row > 0) & (least_of_row < least)]
