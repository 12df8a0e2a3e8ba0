"""The promises, a file each; every one is checked from the evidence alone."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

from shoal.audit.promises import alike, closeness, diversity, in_time, k_persons, once, silent, support, true, unaltered
from shoal.policy import Policy

PROMISES: Mapping[str, ModuleType] = {
    "k persons": k_persons,
    "diversity": diversity,
    "closeness": closeness,
    "support": support,
    "once": once,
    "in time": in_time,
    "true": true,
    "alike": alike,
    "unaltered": unaltered,
    "silent": silent,
}
_ON_REQUEST = ("diversity", "closeness", "support")

__all__ = ["PROMISES", "promises"]


def promises(policy: Policy) -> dict[str, ModuleType]:
    """Those that this policy makes: some must be asked for."""
    return {name: promise for name, promise in PROMISES.items() if name not in _ON_REQUEST or promise.is_asked(policy)}
