"""End points: the end of an interval is somebody's value.

The attacker sees a group's interval and says: a member has exactly this value. Ends that are the range's own say nothing and
are left out. Success is the share of ends that a member really has; the baseline says the same of a value drawn at random
between the ends, a whole number where all values are.
"""

from __future__ import annotations

import numpy as np

from shoal.audit.attacks.attack import Attack
from shoal.audit.attacks.groups import Groups
from shoal.audit.evidence import Band, Evidence, Numeric

PLAN = Attack(
    "end points",
    "the published intervals",
    "an end of a group's interval is exactly a member's value; baseline: a value drawn between the ends is",
)


def ends(evidence: Evidence, groups: Groups, draw: np.random.Generator) -> Attack:
    """Try the ends of every group's intervals."""
    tried = hit = tested = struck = 0
    for name, attribute in evidence.policy.quasi:
        original, shown = evidence.original[name], evidence.published[name]
        if not isinstance(original, Numeric) or not isinstance(shown, Band):
            continue
        value = original.value[groups.record]
        lo, hi = np.fmax.reduceat(shown.lo[groups.row], groups.start), np.fmax.reduceat(shown.hi[groups.row], groups.start)
        smallest, largest = np.fmin.reduceat(value, groups.start), np.fmax.reduceat(value, groups.start)
        for end, extreme, limit in ((lo, smallest, attribute.low), (hi, largest, attribute.high)):
            telling = ~np.isnan(end) & (end != limit)
            tried += int(telling.sum())
            hit += int((end[telling] == extreme[telling]).sum())
        guess = lo + draw.random(len(lo)) * (hi - lo)
        if (original.value[~np.isnan(original.value)] % 1 == 0).all():
            guess = np.rint(guess)
        wide = ~np.isnan(lo) & (hi > lo)
        matched = np.logical_or.reduceat(value == np.repeat(guess, groups.size), groups.start)
        tested += int(wide.sum())
        struck += int(matched[wide].sum())
    if not tried:
        return PLAN.hindered("not applicable: no interval ends inside its range")
    return PLAN.run(tried, hit / tried, struck / tested if tested else 0.0)
