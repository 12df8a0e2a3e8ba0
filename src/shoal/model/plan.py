"""Which z, and which Δt: what the model says about a sample, and what the sample says itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from shoal.errors import ModelError
from shoal.model.grid import grid
from shoal.model.population import Publication
from shoal.model.sample import Sample, Windows
from shoal.model.tuner import least_z, silencing_z

USUAL = (60.0, 300.0, 900.0, 3600.0, 6 * 3600.0, 86400.0, 7 * 86400.0)
"""Windows that are looked at unless others are asked for, in seconds."""

_FULL = 3  # windows that a sample must fill
_STEPS = 24  # values of z that are shown
_TOLERANCE = 1e-4


class Row(NamedTuple):
    """What one z under one Δt would do."""

    window: float
    z: int
    probability: float  # that a user is k-anonymous, by the model
    error: float  # the bound on what was lost in computing it
    measured: float  # the share of the sample's users that would have been
    information: float  # the entropy that is kept, of what z = 1 would publish
    kept: float  # the share of the sample's observations that would have been published
    silent: float  # the share of the sample's users that would have published nothing

    def meets(self, confidence: float) -> bool:
        """Whether both the model and the sample reach it."""
        return self.probability - self.error >= confidence and self.measured >= confidence


@dataclass(frozen=True)
class Window:
    """One Δt: its users and items, and the rows by z; `best` is the one to use."""

    window: float
    number: int  # how many of them the sample fills
    users: int  # in one of them, on average
    items: int  # exposed by anyone
    exposures: float  # items of a user in one of them, on average
    rows: list[Row]
    best: Row


@dataclass(frozen=True)
class Plan:
    """A plan for a stream like the sample; `best` is the Δt and z that keep the most of what meets the confidence."""

    k: int
    confidence: float
    observations: int
    users: int
    items: int
    span: float
    windows: list[Window]
    best: Row

    @property
    def met(self) -> bool:
        """Whether the best meets the confidence; with too few users nothing does."""
        return self.best.meets(self.confidence)


def plan(
    time: ArrayLike,
    user: ArrayLike,
    item: ArrayLike,
    *,
    k: int = 2,
    confidence: float = 0.95,
    windows: Sequence[float] = (),
    z: Sequence[int] = (),
) -> Plan:
    """Look for the least z under which users are k-anonymous with the confidence, by the model and in the sample.

    Parameters
    ----------
    time, user, item
        The sample, one entry per observation: seconds, and any numbers that identify users and items.
    k, confidence
        The goal: with this probability, k - 1 other users publish the same as a user.
    windows
        The Δt to try, in seconds; by default, usual spans that fit at least three times into the sample.
    z
        The z to show; by default, about two dozen from 1 to one at which nothing is published.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> user, item = rng.integers(0, 300, 20_000), rng.geometric(0.3, 20_000)
    >>> found = plan(np.sort(rng.uniform(0, 7200, 20_000)), user, item, k=2, confidence=0.9, windows=[600])
    >>> found.best.z, found.best.measured >= 0.9, found.best.probability >= 0.9
    (47, True, True)
    """
    if k < 2:
        raise ModelError("k: is below 2; 2 is the least that hides anyone")
    if not 0 < confidence < 1:
        raise ModelError("confidence: lies outside 0 to 1; 0.95 is a usual choice")
    sample = Sample(time, user, item)
    lengths = sorted(set(windows)) or [length for length in USUAL if sample.span >= _FULL * length]
    if not lengths:
        raise ModelError(
            f"the sample spans {sample.span:g} s, which fills no usual window three times; name windows, or give a longer one"
        )
    found = [_window(sample.cut(length), length, k, confidence, z) for length in lengths]
    best = max((each.best for each in found), key=lambda row: (row.meets(confidence), row.kept, -row.window))
    size = len(sample.time)
    return Plan(k, confidence, size, sample.users, sample.items, sample.span, found, best)


def _window(cut: Windows, length: float, k: int, confidence: float, asked: Sequence[int]) -> Window:
    exposed = cut.exposed[cut.exposed > 0]
    whole = Publication(cut.users, exposed, 1).entropy

    def row(z: int) -> Row:
        publication = Publication(cut.users, exposed, z)
        value, error, _ = grid(publication, k, _TOLERANCE)
        information = publication.entropy / whole if whole else 0.0
        return Row(length, z, value, error, cut.share(z, k), information, cut.kept(z), cut.silent(z))

    def holds(z: int) -> bool:
        if cut.share(z, k) < confidence:
            return False
        value, error, _ = grid(Publication(cut.users, exposed, z), k, _TOLERANCE)
        return value - error >= confidence

    most = silencing_z(cut.users, exposed)
    best = least_z(holds, 1, most)
    shown = sorted({*(asked or _steps(most)), best})
    rows = [row(z) for z in shown]
    return Window(length, cut.number, cut.users, len(exposed), float(exposed.sum()), rows, next(r for r in rows if r.z == best))


def _steps(most: int) -> list[int]:
    """From 1 up, each a fixed part larger than the one before, in two digits.

    >>> _steps(500)[-6:]
    [130, 170, 230, 300, 390, 500]
    """
    found = np.geomspace(1, most, _STEPS)
    digits = [10 ** max(0, math.floor(math.log10(value)) - 1) for value in found]
    return sorted({min(most, math.ceil(value / unit) * unit) for value, unit in zip(found, digits, strict=True)})
