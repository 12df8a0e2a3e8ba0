"""What the judge knows of algorithms by their names: how long each may hold a tuple, and which one imputes.

Of an algorithm of another package it knows what that package declares in the class of its parameters, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from shoal.policy import Policy, Registered, package_of

Stays = tuple[float, ...]


class Rule(NamedTuple):
    """What an algorithm promises about waiting, and what it may show."""

    stays: Callable[[Policy], Stays] = lambda policy: (policy.window.length,)  # in each place that holds a tuple, in order
    unbounded: str = ""  # why there may be no deadline
    leaves_at_k: bool = True  # no tuple is held past the window while k persons are there
    imputes: bool = False  # shows values for records without one, where each row shows its own nulls
    source: str = ""  # where this is taken from, if not from the judge's own table


def _fast(policy: Policy) -> Stays:
    deadline = policy.algorithm.deadline  # type: ignore[union-attr]
    return (math.inf if policy.window.timed else float(policy.window.length if deadline is None else deadline),)


_USUAL = Rule()
_RULES = {
    "fast": Rule(_fast, "fast waits for full rounds under a time window, whatever the clock says", leaves_at_k=False),
    "iot": Rule(imputes=True),
    "xband": Rule(lambda policy: (policy.window.length, policy.reuse.age), "reuse_age is unbounded", leaves_at_k=False),
}


def rule(policy: Policy) -> Rule:
    """What holds for a policy's algorithm."""
    own = policy.algorithm
    found = _declared(own, policy) if isinstance(own, Registered) else _RULES.get(own.name, _USUAL)
    if policy.window.kind == "buffer":
        return found._replace(stays=lambda policy: (math.inf,), unbounded="a buffer window bounds memory, not waiting")
    return found


def _declared(own: Registered, policy: Policy) -> Rule:
    longest = own.longest_wait(policy.window)
    return Rule(
        stays=lambda policy: (longest,),
        unbounded=f"{own.name} declares no deadline",
        leaves_at_k=longest <= policy.window.length,
        imputes=own.imputes,
        source=f"the deadline of {own.name} is the one that package {package_of(own.name)} declares",
    )


def stays(policy: Policy, stretched: bool = True) -> Stays:
    """How long a tuple may stay in each place, in arrivals or seconds; on request as if k persons were always there."""
    return tuple((policy.stretch if stretched else 1) * stay for stay in rule(policy).stays(policy))


def deadline(policy: Policy) -> float:
    """The longest that a tuple may wait, in arrivals or seconds; infinite where nothing is promised."""
    return sum(stays(policy))


def imputes(policy: Policy) -> bool:
    """Whether rows may show values for records that had none."""
    return rule(policy).imputes and policy.privacy.nulls_match == "maybe"
