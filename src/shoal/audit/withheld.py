"""Sensitive values that a group withholds: none of its rows shows one, because they would not be as diverse as l or t asks."""

from __future__ import annotations

import numpy as np

from shoal.audit.equality import is_nothing
from shoal.audit.evidence import Evidence
from shoal.audit.values import Flags, Ints


def withheld(evidence: Evidence, name: str) -> Flags:
    """Which rows of the output show null, instead of the value that came, because their whole group does.

    Only attributes with a demand (l or t) are withheld, and only for a whole group: rows that reuse it included. Without a
    trace it is unknown what came, and rows that look alike are taken for a group.
    """
    asked = {demand.name for demand in evidence.policy.requirements}
    if name not in asked or name in evidence.absent:
        return np.zeros(evidence.released, bool)
    key = f"withheld {name}"
    if key not in evidence.cache:
        evidence.cache[key] = _withheld(evidence, name)
    found: Flags = evidence.cache[key]
    return found


def _withheld(evidence: Evidence, name: str) -> Flags:
    trace, nothing = evidence.trace, is_nothing(evidence.shown[name])
    if trace is None:
        return in_whole(evidence.alike.of.astype(np.int64), nothing)
    came = np.append(~is_nothing(evidence.sensitive[name]), False)[trace.row]
    return came & in_whole(trace.cluster, nothing)


def in_whole(group: Ints, nothing: Flags) -> Flags:
    """Which members of each group show nothing, where no member shows anything; below 0 is no group.

    >>> in_whole(np.array([0, 0, 1, 1, -1]), np.array([True, True, True, False, True])).tolist()
    [True, True, False, False, False]
    """
    shows = np.zeros(int(group.max(initial=-1)) + 2, bool)
    shows[group[~nothing]] = True
    shows[-1] = True
    return nothing & ~shows[group]
