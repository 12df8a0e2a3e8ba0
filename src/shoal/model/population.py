"""Users, what they expose, and what z-anonymity lets through: equations 1 to 4 and 6, and section 6."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from shoal.errors import ModelError
from shoal.model.binomial import Floats, total_tail


@dataclass(frozen=True, eq=False)
class Population:
    """Users who expose each attribute of a catalogue at a rate of its own; in classes, if they differ.

    Parameters
    ----------
    users
        U, or U_c of each class.
    rates
        λ_a of each attribute; with classes a row of them for each. Per user and unit of time.

    Examples
    --------
    >>> paper = Population(1000, 0.2 / np.arange(1, 21))
    >>> publication = paper.publish(z=150, window=12)
    >>> publication.exposed[0, :3].round(3), publication.released[0, [0, 14]].round(3)
    (array([0.909, 0.699, 0.551]), array([1.   , 0.468]))
    """

    users: tuple[int, ...]
    rates: Floats

    def __init__(self, users: int | Sequence[int], rates: ArrayLike) -> None:
        object.__setattr__(self, "users", _counts(users))
        object.__setattr__(self, "rates", _table(rates, len(self.users), "rates", np.inf))

    def expose(self, window: float) -> Floats:
        """p^X, equation 1: 1 - exp(-λΔt), a row for each class."""
        if not window >= 0:
            raise ModelError("window: is below 0; give the Δt of the counting, in the unit of the rates")
        return -np.expm1(-self.rates * window)

    def publish(self, z: int, window: float) -> Publication:
        """What of it leaves."""
        return Publication(self.users, self.expose(window), z)


@dataclass(frozen=True, eq=False)
class Publication:
    """What users publish in Δt under z-anonymity.

    Parameters
    ----------
    users
        U, or U_c of each class.
    exposed
        p^X, the probability that a user exposes the attribute in Δt; with classes a row for each.
    z
        The fewest users who must expose an attribute, the one at hand included.

    Examples
    --------
    >>> Publication(3, [1.0, 0.5], z=2).published
    array([[1.   , 0.375]])
    """

    users: tuple[int, ...]
    exposed: Floats
    z: int

    def __init__(self, users: int | Sequence[int], exposed: ArrayLike, z: int) -> None:
        if z < 1:
            raise ModelError("z: is below 1; 1 publishes everything, larger numbers publish less")
        object.__setattr__(self, "users", _counts(users))
        object.__setattr__(self, "exposed", _table(exposed, len(self.users), "exposed", 1.0))
        object.__setattr__(self, "z", int(z))

    def others(self, c: int) -> list[int]:
        """The users of each class without one of class c."""
        return [n - (i == c) for i, n in enumerate(self.users)]

    @cached_property
    def released(self) -> Floats:
        """p^O, equation 3: at least z - 1 other users expose it too. With classes a sum of binomials, one a class."""
        return np.stack([total_tail(self.others(c), self.z - 1, self.exposed) for c in range(len(self.users))])

    @cached_property
    def published(self) -> Floats:
        """p^Y = p^X · p^O."""
        return self.exposed * self.released

    @cached_property
    def shares(self) -> Floats:
        """What part of the users each class is."""
        return np.asarray(self.users, np.float64) / sum(self.users)

    @cached_property
    def entropies(self) -> Floats:
        """Equation 6 in nats, for each class: attributes are independent, so their entropies add up."""
        p = self.published
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(p > 0, p * np.log(p), 0.0) + np.where(p < 1, (1 - p) * np.log1p(-p), 0.0)
        return -each.sum(axis=1)

    @property
    def entropy(self) -> float:
        """The mean of the classes' entropies: the information of a release whose class is known."""
        return float(self.shares @ self.entropies)

    @property
    def silent(self) -> float:
        """The probability that a user publishes nothing."""
        with np.errstate(divide="ignore"):
            return float(self.shares @ np.exp(np.log1p(-self.published).sum(axis=1)))


def _counts(users: int | Sequence[int]) -> tuple[int, ...]:
    counts = tuple(int(n) for n in np.atleast_1d(np.asarray(users)))
    if not counts or min(counts) < 1:
        raise ModelError("users: a class has none; give each at least one, or leave it out")
    return counts


def _table(values: ArrayLike, classes: int, name: str, most: float) -> Floats:
    table = np.atleast_2d(np.asarray(values, np.float64))
    if table.ndim != 2 or len(table) != classes:
        raise ModelError(f"{name}: has {len(table)} rows for {classes} classes; give one row a class")
    if not np.all((table >= 0) & (table <= most)):
        raise ModelError(f"{name}: one lies outside 0 to {most:g}; correct it")
    return table
