"""The algorithms, one file each; a policy names one of them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

NAMES = ("castle", "fads", "fast", "idea", "iot", "kvarp", "xband")


def algorithm(name: str) -> ModuleType:
    """The module of an algorithm: its compiled `run` and the names of its own `PARAMETERS`."""
    return import_module(f"{__name__}.{name}")
