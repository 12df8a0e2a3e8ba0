"""Attacks, run for real on what was published; the trace tells whether they succeed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shoal.audit.attacks.attack import NO_TRACE, SEED, TARGETS, Attack, Attacker
from shoal.audit.attacks.groups import ENDS, INTERSECTION, MINIMALITY, ends, groups, intersection, minimality
from shoal.audit.attacks.linkage import LINKAGE, NULL_PATTERN, ORDER, TIMING, Inference, Order, inference_of, linkages
from shoal.audit.attacks.view import view
from shoal.audit.evidence import Evidence
from shoal.audit.values import Integers

__all__ = ["Attack", "attacks"]

_NO_GROUP = "not applicable: no group was published"


def attacks(
    evidence: Evidence, classes: Integers, sensitive: Mapping[str, Integers], targets: int = TARGETS
) -> tuple[Attack, ...]:
    """Every attack, each on at most so many targets; the same ones every time.

    `classes` numbers the classes of equal rows, negative where suppressed; `sensitive` has codes for each output row.
    """
    if evidence.trace is None:
        plans = [LINKAGE, NULL_PATTERN, TIMING, ORDER, *map(inference_of, sensitive), ENDS, MINIMALITY, INTERSECTION]
        return tuple(plan.hindered(NO_TRACE) for plan in plans)
    seen = view(evidence, evidence.trace, classes)
    draw = np.random.default_rng(SEED)
    inferences = [Inference(seen, name, codes) for name, codes in sensitive.items()]
    attackers: list[Attacker] = [*linkages(seen), Order(seen), *inferences]
    released = np.flatnonzero(seen.trace.row >= 0)
    for row in np.sort(draw.permutation(released)[:targets]):
        target = seen.target(int(row))
        for attacker in attackers:
            attacker.attempt(target)
    members = groups(evidence.trace)
    return (
        *(attacker.result() for attacker in attackers),
        ends(evidence, members) if members else ENDS.hindered(_NO_GROUP),
        minimality(evidence, members, draw) if members else MINIMALITY.hindered(_NO_GROUP),
        intersection(seen, targets, draw),
    )
