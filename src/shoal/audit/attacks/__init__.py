"""Attacks, run for real on what was published; the trace tells whether they succeed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shoal.audit.attacks.attack import NO_TRACE, SEED, TARGETS, Attack, Attacker
from shoal.audit.attacks.groups import ENDS, INTERSECTION, MINIMALITY, ends, groups, intersection, minimality
from shoal.audit.attacks.helper import helper, helper_of
from shoal.audit.attacks.linkage import (
    LINKAGE,
    NULL_PATTERN,
    ORDER,
    TIMING,
    Inference,
    Linkage,
    Order,
    all_rows,
    inference_of,
    linkages,
)
from shoal.audit.attacks.returning import across_of, across_releases
from shoal.audit.attacks.values import homogeneity, intersection_of, intersection_of_values
from shoal.audit.attacks.view import view
from shoal.audit.attacks.whole_row import WHOLE_ROW, WholeRow
from shoal.audit.evidence import Evidence
from shoal.audit.values import Integers
from shoal.audit.withheld import withheld

__all__ = ["Attack", "across_releases", "attacks"]

_NO_GROUP = "not applicable: no group was published"


def attacks(
    evidence: Evidence, classes: Integers, sensitive: Mapping[str, Integers], targets: int = TARGETS
) -> tuple[Attack, ...]:
    """Every attack, each on at most so many targets; the same ones every time.

    `classes` numbers the classes of equal rows, negative where suppressed; `sensitive` has codes for each output row.
    """
    draw = np.random.default_rng(SEED)
    uniform = [homogeneity(name, classes, codes, draw) for name, codes in sensitive.items()]
    asked = [demand.name for demand in evidence.policy.requirements if demand.name in sensitive]
    named = [name for name in sensitive if name not in evidence.policy.blocks]  # a block is known, and meant to be
    if evidence.trace is None:
        plans = [WHOLE_ROW, LINKAGE, NULL_PATTERN, TIMING, ORDER, *map(inference_of, sensitive), ENDS, MINIMALITY, INTERSECTION]
        plans += [*map(intersection_of, named), *map(helper_of, asked), *map(across_of, [*sensitive, *evidence.policy.bags])]
        return (*uniform, *(plan.hindered(NO_TRACE) for plan in plans))
    seen = view(evidence, evidence.trace, classes)
    inferences = [Inference(seen, name, codes, withheld(evidence, name)) for name, codes in sensitive.items()]
    whole = Linkage(seen, WHOLE_ROW, WholeRow(seen), all_rows)
    attackers: list[Attacker] = [whole, *linkages(seen), Order(seen), *inferences]
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
        *(
            helper(evidence, members, name, sensitive[name], draw) if members else helper_of(name).hindered(_NO_GROUP)
            for name in asked
        ),
        *uniform,
        *(intersection_of_values(seen, name, sensitive[name], targets, draw) for name in named),
        *(across_releases(evidence, name, targets) for name in (*sensitive, *evidence.policy.bags)),
    )
