"""The algorithms, one file each; a policy names one of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from numpy.typing import NDArray

from shoal.policy import Policy
from shoal.policy.algorithm import NAMES, WINDOWED

__all__ = ["NAMES", "WINDOWED", "Algorithm", "algorithm"]


class Algorithm(NamedTuple):
    """What an algorithm's file defines: `run`, and where it differs from the others `PARAMETERS`, `deadline` and `memory`."""

    run: Callable[..., None]  # takes in a batch and releases what has to leave; compiled
    parameters: dict[str, float]  # its own parameters, besides k and those of the reuse set (PARAMETERS)
    deadlines: tuple[float, float]  # the longest wait that it promises, on the window's clock: usually, and at all
    memory: tuple[NDArray[Any], ...]  # what it keeps besides the window and the reuse set

    @property
    def deadline(self) -> float:
        """The longest wait, however few persons there are."""
        return self.deadlines[1]


def algorithm(policy: Policy) -> Algorithm:
    """The algorithm that a policy names, with its parameters."""
    module = import_module(f"{__name__}.{policy.algorithm.name}")
    names, longest = getattr(module, "PARAMETERS", ()), getattr(module, "deadline", _window)
    return Algorithm(
        run=module.run,
        parameters={name: float(getattr(policy.algorithm, name)) for name in names},
        deadlines=(longest(policy, 1.0), longest(policy, policy.stretch)),
        memory=getattr(module, "memory", _nothing)(policy),
    )


def _window(policy: Policy, stretch: float) -> float:
    return math.inf if policy.window.kind == "buffer" else policy.window.length * stretch


def _nothing(policy: Policy) -> tuple[NDArray[Any], ...]:
    return ()
