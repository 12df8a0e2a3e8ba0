"""The algorithms, one file each; a policy names one of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from numpy.typing import NDArray

from shoal.policy import Policy

WINDOWED = ("castle", "fads", "fast", "idea", "iot", "kvarp", "tide", "xband")
NAMES = (*WINDOWED, "zanon")


class Algorithm(NamedTuple):
    """What an algorithm's file defines: `run`, and where it differs from the rest, the other three in upper or lower case."""

    run: Callable[..., None]  # takes in a batch and releases what has to leave; compiled
    parameters: dict[str, float]  # its own parameters, besides k and those of the reuse set (PARAMETERS)
    deadline: float  # the longest wait that it promises, on the window's clock
    memory: tuple[NDArray[Any], ...]  # what it keeps besides the window and the reuse set


def algorithm(policy: Policy) -> Algorithm:
    """The algorithm that a policy names, with its parameters."""
    module = import_module(f"{__name__}.{policy.algorithm.name}")
    names = getattr(module, "PARAMETERS", ())
    return Algorithm(
        run=module.run,
        parameters={name: float(getattr(policy.algorithm, name)) for name in names},
        deadline=getattr(module, "deadline", _window)(policy),
        memory=getattr(module, "memory", _nothing)(policy),
    )


def _window(policy: Policy) -> float:
    return math.inf if policy.window.kind == "buffer" else policy.window.length


def _nothing(policy: Policy) -> tuple[NDArray[Any], ...]:
    return ()
