"""The algorithms a policy can name, and their parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar, Literal, Self, TypeAlias, get_args

from pydantic import Field

from shoal.config import Amount, Count, Few, FrozenModel, Limit, Seconds, Share, Span
from shoal.policy.sections import Window
from shoal.policy.zanon import Zanon


class Parameters(FrozenModel):
    """What every window algorithm takes. None stands for a default that depends on the window until `resolved`."""

    imputes: ClassVar[bool] = False  # whether it publishes values for tuples that had none, where nulls match any value
    needs_reuse_age: ClassVar[bool] = False  # whether reuse_age has no default where the window counts seconds

    name: str = Field(description="the algorithm's name")
    reuse_age: Span | None = Field(default=None, description="the age from which a generalization is no longer reused")
    reuse_limit: Limit = Field(default=1000, description="the largest number of generalizations kept for reuse")
    reuse_loss: Amount | None = Field(default=None, description="only generalizations with a smaller loss are reused")

    def resolved(self, k: int, window: Window) -> Self:
        """The same parameters with every default filled in."""
        return self.model_copy(update=self._defaults(k, window))

    def problems(self, k: int, window: Window) -> Iterator[tuple[str, str]]:
        """Pairs of a key and what is wrong with it under this window."""
        yield from _unit("reuse_age", self.reuse_age, window)
        if self.needs_reuse_age and window.timed and self.reuse_age is None:
            yield "reuse_age", "is missing; give it as a duration, because the window counts seconds"

    def _defaults(self, k: int, window: Window) -> dict[str, Any]:
        return {
            "reuse_age": self._age(window) if self.reuse_age is None else float(self.reuse_age),
            "reuse_loss": math.inf if self.reuse_loss is None else self.reuse_loss,
        }

    def _age(self, window: Window) -> float:
        return window.length


class Fads(Parameters):
    """FADS."""

    name: Literal["fads"] = Field(description="the algorithm's name")


class Iot(Parameters):
    """IoT Anonymization, K-VARP's predecessor."""

    imputes: ClassVar[bool] = True

    name: Literal["iot"] = Field(description="the algorithm's name")


class Kvarp(Parameters):
    """K-VARP."""

    name: Literal["kvarp"] = Field(description="the algorithm's name")
    radius: Amount = Field(default=0.2, description="the distance within which tuples are alike")


class Idea(Parameters):
    """IDEA."""

    name: Literal["idea"] = Field(description="the algorithm's name")
    reuse_limit: Limit = Field(default=200, description="the largest number of generalizations kept for reuse")
    reuse_loss: Amount | None = Field(default=0.5, description="only generalizations with a smaller loss are reused")

    def _age(self, window: Window) -> float:
        return math.inf


class Xband(Parameters):
    """X-BAND; its `reuse_age` is also the longest stay in the pocket."""

    name: Literal["xband"] = Field(description="the algorithm's name")
    band: Count = Field(default=4, description="how many of the oldest tuples are tried as seeds")
    alpha: Share = Field(default=1.0, description="the weight of values against missing patterns in the distance")


class Castle(Parameters):
    """CASTLE."""

    name: Literal["castle"] = Field(description="the algorithm's name")
    clusters: Count = Field(default=50, description="the largest number of unpublished clusters")
    recent: Count = Field(default=100, description="how many published groups the threshold averages over")
    reuse_limit: Limit = Field(default=200, description="the largest number of generalizations kept for reuse")

    def _age(self, window: Window) -> float:
        return math.inf


class Fast(Parameters):
    """FAST."""

    needs_reuse_age: ClassVar[bool] = True

    name: Literal["fast"] = Field(description="the algorithm's name")
    round: Count | None = Field(default=None, description="tuples per round; default: the smaller of 6·k and the deadline")
    deadline: Span | None = Field(default=None, description="the longest wait of a tuple; default: the window's length")
    workers: Few = Field(default=1, description="rounds that run at the same time, on threads; above 1 a run is not repeatable")

    def problems(self, k: int, window: Window) -> Iterator[tuple[str, str]]:
        yield from super().problems(k, window)
        yield from _unit("deadline", self.deadline, window)
        if self.round is not None and self.round < k:
            yield "round", f"is below k={k}: no group could ever fill; use at least {k}"
        if window.timed and self.deadline == 0:
            yield "deadline", "is not above 0; use a longer time"
        if not window.timed and self.deadline is not None and self.deadline < k:
            yield "deadline", f"is below k={k}: no group could ever fill; use at least {k}"
        deadline = window.length if self.deadline is None else self.deadline
        size = k if self.round is None else self.round
        if not window.timed and size <= deadline < size * self.workers:
            most = int(deadline // size)
            yield "workers", f"hold {size} tuples each, too many for the deadline; use at most {most}, or a longer deadline"
        if not window.timed and self.round is not None and self.round > deadline:
            yield "round", f"is above the deadline; use at most {int(deadline)}"

    def _defaults(self, k: int, window: Window) -> dict[str, Any]:
        deadline = window.length if self.deadline is None else float(self.deadline)
        share = deadline // (2 * self.workers) if self.workers > 1 else deadline
        default = int(min(6 * k, share))
        if default < k:  # under `time` a deadline of few seconds tells nothing about tuples
            default = 6 * k if window.timed else k
        size = default if self.round is None else self.round
        age = 20.0 * size if self.reuse_age is None else self.reuse_age
        return {**super()._defaults(k, window), "deadline": deadline, "round": size, "reuse_age": float(age)}


class Tide(Parameters):
    """Tide, the default."""

    name: Literal["tide"] = Field(default="tide", description="the algorithm's name")
    effort: Literal["quick", "thorough"] = Field(default="quick", description="how much work is put into a wave")

    def _age(self, window: Window) -> float:
        return 2 * window.length


def _unit(key: str, value: float | None, window: Window) -> Iterator[tuple[str, str]]:
    if isinstance(value, Seconds) and not window.timed:
        yield key, f"is a duration, but a {window.kind} window counts arrivals; give a number of arrivals"


def _name(known: type[FrozenModel]) -> str:
    return str(get_args(known.model_fields["name"].annotation)[0])


Windowed: TypeAlias = Fads | Iot | Kvarp | Idea | Xband | Castle | Fast | Tide
Algorithm: TypeAlias = Windowed | Zanon
KNOWN: tuple[type[FrozenModel], ...] = get_args(Algorithm)
NAMES: tuple[str, ...] = tuple(map(_name, KNOWN))
WINDOWED: tuple[str, ...] = tuple(map(_name, get_args(Windowed)))
FILTER = _name(Zanon)
DEFAULT_NAME = _name(Tide)
