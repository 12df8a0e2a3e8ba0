"""Figures that only grow, and what a policy says of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from shoal.anonymizer import FilterStats, Stats
from shoal.policy import Policy, Tuned, Zanon

_REASONS = 100  # that are listed one by one


def totals(stats: Stats | FilterStats) -> dict[str, float]:
    """The figures that only grow."""
    common: dict[str, float] = {"received": stats.received, "rejected": stats.rejected, "released": stats.released}
    if isinstance(stats, FilterStats):
        return {**common, "generalized": stats.generalized, "withheld": stats.withheld}
    return {
        **common, "groups": stats.groups, "clustered": stats.clustered, "reused": stats.reused,
        "suppressed": stats.suppressed, "stretched": stats.stretched, "over_budget": stats.over_budget,
        "lost": stats.loss * stats.released,
    }  # fmt: skip


def least_alike(policy: Policy) -> int:
    """The k of p_k-anon: the one that an automatic z aims at, else 2."""
    assert isinstance(policy.algorithm, Zanon) or not policy.is_filter
    z = getattr(policy.algorithm, "z", None)
    return z.auto.k if isinstance(z, Tuned) else 2


def most_frequent(reasons: Mapping[str, int]) -> dict[str, int]:
    """The most frequent reasons, and the sum of all others."""
    ordered = sorted(reasons.items(), key=lambda item: -item[1])
    others = sum(number for _, number in ordered[_REASONS:])
    return {**dict(ordered[:_REASONS]), **({"other reasons": others} if others else {})}


def described(policy: Policy, deadline: float) -> dict[str, Any]:
    """The terms of a policy, as the page shows them."""
    name = policy.algorithm.name
    if isinstance(policy.algorithm, Zanon):
        window = policy.algorithm.window
        return {"algorithm": name, "k": least_alike(policy), "window": window, "unit": "s", "kind": "filter"}
    return {
        "algorithm": name, "k": policy.privacy.k, "kind": policy.window.kind, "window": policy.window.length,
        "unit": "s" if policy.window.timed else "arrivals", "deadline": None if math.isinf(deadline) else deadline,
        "reuse_limit": policy.reuse.limit,
    }  # fmt: skip
