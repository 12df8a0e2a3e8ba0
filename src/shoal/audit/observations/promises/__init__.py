"""The promises of z-anonymity, a file each; every one is checked from the evidence alone."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

from shoal.audit.observations.promises import exact, in_order, once, pseudonyms, silent, true, unaltered, z_users

PROMISES: Mapping[str, ModuleType] = {
    promise.NAME: promise for promise in (z_users, exact, once, in_order, true, unaltered, pseudonyms, silent)
}

__all__ = ["PROMISES"]
