"""The promises, a file each; every one is checked from the evidence alone."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

from shoal.audit.promises import alike, closeness, diversity, in_time, k_persons, once, silent, support, true, unaltered
from shoal.policy import Policy

PROMISES: Mapping[str, ModuleType] = {
    promise.NAME: promise
    for promise in (k_persons, diversity, closeness, support, once, in_time, true, alike, unaltered, silent)
}
_ON_REQUEST = (diversity, closeness, support)

__all__ = ["PROMISES", "promises"]


def promises(policy: Policy) -> dict[str, ModuleType]:
    """Those that this policy makes: some must be asked for."""
    return {name: promise for name, promise in PROMISES.items() if promise not in _ON_REQUEST or promise.is_asked(policy)}
