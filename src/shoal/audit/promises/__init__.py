"""The promises, a file each; every one is checked from the evidence alone."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

from shoal.audit.promises import alike, in_time, k_persons, once, silent, true, unaltered

PROMISES: Mapping[str, ModuleType] = {
    "k persons": k_persons,
    "once": once,
    "in time": in_time,
    "true": true,
    "alike": alike,
    "unaltered": unaltered,
    "silent": silent,
}

__all__ = ["PROMISES"]
