"""The algorithms, one file or folder each; a policy names one of them.

The module of an algorithm that holds a window defines `run`, and what it needs beyond the others:

PARAMETERS
    The names of its own parameters; `run` finds their values in `s.rule`.
deadline(policy, stretch)
    The longest wait that it promises; by default the window's length times `stretch`.
memory(policy)
    A named tuple of arrays that it keeps from call to call; `run` finds it in `s.memory`. Snapshots save its arrays, but not
    those of a named tuple inside it: these are work arrays.
grown(memory, s, slots)
    The memory with room for a window of `slots` slots, if its size depends on the window.
shared(memory, other)
    The memory of a worker that releases through the same door as the worker with the memory `other`.
SAME_PATTERN
    Whether a published group may be reused only by tuples that have exactly its quasi-identifiers.

The class of an algorithm in `policy/algorithm.py` says what columns and policies must know about it, such as that it imputes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from numpy.typing import NDArray

from shoal.policy import NAMES, WINDOWED, Policy

__all__ = ["NAMES", "WINDOWED", "Algorithm", "algorithm"]


class Algorithm(NamedTuple):
    """What an algorithm's module defines, or the defaults."""

    run: Callable[..., None]  # takes in a batch and releases what has to leave; compiled
    parameters: dict[str, float]  # besides k and those of the reuse set
    deadlines: tuple[float, float]  # the longest wait on the window's clock: with k persons in the window, and with fewer
    memory: tuple[NDArray[Any], ...]
    grown: Callable[[Any, Any, int], Any]
    shared: Callable[[Any, Any], Any]
    same_pattern: bool

    @property
    def deadline(self) -> float:
        """The longest wait, also while the window holds few persons."""
        return self.deadlines[1]


def algorithm(policy: Policy) -> Algorithm:
    """The algorithm that a policy names, with its parameters."""
    module = import_module(f"{__name__}.{policy.algorithm.name}")
    names, longest = getattr(module, "PARAMETERS", ()), getattr(module, "deadline", _window)
    return Algorithm(
        run=module.run,
        parameters={name: float(getattr(policy.algorithm, name)) for name in names},
        deadlines=(longest(policy, 1.0), longest(policy, policy.stretch)),
        memory=getattr(module, "memory", lambda policy: ())(policy),
        grown=getattr(module, "grown", lambda memory, s, slots: memory),
        shared=getattr(module, "shared", lambda memory, other: memory),
        same_pattern=getattr(module, "SAME_PATTERN", False),
    )


def _window(policy: Policy, stretch: float) -> float:
    return math.inf if policy.window.kind == "buffer" else policy.window.length * stretch
