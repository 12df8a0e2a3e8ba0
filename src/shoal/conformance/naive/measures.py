"""What a group shows, what that costs a tuple, and how far tuples are apart.

A generalization has, for each quasi-identifier, what the group shows; None where it shows nothing; or ROOT where too few
persons have it. Under `extended` and `root` None stands where any member has nothing; under `blurred` what only some members
have is Doubtful.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shoal.conformance.naive.domains import Attribute, Sets
from shoal.conformance.naive.rows import Row, by_arrival, persons, valid

ROOT = object()
ALL_OR_NOTHING = ("extended", "root")  # the readings that show only what all members have


@dataclass(frozen=True)
class Doubtful:
    """A value in doubt: this generalization, or missing."""

    value: Any


@dataclass(frozen=True)
class Reading:
    """How nulls are read, how many must have what is shown, and how much each quasi-identifier counts."""

    match: str = "maybe"
    min_support: int = 1
    weights: tuple[float, ...] | None = None
    carried: bool = True  # whether the persons that have a value of a set are counted

    def __post_init__(self) -> None:
        if self.match not in ("blurred", "extended", "root", "maybe"):
            raise ValueError(f"unknown match {self.match}")
        if self.min_support > 1 and self.match in ALL_OR_NOTHING:
            raise ValueError("min_support is for blurred and maybe")

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
        """This reading, without a minimum support, for algorithms that do not foresee it."""
        return replace(self, min_support=1, carried=False)


MAYBE = Reading()


def mean(numbers: Sequence[float]) -> float:
    total = 0.0
    for number in numbers:
        total += number
    return total / len(numbers)


def without_doubt(g: Any) -> Any:
    return g.value if isinstance(g, Doubtful) else g


def attribute_loss(attribute: Attribute, g: Any) -> float:
    g = without_doubt(g)
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
    mixed = len(having) < len(cluster)
    if not having or (mixed and reading.match in ALL_OR_NOTHING):
        return None
    supported = persons(having) >= reading.min_support
    if not supported:
        g = ROOT
    elif isinstance(attribute, Sets) and reading.carried:
        g = attribute.show([(t.person, t.values[q]) for t in having])
    else:
        g = attribute.generalize([t.values[q] for t in having])
    return Doubtful(g) if mixed and reading.match == "blurred" else g


def covers(attributes: Sequence[Attribute], generalization: tuple, t: Row, reading: Reading = MAYBE) -> bool:
    has, shown = set(valid(t.values)), set(valid(generalization))
    certain = {q for q in shown if not isinstance(generalization[q], Doubtful)}
    fits = {"blurred": certain <= has <= shown, "maybe": has <= shown}.get(reading.match, shown <= has)
    return fits and all(_contains(attributes[q], without_doubt(generalization[q]), t.values[q]) for q in has & shown)


def _contains(attribute: Attribute, g: Any, value: Any) -> bool:
    return g is ROOT or attribute.contains(g, value)


def wear(attributes: Sequence[Attribute], generalization: tuple, t: Row, reading: Reading = MAYBE) -> tuple:
    """What t publishes as one of a group."""
    return tuple(
        _worn(attribute, g, value, reading) for attribute, g, value in zip(attributes, generalization, t.values, strict=True)
    )


def _worn(attribute: Attribute, g: Any, value: Any, reading: Reading) -> Any:
    if isinstance(g, Doubtful):
        return Doubtful(_worn(attribute, g.value, value, reading))
    if reading.match == "maybe" and value is None:
        return None
    if g is ROOT or (g is None and reading.match == "root"):
        return attribute.root
    return g
