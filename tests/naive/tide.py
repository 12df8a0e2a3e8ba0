from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .common import Algorithm, Arrival, Attribute, Entry, Numeric, Row, by_arrival, persons, valid
from .measures import MAYBE, Reading, attribute_loss

Group = list[Row]


class Tide(Algorithm):
    def __init__(
        self,
        attributes: Sequence[Attribute],
        k: int,
        window: tuple[str, float],
        *,
        effort: str = "quick",
        reuse_age: float | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(attributes, k, window, reuse_age=2 * window[1] if reuse_age is None else reuse_age, **parameters)
        self.seeds, self.rounds = {"quick": (2, 1), "thorough": (8, 3)}[effort]
        self.units = Units(attributes, self.reading)
        self.wave: list[Row] | None = None
        self.covers: dict[Row, Entry | None] = {}

    def arrive(self, arrival: Arrival) -> None:
        super().arrive(arrival)
        self.close_early()

    def expire(self) -> None:
        super().expire()
        self.close_early()

    def finish(self) -> None:
        while self.buffer:
            self.wave = None
            self.publish(self.buffer[0])

    def close_early(self) -> None:
        if self.wave is None and persons(self.buffer) >= self.k and self.used_up() >= self.length - self.spare():
            self.close()

    def used_up(self) -> float:
        return len(self.buffer) if self.window == "buffer" else self.now - self.buffer[0].time

    def spare(self) -> float:
        return self.length / 32 if self.window == "time" else self.length // 32

    def close(self) -> None:
        self.wave = self.buffer[:8192] if len(self.buffer) > 16384 else list(self.buffer)
        self.covers = {t: self.best_cover(t) for t in self.wave}

    def publish(self, t: Row) -> None:
        if self.wave is None:
            self.close()
        wave, self.wave = self.wave, None
        assert wave is not None
        if persons(self.buffer) < self.k or persons(wave) < self.k:
            self.cover_or_suppress(t)
        else:
            self.leave(wave)

    def leave(self, wave: list[Row]) -> None:
        alone = {t: self.units.cover(t, self.covers[t]) for t in wave}
        groups = Partition(self.units, self.k, wave, alone).made(self.seeds, self.rounds)
        for t in wave:
            if not any(t in group for group in groups):
                self.leave_alone(t, groups)
        while groups:
            self.leave_together(min(groups, key=oldest), groups)

    def leave_alone(self, t: Row, groups: list[Group]) -> None:
        """t, which is in no group, leaves by its cover, or joins a group if none holds any more."""
        cover = self.covers[t]
        assert cover is not None
        if self.now - cover.published >= self.reuse.age or not self.serves(cover, t):
            cover = self.best_cover(t)
        if cover is not None:
            self.publish_covered(t, cover)
        elif groups:
            shown = valid(t.values)
            grouped = [u for group in groups for u in group]
            nearest = min(grouped, key=lambda u: (self.distance_to_join(shown, t, u), u.number))
            next(group for group in groups if nearest in group).append(t)
        else:
            self.suppress(t)

    def leave_together(self, group: Group, groups: list[Group]) -> None:
        """A group leaves, completed out of the others, which shrink or come along whole; or each member alone."""
        groups.remove(group)
        before = [list(other) for other in groups]
        complete = self.completed(by_arrival(group)[0], group, lambda u: self.torn_from(groups, u))
        if complete is not None:
            self.keep(self.publish_cluster(complete))
            return
        groups[:] = before
        for t in by_arrival(group):
            self.cover_or_suppress(t)

    def torn_from(self, groups: list[Group], u: Row) -> Group:
        own = next((group for group in groups if u in group), None)
        if own is None:
            return [u]
        if persons(v for v in own if v != u) >= self.k:
            own.remove(u)
            return [u]
        groups.remove(own)
        return own


def oldest(group: Group) -> int:
    return min(t.number for t in group)


class Units:
    """Losses and costs in whole numbers."""

    def __init__(self, attributes: Sequence[Attribute], reading: Reading = MAYBE) -> None:
        self.attributes = attributes
        self.all_or_nothing = reading.match != "maybe"
        heaviest = max(reading.weight(q) for q in range(len(attributes)))
        self.weights = [reading.weight(q) / heaviest for q in range(len(attributes))]
        self.units = [math.floor(65536 * weight + 0.5) for weight in self.weights]

    def box(self, group: Group) -> list[int]:
        """The loss of each quasi-identifier."""
        return [self.spread(q, [t.values[q] for t in group]) for q in range(len(self.attributes))]

    def spread(self, q: int, column: list[Any]) -> int:
        attribute, values = self.attributes[q], [value for value in column if value is not None]
        if self.all_or_nothing and len(values) < len(column):
            return self.units[q]
        if not values:
            return 0
        if isinstance(attribute, Numeric):
            width = attribute.high - attribute.low
            places = [math.floor((value - attribute.low) / width * self.units[q] + 0.5) for value in values]
            return max(places) - min(places)
        return self.whole(q, attribute.loss(attribute.generalize(values)))

    def whole(self, q: int, loss: float) -> int:
        return math.floor(loss * self.units[q] + 0.5)

    def cost(self, group: Group) -> int:
        box = self.box(group)
        return sum(self.weighted(t, box) for t in group)

    def cover(self, t: Row, cover: Entry | None) -> float:
        if cover is None:
            return math.inf
        losses = zip(self.attributes, cover.generalization, strict=True)
        return self.weighted(t, [self.whole(q, attribute_loss(a, g)) for q, (a, g) in enumerate(losses)])

    def weighted(self, t: Row, losses: Sequence[int]) -> int:
        """The losses of all that t has, by its weight."""
        q_t = valid(t.values)
        total = 0.0
        for q in q_t:
            total += self.weights[q]
        return math.floor(4096 / total + 0.5) * sum(losses[q] for q in q_t) if q_t else 0


class Partition:
    """A wave's groups, in the order of their numbers; who is in none is alone."""

    def __init__(self, units: Units, k: int, wave: list[Row], alone: dict[Row, float]) -> None:
        self.units = units
        self.k = k
        self.wave = wave
        self.alone = alone
        self.groups: list[Group] = []

    def made(self, seeds: int, rounds: int) -> list[Group]:
        self.choose([self.grown([seed]) for seed in self.seeds(seeds)])
        for t in self.free():
            self.settle(t, self.groups)
        for _ in range(rounds):
            dissolved = [self.dissolve(number) for number in reversed(range(len(self.groups)))]
            exchanged = [self.exchange(t) for t in self.wave]
            if not any(dissolved) and not any(exchanged):
                break
        return self.groups

    def seeds(self, each: int) -> list[Row]:
        n = len(self.wave)
        m = min(n, -(-each * n // self.k))
        return [self.wave[(2 * i + 1) * n // (2 * m)] for i in range(m)]

    def free(self) -> list[Row]:
        taken = {t for group in self.groups for t in group}
        return [t for t in self.wave if t not in taken]

    def cost(self, group: Group) -> int:
        return self.units.cost(group)

    def grown(self, members: Group) -> Group:
        candidate = list(members)
        shortlist: list[Row] = []
        while persons(candidate) < self.k:
            if not shortlist:
                shortlist = self.shortlist(candidate)
            joining = min(shortlist, key=lambda t: (self.cost([*candidate, t]), t.number))
            candidate.append(joining)
            shortlist = [t for t in shortlist if t.person != joining.person]
        return candidate

    def shortlist(self, candidate: Group) -> list[Row]:
        present = {t.person for t in candidate}
        others = [t for t in self.free() if t.person not in present]
        return sorted(others, key=lambda t: (sum(self.units.box([*candidate, t])), t.number))[: 2 * self.k]

    def choose(self, candidates: list[Group]) -> None:
        priced = [(self.cost(candidate), number, candidate) for number, candidate in enumerate(candidates)]
        while persons(self.free()) >= self.k:
            free = self.free()
            if not priced:
                candidate = self.grown([free[0]])
                priced.append((self.cost(candidate), 0, candidate))
            _, number, candidate = cheapest = min(priced, key=lambda entry: entry[:2])
            priced.remove(cheapest)
            rest = [t for t in candidate if t in free]
            if rest == candidate:
                self.groups.append(candidate)
            elif rest:
                candidate = self.grown(rest)
                priced.append((self.cost(candidate), number, candidate))

    def raised(self, group: Group, t: Row) -> int:
        return self.cost([*group, t]) - self.cost(group)

    def least(self, t: Row, groups: list[Group]) -> tuple[float, Group]:
        """The least by which t raises the cost of one of these groups, and the first such group."""
        raises = [(self.raised(group, t), number) for number, group in enumerate(groups)]
        if not raises:
            return math.inf, []
        least, number = min(raises)
        return least, groups[number]

    def settle(self, t: Row, groups: list[Group]) -> None:
        least, group = self.least(t, groups)
        if least <= self.alone[t] and groups:
            group.append(t)

    def dissolve(self, number: int) -> bool:
        group = self.groups[number]
        others = [list(other) for other in self.groups if other is not group]
        if not sum(min(self.alone[t], self.least(t, others)[0]) for t in group) < self.cost(group):
            return False
        for t in by_arrival(group):
            self.settle(t, others)
        if not self.total(others) < self.total(self.groups):
            return False
        self.groups = others
        return True

    def total(self, groups: list[Group]) -> float:
        taken = {t for group in groups for t in group}
        return sum(self.cost(group) for group in groups) + sum(self.alone[t] for t in self.wave if t not in taken)

    def exchange(self, t: Row) -> bool:
        own = next((group for group in self.groups if t in group), None)
        if own is None:
            return False
        without = [u for u in own if u != t]
        gain = self.cost(own) - self.cost(without)
        least, other = self.least(t, [group for group in self.groups if group is not own])
        if persons(without) >= self.k:
            if not min(least, self.alone[t]) < gain:
                return False
            own.remove(t)
            if least <= self.alone[t]:
                other.append(t)
            return True
        return least < gain and self.change_places(t, own, other)

    def change_places(self, t: Row, own: Group, other: Group) -> bool:
        if t.person in {u.person for u in other}:
            return False
        present = {u.person for u in own}
        found = [(self.swapped(t, own, u, other), u.number, u) for u in other if u.person not in present]
        if not found:
            return False
        cost, _, u = min(found, key=lambda entry: entry[:2])
        if not cost < self.cost(own) + self.cost(other):
            return False
        own.remove(t)
        other.remove(u)
        own.append(u)
        other.append(t)
        return True

    def swapped(self, t: Row, own: Group, u: Row, other: Group) -> int:
        """What both groups cost once t and u have changed places."""
        return self.cost([u, *(v for v in own if v != t)]) + self.cost([t, *(v for v in other if v != u)])
