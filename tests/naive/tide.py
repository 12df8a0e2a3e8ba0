from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from shoal.conformance.naive.common import Algorithm, Arrival, Attribute, Entry, Numeric, Row, by_arrival, persons, valid
from shoal.conformance.naive.measures import ALL_OR_NOTHING, MAYBE, Doubtful, Reading, attribute_loss
from shoal.conformance.naive.promises import is_one_in

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
        self.covers = {}
        for t in self.wave:
            self.covers[t] = self.reuse.best(t, self.now, lambda entry, t=t: self.is_open_to(entry, t))

    def is_open_to(self, entry: Entry, t: Row) -> bool:
        """Whether the group serves t after the older tuples of its person in the wave have left by their covers."""
        earlier = [u.person for u, cover in self.covers.items() if cover is entry and u.person == t.person]
        return self.serves(entry, t) and not (self.one_in_k and not is_one_in(self.k, [*entry.people, *earlier], t.person))

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
        groups = []
        for part in parts(self.units, self.k, wave):
            groups += Partition(self.units, self.k, part, alone, self.one_in_k).made(self.seeds, self.rounds)
        for t in wave:
            if not any(t in group for group in groups):
                self.leave_alone(t, groups)
        self.complete(groups)
        for group in sorted(groups, key=oldest):
            self.keep(self.publish_cluster(group))

    def leave_alone(self, t: Row, groups: list[Group]) -> None:
        """t, which is in no group, leaves by its cover, or joins a group if none holds any more."""
        cover = self.covers[t]
        assert cover is not None or self.one_in_k
        if cover is None or self.now - cover.published >= self.reuse.age or not self.serves(cover, t):
            cover = self.best_cover(t)
        if cover is not None:
            self.publish_covered(t, cover)
            return
        open_to = [group for group in groups if not (self.one_in_k and holds_person(group, t))]
        if open_to:
            shown = valid(t.values)
            grouped = [u for group in open_to for u in group]
            nearest = min(grouped, key=lambda u: (self.distance_to_join(shown, t, u), u.number))
            next(group for group in groups if nearest in group).append(t)
        elif not self.one_in_k:  # or else it stays for the next wave
            self.suppress(t)

    def complete(self, groups: list[Group]) -> None:
        """Groups that fail a demand are joined with others, which are their cells."""
        parts = {id(group): 1 for group in groups}
        for group in sorted(groups, key=oldest):
            if not any(group is other for other in groups):
                continue
            others = [other for other in groups if other is not group and parts[id(other)] < 4]
            joined = self.with_cells(group, self.in_order(group, others))
            if joined is None or len(joined) == len(group):
                continue
            came = [other for other in others if other[0] in joined]
            parts[id(group)] += sum(parts[id(other)] for other in came)
            groups[:] = [other for other in groups if not any(other is one for one in came)]
            group[:] = joined

    def in_order(self, group: Group, others: list[Group]) -> list[Group]:
        """Other groups, by how near their nearest is to the oldest of a group."""
        t, shown = by_arrival(group)[0], valid(self.generalize(group))
        return sorted(others, key=lambda other: min((self.distance_to_join(shown, t, u), u.number) for u in other))


def holds_person(group: Group, t: Row) -> bool:
    return any(u.person == t.person for u in group)


def oldest(group: Group) -> int:
    return min(t.number for t in group)


