"""Algorithms of other packages, which register them in the entry point group `shoal.algorithms`.

An entry point gives the name that policies use, and a subclass of `Registered`. Entry points are looked up only when a name
that is not built in, or the list of all names, is needed. A built-in name cannot be registered again: it is never looked up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import ClassVar

from pydantic import ValidationError

from shoal.config import FrozenModel
from shoal.errors import PolicyError
from shoal.policy.algorithm import KNOWN, NAMES, WINDOWED, Parameters
from shoal.policy.sections import Window

GROUP = "shoal.algorithms"


class Registered(Parameters):
    """An algorithm of another package: its parameters, each with a default, and what it declares to policies and to the audit.

    `shoal.algorithms` says what the module `engine` defines.
    """

    engine: ClassVar[str] = ""  # the module that chooses which tuples leave together, such as "my_package.engine"
    page: ClassVar[str] = ""  # where the algorithm is described: an address
    twin: ClassVar[str] = ""  # its naive twin for the conformance suite, such as "my_package.twin:Twin"; empty: none

    def longest_wait(self, window: Window) -> float:
        """The longest that a tuple waits while k persons are there, in arrivals or seconds; infinite: no deadline."""
        return math.inf if window.kind == "buffer" else window.length


def outside_names() -> tuple[str, ...]:
    """The names that other packages have registered, in order."""
    return tuple(sorted(_entry_points()))


def all_names() -> tuple[str, ...]:
    """The names of all algorithms, built in or not."""
    return (*NAMES, *outside_names())


def all_windowed() -> tuple[str, ...]:
    """The names of all algorithms that hold a window, built in or not."""
    return (*WINDOWED, *outside_names())


def parameters_of(name: str) -> type[FrozenModel] | None:
    """The class of an algorithm's parameters; None if there is no such algorithm.

    Raises PolicyError if another package registers this name, and its class cannot be used.
    """
    if name in NAMES:
        return KNOWN[NAMES.index(name)]
    return _loaded(name) if name in _entry_points() else None


def needs_reuse_age(name: str) -> bool:
    """Whether a policy that names this algorithm must give reuse_age where its window counts seconds."""
    return getattr(parameters_of(name), "needs_reuse_age", False)


def package_of(name: str) -> str:
    """The package, with its version, that registers an algorithm; empty if it is built in or unknown."""
    return "" if name in NAMES else " and ".join(map(_package, _entry_points().get(name, ())))


@cache
def _entry_points() -> Mapping[str, Sequence[EntryPoint]]:
    found: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        if point.name not in NAMES:
            found.setdefault(point.name, []).append(point)
    return found


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


@cache
def _loaded(name: str) -> type[Registered]:
    points = _entry_points()[name]
    place = f"algorithm.name: {name!r} of package {package_of(name)}"
    if len(points) > 1:
        raise PolicyError([f"{place} is registered more than once; uninstall all but one package"])
    try:
        found = points[0].load()
    except Exception as error:
        reason = " ".join(str(error).split()) or "no reason given"
        raise PolicyError([
            f"{place} cannot be loaded ({type(error).__name__}: {reason}); update, repair or uninstall that package"
        ]) from error  # fmt: skip
    remedy = "correct the package, or ask its authors"
    if not (isinstance(found, type) and issubclass(found, Registered)):
        raise PolicyError([f"{place}: {points[0].value} is no subclass of shoal.policy.Registered; {remedy}"])
    for needed in ("engine", "page"):
        if not getattr(found, needed):
            raise PolicyError([f"{place}: {points[0].value} does not say its {needed}; {remedy}"])
    if "workers" in found.model_fields:
        raise PolicyError([f"{place}: no parameter may be called workers, a word of shoal's own; {remedy}"])
    try:
        found(name=name)
    except ValidationError as error:
        keys = ", ".join(sorted({str(each["loc"][0]) for each in error.errors() if each["loc"]}))
        raise PolicyError([f"{place}: {keys} has no default that is valid; {remedy}"]) from None
    return found
