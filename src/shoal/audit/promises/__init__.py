"""The promises: by window algorithms, by z-anonymity (in `observations`), and what both share."""

from __future__ import annotations

from collections.abc import Callable

from shoal.audit.evidence import Evidence
from shoal.audit.finding import Finding
from shoal.audit.promises.in_time import in_time
from shoal.audit.promises.row import one_in_k, one_time
from shoal.audit.promises.sensitive import closeness, diversity
from shoal.audit.promises.sets import sets
from shoal.audit.promises.stable import in_bags, in_blocks
from shoal.audit.promises.windows import alike, k_persons, once, silent, support, true, unaltered
from shoal.policy import Policy


def promises(policy: Policy) -> dict[str, Callable[[Evidence], Finding]]:
    """The check of each promise that this policy makes."""
    found: dict[str, Callable[[Evidence], Finding]] = {
        "k persons": k_persons,
        "one in k": one_in_k,
        "one time": one_time,
        "diversity": diversity,
        "closeness": closeness,
        "support": support,
        "blocks": in_blocks,
        "bags": in_bags,
        "sets": sets,
        "once": once,
        "in time": in_time,
        "true": true,
        "alike": alike,
        "unaltered": unaltered,
        "silent": silent,
    }
    asked = {
        "one in k": policy.one_in_k,
        "one time": policy.time_grid is not None,
        "diversity": any(demand.l for demand in policy.requirements),
        "closeness": any(demand.t is not None for demand in policy.requirements),
        "support": policy.privacy.support > 1,
        "blocks": bool(policy.blocks),
        "bags": bool(policy.bags),
        "sets": any(attribute.sets for _, attribute in policy.quasi),
    }
    return {name: check for name, check in found.items() if asked.get(name, True)}
