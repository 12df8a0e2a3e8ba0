"""Cluster purity, after X-BAND: how much of a group's values is there rather than missing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.audit.evidence import CLUSTER, Evidence


@dataclass(frozen=True)
class Purity:
    """The purity of groups: values that members had, out of members times quasi-identifiers.

    X-BAND (section V.C) shows purity without defining it; this reading fits its figures: with at most 6 of 14 values missing it
    reports 70 to 90 %, and 3 of 14 missing on average leave 79 %.
    """

    groups: int
    mean: float
    smallest: float


def purity(evidence: Evidence) -> Purity | None:
    """The purity of the groups that the trace names; None without a trace, or without a group."""
    if evidence.trace is None:
        return None
    grouped = (evidence.trace.how == CLUSTER) & (evidence.trace.row >= 0) & (evidence.trace.cluster >= 0)
    if not grouped.any():
        return None
    had = np.zeros(len(evidence.line), dtype=np.int32)
    for name, _ in evidence.policy.quasi:
        had += ~evidence.original[name].missing
    _, group = np.unique(evidence.trace.cluster[grouped], return_inverse=True)
    members = np.bincount(group)
    values = np.bincount(group, weights=had[evidence.trace.row[grouped]])
    each = values / (members * len(evidence.policy.quasi))
    return Purity(len(each), float(each.mean()), float(each.min()))
