"""What is asked of the sensitive values that a group shows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from shoal.conformance.naive.rows import Row

REMEMBERED = (512, 16)  # rows of a group: at least so many, and so many times k
TOLERANCE = 1e-12
MOST_VALUES = 64

Shown = list[Counter]  # of each sensitive attribute, how often each value is shown


@dataclass(frozen=True)
class Demand:
    """Of a sensitive attribute: `distinct` (n,), `entropy` (n,), `recursive` (c, n) or `t` (t,)."""

    attribute: int
    kind: str
    numbers: tuple[float, ...]
    reference: Mapping[Hashable, float] | None = None  # None: the persons who came so far

    def holds(self, shown: Counter, came: Counter) -> bool:
        if self.kind == "distinct":
            return len(shown) >= self.numbers[0]
        if self.kind == "entropy":
            return entropy(shown) >= math.log(self.numbers[0]) - TOLERANCE
        if self.kind == "recursive":
            return self.excess(shown) < 0
        if self.kind == "t":
            return self.farness(shown, came) <= self.numbers[0] + TOLERANCE
        raise ValueError(f"unknown demand {self.kind}")

    def helps(self, values: Iterable[Hashable | None], shown: Counter, came: Counter) -> bool:
        """Whether these values, all shown at once, bring the demand nearer."""
        added = Counter(value for value in values if value is not None)
        more = shown + added
        if self.kind == "distinct":
            return len(more) > len(shown)
        if self.kind == "entropy":
            return entropy(more) > entropy(shown) + TOLERANCE
        if self.kind == "recursive":
            new = len(shown) < self.numbers[1] and len(more) > len(shown)
            return new or self.excess(more) < self.excess(shown) - TOLERANCE
        return self.farness(more, came) < self.farness(shown, came) - TOLERANCE

    def excess(self, shown: Counter) -> float:
        """r_1 - c * (r_n + r_n+1 + ...)"""
        c, n = self.numbers
        counts = sorted(shown.values(), reverse=True)
        return max(counts, default=0) - c * sum(counts[int(n) - 1 :])

    def farness(self, shown: Counter, came: Counter) -> float:
        reference = shares(came) if self.reference is None else self.reference
        if not shown:
            return 0.0
        group = shares(shown)
        return sum(abs(group.get(v, 0.0) - reference.get(v, 0.0)) for v in {**group, **reference}) / 2

    def is_bounded(self, shown: Counter) -> bool:
        """Whether a group that shows these values may be kept for reuse."""
        return self.kind == "distinct" or len(shown) <= MOST_VALUES


class Promises:
    """All demands, and the values that came so far."""

    def __init__(self, demands: Iterable[Demand]) -> None:
        self.demands = list(demands)
        self.came: Shown = counters(1 + max((demand.attribute for demand in self.demands), default=-1))

    def shown(self, rows: Iterable[Row]) -> Shown:
        found = counters(len(self.came))
        for row in rows:
            show(found, row)
        return found

    def witness(self, row: Row) -> None:
        show(self.came, row)

    def unmet(self, shown: Shown) -> Demand | None:
        return next((d for d in self.demands if not d.holds(shown[d.attribute], self.came[d.attribute])), None)

    def broken(self, shown: Shown) -> set[int]:
        """The attributes of which a demand does not hold."""
        return {d.attribute for d in self.demands if not d.holds(shown[d.attribute], self.came[d.attribute])}

    def helps(self, demand: Demand, cell: Iterable[Row], shown: Shown) -> bool:
        own = demand.attribute
        return demand.helps([row.sensitive[own] for row in cell], shown[own], self.came[own])

    def are_bounded(self, shown: Shown) -> bool:
        return all(demand.is_bounded(shown[demand.attribute]) for demand in self.demands)

    def serve(self, shown: Shown, row: Row) -> bool:
        """Whether all demands hold if one more tuple uses what a group has shown."""
        if not self.demands:
            return True
        more = [Counter(counter) for counter in shown]
        show(more, row)
        return self.unmet(more) is None and self.are_bounded(more)


def is_one_in(k: int, people: Sequence[Hashable], person: Hashable) -> bool:
    """Whether one more row of this person may join the rows of these, so that it has at most 1/k of them."""
    least, times = REMEMBERED
    return len(people) < max(least, times * k) and k * (people.count(person) + 1) <= len(people) + 1


def first_of_each(rows: Iterable[Row]) -> list[Row]:
    """The oldest tuple of each person; the rows come in order of arrival."""
    return list({row.person: row for row in reversed(list(rows))}.values())[::-1]


def rounded_outward(moments: Sequence[float], grid: float) -> tuple[float, float]:
    step = Fraction(str(grid))
    low, high = Fraction(min(moments)) / step, Fraction(max(moments)) / step
    return float(math.floor(low) * step), float(math.ceil(high) * step)


def counters(number: int) -> Shown:
    return [Counter() for _ in range(number)]


def show(shown: Shown, row: Row) -> None:
    for counter, value in zip(shown, row.sensitive, strict=False):
        if value is not None:
            counter[value] += 1


def shares(counts: Mapping[Hashable, int]) -> dict[Hashable, float]:
    total = sum(counts.values())
    return {value: count / total for value, count in counts.items()}


def entropy(counts: Mapping[Hashable, int]) -> float:
    """That of nothing is less than any."""
    return -1.0 if not counts else -sum(share * math.log(share) for share in shares(counts).values())
