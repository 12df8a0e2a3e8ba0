"""Minimality: why these tuples, and no others.

The attacker knows the algorithm: a group is the tuple that fell due and those nearest to it, and leaves in order of arrival.
So the first of a group is its middle, and the others lie around it. The attacker says that its value is in the middle fifth of
the group's interval. The baseline says so of a member drawn at random. A value spread evenly would be there one time in five.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.audit.attacks.attack import Attack
from shoal.audit.attacks.groups import Groups
from shoal.audit.evidence import Band, Evidence, Numeric

PLAN = Attack(
    "minimality",
    "the published intervals, their order, and that a group is formed around its oldest member",
    "the value of the first of a group is in the middle fifth of its interval; baseline: that of any member",
)


def minimality(evidence: Evidence, groups: Groups, draw: np.random.Generator) -> Attack:
    """Try the first member of every group, in every numeric quasi-identifier."""
    any_member = groups.start + draw.integers(0, groups.size)
    counts = np.zeros((2, 2), dtype=np.int64)
    for name, _ in evidence.policy.quasi:
        original, shown = evidence.original[name], evidence.published[name]
        if isinstance(original, Numeric) and isinstance(shown, Band):
            for which, place in enumerate((groups.start, any_member)):
                counts[which] += _middle(original.value[groups.record[place]], shown, groups.row[place])
    (tried, hit), (others, struck) = counts.tolist()
    if not tried:
        return PLAN.hindered("not applicable: no group shows an interval")
    return PLAN.run(tried, hit / tried, struck / others if others else 0.0)


def _middle(value: NDArray[np.float64], shown: Band, row: NDArray[np.integer]) -> tuple[int, int]:
    lo, hi = shown.lo[row], shown.hi[row]
    asked = (hi > lo) & ~np.isnan(value)
    inside = np.abs(value - (lo + hi) / 2) <= 0.1 * (hi - lo)
    return int(asked.sum()), int((asked & inside).sum())