class Units:
    """Losses and costs in whole numbers."""

    def __init__(self, attributes: Sequence[Attribute], reading: Reading = MAYBE) -> None:
        self.attributes = attributes
        self.all_or_nothing = reading.match in ALL_OR_NOTHING
        heaviest = max(reading.weight(q) for q in range(len(attributes)))
        self.weights = [reading.weight(q) / heaviest for q in range(len(attributes))]
        self.units = [math.floor(65536 * weight + 0.5) for weight in self.weights]
        self.doubts = [math.floor(units / 32 + 0.5) if reading.match == "blurred" else 0 for units in self.units]
        self.coarse = 1
        while sum(number // self.coarse for number in [*self.units, *self.doubts]) >= 65535:
            self.coarse *= 2

    def box(self, group: Group) -> list[int]:
        """The loss of each quasi-identifier."""
        return [self.spread(q, [t.values[q] for t in group]) for q in range(len(self.attributes))]

    def spread(self, q: int, column: list[Any], unit: int = 1) -> int:
        """The loss of a quasi-identifier, counted in so many units."""
        attribute, values = self.attributes[q], [value for value in column if value is not None]
        if self.all_or_nothing and len(values) < len(column):
            return self.units[q] // unit
        if not values:
            return 0
        if isinstance(attribute, Numeric):
            places = [self.place(q, value) // unit for value in values]
            return max(places) - min(places)
        return self.whole(q, attribute.loss(attribute.generalize(values))) // unit

    def place(self, q: int, value: Any) -> int:
        """In units, or the number of a leaf."""
        attribute = self.attributes[q]
        if isinstance(attribute, Numeric):
            return math.floor((value - attribute.low) / (attribute.high - attribute.low) * self.units[q] + 0.5)
        return list(attribute.paths).index(value)  # they are listed depth first

    def whole(self, q: int, loss: float) -> int:
        return math.floor(loss * self.units[q] + 0.5)

    def cost(self, group: Group) -> int:
        box = self.box(group)
        return sum(self.weighted(t, box) for t in group) + self.price(self.mixed(group)) * len(group)

    def mixed(self, group: Group) -> list[int]:
        """What some have and some lack."""
        having = [sum(t.values[q] is not None for t in group) for q in range(len(self.attributes))]
        return [q for q, number in enumerate(having) if 0 < number < len(group)]

    def doubt(self, quasi: Iterable[int]) -> int:
        return sum(self.doubts[q] for q in quasi)

    def price(self, quasi: Iterable[int]) -> int:
        """What the doubt about these costs each tuple that shows it."""
        return self.weight(range(len(self.attributes))) * self.doubt(quasi)

    def key(self, group: Group, t: Row) -> int:
        """What t adds to the box and to the doubt, in coarse units."""
        before, after = self.mixed(group), self.mixed([*group, t])
        added = sum(self.doubts[q] // self.coarse for q in after if q not in before)
        for q in range(len(self.attributes)):
            column = [u.values[q] for u in group]
            if any(value is not None for value in column):
                added += self.spread(q, [*column, t.values[q]], self.coarse) - self.spread(q, column, self.coarse)
        return added

    def cover(self, t: Row, cover: Entry | None) -> float:
        if cover is None:
            return math.inf
        losses = zip(self.attributes, cover.generalization, strict=True)
        doubtful = [q for q, g in enumerate(cover.generalization) if isinstance(g, Doubtful)]
        own = self.weighted(t, [self.whole(q, attribute_loss(a, g)) for q, (a, g) in enumerate(losses)])
        return own + self.price(doubtful)

    def weighted(self, t: Row, losses: Sequence[int]) -> int:
        """The losses of all that t has, by its weight."""
        q_t = valid(t.values)
        return self.weight(q_t) * sum(losses[q] for q in q_t) if q_t else 0

    def weight(self, quasi: Iterable[int]) -> int:
        """The weight of a tuple that has these."""
        total = 0.0
        for q in quasi:
            total += self.weights[q]
        return math.floor(4096 / total + 0.5)


WHOLE, PART = 2000, 200


def parts(units: Units, k: int, wave: list[Row]) -> list[list[Row]]:
    """The wave, cut in two where it is large, and so on."""
    if len(wave) <= max(WHOLE, PART * k):
        return [wave]
    low, high = halves(units, wave)
    if persons(low) < k or persons(high) < k:
        return [wave]
    return parts(units, k, low) + parts(units, k, high)


def halves(units: Units, wave: list[Row]) -> tuple[list[Row], list[Row]]:
    n, best, high = len(wave), 0, set()
    sample = [wave[(2 * i + 1) * n // 128] for i in range(64)]
    for q in range(len(units.attributes)):
        own = sorted((t.values[q] for t in sample if t.values[q] is not None), key=lambda value: units.place(q, value))
        places = [units.place(q, value) for value in own]
        m = len(places)
        cuts = [i for i in range(1, m) if places[i - 1] != places[i]]
        if not cuts:
            continue
        i = min(cuts, key=lambda i: (abs(i - m // 2), i))
        saved = m * middle(units, q, own) - i * middle(units, q, own[:i]) - (m - i) * middle(units, q, own[i:])
        if saved * min(i, m - i) > best:
            best = saved * min(i, m - i)
            high = {t for t in wave if t.values[q] is not None and units.place(q, t.values[q]) >= places[i]}
    return [t for t in wave if t not in high], [t for t in wave if t in high]


def middle(units: Units, q: int, values: list[Any]) -> int:
    """The loss of the middle three quarters."""
    aside = len(values) // 8
    return units.spread(q, values[aside : len(values) - aside])


class Partition:
    """A part's groups, in the order of their numbers; a tuple in none is alone."""

    def __init__(self, units: Units, k: int, wave: list[Row], alone: dict[Row, float], single: bool = False) -> None:
        self.units = units
        self.k = k
        self.wave = wave
        self.alone = alone
        self.single = single  # a group holds at most one tuple of a person
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
        return sorted(others, key=lambda t: (self.units.key(candidate, t), t.number))[: 2 * self.k]

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
        open_to = [number for number, group in enumerate(groups) if not (self.single and holds_person(group, t))]
        raises = [(self.raised(groups[number], t), number) for number in open_to]
        if not raises:
            return math.inf, []
        least, number = min(raises)
        return least, groups[number]

    def settle(self, t: Row, groups: list[Group]) -> None:
        least, group = self.least(t, groups)
        if least <= self.alone[t] and group:
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

    def total(self, groups: list[Group]) -> tuple[int, float]:
        """How many tuples have neither a group nor a cover, and what the others cost."""
        taken = {t for group in groups for t in group}
        alone = [self.alone[t] for t in self.wave if t not in taken]
        lost = [cost for cost in alone if cost == math.inf]
        return len(lost), sum(self.cost(group) for group in groups) + sum(cost for cost in alone if cost < math.inf)

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
