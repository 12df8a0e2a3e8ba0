"""What a group shows, what that costs a tuple, and how far tuples are apart.

A generalization has, for each quasi-identifier, what the group shows; None where it shows nothing; or ROOT where too few
persons have it. Under `extended` and `root` None stands where any member has nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .domains import Attribute
from .rows import Row, by_arrival, persons, valid

ROOT = object()


@dataclass(frozen=True)
class Reading:
    """How nulls are read, how many must have what is shown, and how much each quasi-identifier counts."""

    match: str = "maybe"
    min_support: int = 1
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.match not in ("extended", "root", "maybe"):
            raise ValueError(f"unknown match {self.match}")
        if self.min_support > 1 and self.match != "maybe":
            raise ValueError("min_support is for maybe")

    def weight(self, q: int) -> float:
        return self.weights[q] if self.weights else 1.0

    def weighted(self, numbers: dict[int, float]) -> float:
        """The weighted mean of a number for each quasi-identifier."""
        total, weights = 0.0, 0.0
        for q in sorted(numbers):
            total += self.weight(q) * numbers[q]
            weights += self.weight(q)
        return total / weights

    @property
    def careless(self) -> Reading:
        """This reading, for those who do not foresee the support."""
        return replace(self, min_support=1)


MAYBE = Reading()


def mean(numbers: Sequence[float]) -> float:
    total = 0.0
    for number in numbers:
        total += number
    return total / len(numbers)


def attribute_loss(attribute: Attribute, g: Any) -> float:
    return 1.0 if g is None or g is ROOT else attribute.loss(g)


def loss(attributes: Sequence[Attribute], t: Row, generalization: tuple, reading: Reading = MAYBE) -> float:
    losses = {q: attribute_loss(attributes[q], generalization[q]) for q in valid(t.values)}
    return reading.weighted(losses) if losses else 0.0


def cluster_loss(attributes: Sequence[Attribute], cluster: Iterable[Row], reading: Reading = MAYBE) -> float:
    rows = by_arrival(cluster)
    generalization = generalize(attributes, rows, reading)
    return mean([loss(attributes, t, generalization, reading) for t in rows])


def distance(attributes: Sequence[Attribute], t: Row, u: Row, reading: Reading = MAYBE) -> float:
    shared = set(valid(t.values)) & set(valid(u.values))
    apart = {q: attributes[q].distance(t.values[q], u.values[q]) for q in shared}
    return reading.weighted(apart) if apart else 1.0


def distance_under(shown: Collection[int], attributes: Sequence[Attribute], t: Row, u: Row, reading: Reading = MAYBE) -> float:
    """d_Q(t, u), with Q what is shown: what only one of Q and Q_u has counts as the farthest."""
    has = set(valid(u.values))
    apart = {q: attributes[q].distance(t.values[q], u.values[q]) if q in shown and q in has else 1.0 for q in set(shown) | has}
    return reading.weighted(apart) if apart else 1.0


def generalize(attributes: Sequence[Attribute], cluster: Sequence[Row], reading: Reading = MAYBE) -> tuple:
    return tuple(_shown(q, attribute, cluster, reading) for q, attribute in enumerate(attributes))


def _shown(q: int, attribute: Attribute, cluster: Sequence[Row], reading: Reading) -> Any:
    having = [t for t in cluster if t.values[q] is not None]
    if not having or (reading.match != "maybe" and len(having) < len(cluster)):
        return None
    if persons(having) < reading.min_support:
        return ROOT
    return attribute.generalize([t.values[q] for t in having])


def covers(attributes: Sequence[Attribute], generalization: tuple, t: Row, reading: Reading = MAYBE) -> bool:
    has, shown = valid(t.values), valid(generalization)
    fits = set(has) <= set(shown) if reading.match == "maybe" else set(shown) <= set(has)
    return fits and all(
        generalization[q] is ROOT or attributes[q].contains(generalization[q], t.values[q]) for q in set(has) & set(shown)
    )


def wear(attributes: Sequence[Attribute], generalization: tuple, t: Row, reading: Reading = MAYBE) -> tuple:
    """What t publishes as one of a group."""
    return tuple(
        _worn(attribute, g, value, reading) for attribute, g, value in zip(attributes, generalization, t.values, strict=True)
    )


def _worn(attribute: Attribute, g: Any, value: Any, reading: Reading) -> Any:
    if reading.match == "maybe" and value is None:
        return None
    if g is ROOT or (g is None and reading.match == "root"):
        return attribute.root
    return g
