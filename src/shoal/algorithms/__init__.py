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

An algorithm of another package has a class in that package, a subclass of `shoal.policy.Registered`, which names the module.
That module defines `run`, or `choose(waiting)` in plain Python (`algorithms.plain`), and any of the above but PARAMETERS and
`deadline`: these are the class's own fields and its `longest_wait`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import NDArray

from shoal.errors import PolicyError
from shoal.policy import NAMES, WINDOWED, Parameters, Policy, Registered, package_of

if TYPE_CHECKING:
    from shoal.algorithms.plain import Plain, Waiting

__all__ = ["NAMES", "WINDOWED", "Algorithm", "Plain", "Waiting", "algorithm"]


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
    own = policy.algorithm
    if isinstance(own, Registered):
        return _outside(policy, own)
    module = import_module(f"{__name__}.{own.name}")
    return _defined(module, policy, module.run, getattr(module, "PARAMETERS", ()), getattr(module, "deadline", _window))


def _outside(policy: Policy, own: Registered) -> Algorithm:
    """An algorithm of another package."""
    place = f"algorithm.name: {own.name!r} of package {package_of(own.name)}"
    try:
        module = import_module(own.engine)
    except Exception as error:
        reason = " ".join(str(error).split()) or "no reason given"
        remedy = "update, repair or uninstall that package"
        raise PolicyError([f"{place}: {own.engine} cannot be loaded ({type(error).__name__}: {reason}); {remedy}"]) from error
    compiled: Any = getattr(module, "run", None)
    choose: Any = getattr(module, "choose", None)
    if compiled is None and choose is None:
        raise PolicyError([f"{place}: {own.engine} defines neither run nor choose; correct the package, or ask its authors"])
    names = [name for name in type(own).model_fields if name not in Parameters.model_fields] if compiled else []
    from shoal.algorithms.plain import Plain  # loads kernels

    odd = [name for name in names if not isinstance(getattr(own, name), int | float)]
    if odd:
        raise PolicyError([f"{place}: {odd[0]} is no number, which a kernel needs; correct the package, or ask its authors"])
    return _defined(module, policy, compiled or Plain(choose, own, place), names, _declared)


def _defined(
    module: Any, policy: Policy, run: Callable[..., None], names: Iterable[str], longest: Callable[[Policy, float], float]
) -> Algorithm:
    return Algorithm(
        run=run,
        parameters={name: float(getattr(policy.algorithm, name)) for name in names},
        deadlines=(longest(policy, 1.0), longest(policy, policy.stretch)),
        memory=getattr(module, "memory", lambda policy: ())(policy),
        grown=getattr(module, "grown", lambda memory, s, slots: memory),
        shared=getattr(module, "shared", lambda memory, other: memory),
        same_pattern=getattr(module, "SAME_PATTERN", False),
    )


def _declared(policy: Policy, stretch: float) -> float:
    assert isinstance(policy.algorithm, Registered)
    return policy.algorithm.longest_wait(policy.window) * stretch


def _window(policy: Policy, stretch: float) -> float:
    return math.inf if policy.window.kind == "buffer" else policy.window.length * stretch


def __getattr__(name: str) -> Any:
    if name not in ("Plain", "Waiting"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.plain"), name)
