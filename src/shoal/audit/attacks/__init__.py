"""Attacks, run for real on what was published; the trace tells whether they succeed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from shoal.audit.attacks import ends, inference, intersection, linkage, minimality, null_pattern, timing
from shoal.audit.attacks.attack import Attack, Attacker
from shoal.audit.attacks.groups import groups
from shoal.audit.attacks.view import view
from shoal.audit.evidence import Evidence

__all__ = ["Attack", "attacks"]

TARGETS = 200
SEED = 4_242
_NO_TRACE = "not checkable: without the trace nobody can tell whether a guess is right"
_NO_GROUP = "not applicable: no group was published"


def attacks(
    evidence: Evidence, classes: NDArray[np.integer], sensitive: Mapping[str, NDArray[np.integer]], targets: int = TARGETS
) -> tuple[Attack, ...]:
    """Every attack, each on at most so many targets; the same ones every time.

    `classes` numbers the classes of equal rows, negative where suppressed; `sensitive` has codes for each output row.
    """
    if evidence.trace is None:
        plans = [linkage.PLAN, null_pattern.PLAN, timing.PLAN, timing.ORDER, *map(inference.plan, sensitive)]
        plans += [ends.PLAN, minimality.PLAN, intersection.PLAN]
        return tuple(plan.hindered(_NO_TRACE) for plan in plans)
    seen = view(evidence, evidence.trace, classes)
    draw = np.random.default_rng(SEED)
    attackers: list[Attacker] = [
        linkage.Linkage(seen),
        null_pattern.NullPattern(seen),
        timing.Timing(seen),
        timing.Order(seen),
        *(inference.Inference(seen, name, codes) for name, codes in sensitive.items()),
    ]
    released = np.flatnonzero(seen.trace.row >= 0)
    for row in np.sort(draw.permutation(released)[:targets]):
        target = seen.target(int(row))
        for attacker in attackers:
            attacker.attempt(target)
    members = groups(evidence.trace)
    return (
        *(attacker.result() for attacker in attackers),
        ends.ends(evidence, members) if members else ends.PLAN.hindered(_NO_GROUP),
        minimality.minimality(evidence, members, draw) if members else minimality.PLAN.hindered(_NO_GROUP),
        intersection.intersection(seen, targets, draw),
    )
