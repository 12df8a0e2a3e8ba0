"""Intersection: a person who comes back is in several groups, and few others are in all of them.

The attacker can tell that several rows are about one person, and knows who is behind each group's rows, though not which of
them is which. The persons that appear in the group of every one of the rows remain; one of them is guessed. The baseline does
it with one row only. Targets are persons with at least two unsuppressed rows, drawn at random; at most 20 rows of each count.
"""

from __future__ import annotations

import numpy as np

from shoal.audit.attacks.attack import Attack
from shoal.audit.attacks.view import View

PLAN = Attack(
    "intersection",
    "which rows are about the same person, and who is in each group",
    "a person taken at random among those in all the groups is the right one; baseline: among those in one",
)
_ROWS = 20


def intersection(view: View, count: int, draw: np.random.Generator) -> Attack:
    """Try persons with several releases."""
    trace = view.trace
    grouped = (trace.cluster >= 0) & (view.person >= 0)
    returning = np.flatnonzero(np.bincount(view.person[grouped]) >= 2) if grouped.any() else np.zeros(0, dtype=np.int64)
    if not len(returning):
        return PLAN.hindered("not applicable: no person was released twice")
    wearers = np.flatnonzero(grouped)
    wearers = wearers[np.argsort(trace.cluster[wearers], kind="stable")]
    cluster = trace.cluster[wearers]
    chances, single, alone = [], [], 0
    for person in draw.permutation(returning)[:count]:
        own = view.own(int(person))
        remaining = None
        for group in np.unique(trace.cluster[own[trace.cluster[own] >= 0]])[:_ROWS]:
            first, last = np.searchsorted(cluster, [group, group + 1])
            persons = np.unique(view.person[wearers[first:last]])
            if remaining is None:
                remaining = persons
                single.append(1 / len(persons))
            else:
                remaining = np.intersect1d(remaining, persons, assume_unique=True)
        assert remaining is not None
        chances.append(1 / len(remaining))
        alone += len(remaining) == 1
    detail = f"nobody else is in all the groups for {alone:,} of {len(chances):,}"
    return PLAN.run(len(chances), float(np.mean(chances)), float(np.mean(single)), detail)
