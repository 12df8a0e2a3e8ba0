from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence

from shoal.conformance.naive import measures
from shoal.conformance.naive.domains import Attribute, Categorical, Numeric, Sets
from shoal.conformance.naive.kin import gather
from shoal.conformance.naive.measures import Reading, cluster_loss, covers, distance, generalize, loss, mean
from shoal.conformance.naive.promises import Demand, Promises, is_one_in, rounded_outward, show
from shoal.conformance.naive.reuse import Entry, ReuseSet
from shoal.conformance.naive.rows import Arrival, Release, Row, Tick, by_arrival, jaccard, nearest, partitions, persons, valid

__all__ = [
    "Algorithm", "Arrival", "Attribute", "Categorical", "Entry", "Numeric", "Release", "ReuseSet", "Row", "Sets", "Tick",
    "by_arrival", "cluster_loss", "covers", "distance", "generalize", "jaccard", "loss", "mean", "nearest",
    "partitions", "persons", "valid",
]  # fmt: skip


class Algorithm:
    def __init__(
        self,
        attributes: Sequence[Attribute],
        k: int,
        window: tuple[str, float],
        *,
        reuse_age: float | None = None,
        reuse_limit: float = 1000,
        reuse_loss: float = math.inf,
        match: str = "maybe",
        min_support: int | None = None,
        weights: Sequence[float] = (),
        demands: Iterable[Demand] = (),
        stretch: float = 1,
        one_in_k: bool = False,
        time_grid: float | None = None,
    ) -> None:
        self.attributes = attributes
        self.k = k
        self.window, self.length = window
        if self.window not in ("count", "time", "buffer"):
            raise ValueError(f"unknown window {self.window}")
        if self.window != "time" and self.length < k:
            raise ValueError(f"a {self.window} of {self.length} is below k = {k}")
        if min_support is None:
            min_support = min(2, k) if match == "blurred" else 1
        self.reading = Reading(match, min_support, tuple(weights) or None)
        age = self.length if reuse_age is None else reuse_age
        self.reuse = ReuseSet(attributes, age, reuse_limit, reuse_loss, self.reading)
        self.promises = Promises(demands)
        self.stretch = stretch
        self.one_in_k = one_in_k and k > 1
        self.time_grid = time_grid
        self.ended = False
        self.now: float = -math.inf
        self.arrivals = 0
        self.groups = 0
        self.buffer: list[Row] = []
        self.releases: list[Release] = []

    def run(self, events: Iterable[Arrival | Tick]) -> list[Release]:
        for event in events:
            self.take_in(event)
        self.end()
        return self.releases

    def take_in(self, event: Arrival | Tick) -> None:
        if isinstance(event, Tick):
            self.tick(event.now)
        else:
            self.arrive(event)

    def end(self) -> None:
        self.ended = True
        self.finish()

    def read(self, arrival: Arrival) -> Row:
        if self.window == "time":
            assert arrival.time is not None
            self.now = max(self.now, arrival.time)
        else:
            self.now = self.arrivals
        self.arrivals += 1
        return Row(self.arrivals - 1, self.now, arrival.person, arrival.values, arrival.sensitive, arrival.time)

    def arrive(self, arrival: Arrival) -> None:
        row = self.read(arrival)
        self.expire()
        self.insert(row)
        self.promises.witness(row)
        if self.window == "buffer" or self.stretch > 1:
            self.publish_due()

    def tick(self, now: float) -> None:
        if self.window == "time":
            self.now = max(self.now, now)
        self.expire()

    def expire(self) -> None:
        if self.window != "buffer":
            self.publish_due()

    def publish_due(self) -> None:
        while due := [t for t in self.due(1) if not self.waits(t)]:
            self.publish(due[0])

    def due(self, times: float) -> list[Row]:
        """The tuples that have waited so many times the window."""
        if self.window == "buffer":
            return self.buffer[: max(0, len(self.buffer) + 1 - math.ceil(times * self.length))]
        return [t for t in self.buffer if self.now - t.time >= times * self.length]

    def waits(self, t: Row) -> bool:
        """Whether t, which is due, stays because fewer than k persons are there."""
        if self.stretch == 1 or self.ended or persons(self.held()) >= self.k:
            return False
        return t not in self.due(self.stretch) and self.best_cover(t) is None

    def finish(self) -> None:
        while self.buffer:
            self.publish(self.buffer[0])

    def held(self) -> list[Row]:
        return self.buffer

    def insert(self, row: Row) -> None:
        self.buffer.append(row)

    def remove(self, row: Row) -> None:
        self.buffer.remove(row)

    def publish(self, t: Row) -> None:
        raise NotImplementedError

    def clock(self) -> float:
        return self.now

    def loss(self, t: Row, generalization: tuple) -> float:
        return loss(self.attributes, t, generalization, self.reading)

    def cluster_loss(self, cluster: Iterable[Row]) -> float:
        return cluster_loss(self.attributes, cluster, self.reading)

    def generalize(self, cluster: Iterable[Row]) -> tuple:
        return generalize(self.attributes, by_arrival(cluster), self.reading)

    def distance(self, t: Row, u: Row) -> float:
        return distance(self.attributes, t, u, self.reading)

    def distance_under(self, shown: tuple[int, ...], t: Row, u: Row) -> float:
        return measures.distance_under(shown, self.attributes, t, u, self.reading)

    def distance_to_join(self, shown: tuple[int, ...], t: Row, u: Row) -> float:
        return self.distance_under(shown, t, u) if self.reading.match == "extended" else self.distance(t, u)

    def with_nearest(self, t: Row, rows: Iterable[Row]) -> list[Row]:
        if self.reading.match == "extended":
            return gather(t, rows, self.k, self.distance_under, self.cluster_loss)
        return by_arrival([t, *nearest(t, rows, self.k - 1, self.distance)])

    def completed(self, t: Row, cluster: Iterable[Row]) -> list[Row] | None:
        """The cluster with the cells that must join it for every demand to hold; None if it fails."""
        members = by_arrival(cluster)
        if self.promises.unmet(self.promises.shown(members)) is None:
            return members
        return self.with_cells(members, self.cells(t, members))

    def cells(self, t: Row, members: list[Row]) -> list[list[Row]]:
        """All cells around a group, in the order in which they are laid."""
        shown, present = valid(self.generalize(members)), {u.person for u in members}
        left: list[Row] = []
        for u in self.nearest_first(shown, t, self.held()):
            if u.person not in present:
                present.add(u.person)
                left.append(u)
        cells = []
        while len(left) >= self.k:
            first, *others = left
            cell = [first, *self.nearest_first(shown, first, others)[: self.k - 1]]
            left = [u for u in left if u not in cell]
            cells.append(cell)
        return cells

    def nearest_first(self, shown: tuple[int, ...], a: Row, rows: Iterable[Row]) -> list[Row]:
        own = tuple(q for q in shown if q in valid(a.values))
        return sorted(rows, key=lambda u: (self.distance_to_join(own, a, u), u.number))

    def with_cells(self, members: list[Row], cells: list[list[Row]]) -> list[Row] | None:
        members, cells = list(members), list(cells)
        while (demand := self.promises.unmet(shown := self.promises.shown(members))) is not None:
            joining = next((cell for cell in cells if self.promises.helps(demand, cell, shown)), None)
            if joining is None:
                return None
            cells.remove(joining)
            members += joining
        return by_arrival(members)

    def best_cover(self, t: Row) -> Entry | None:
        return self.reuse.best(t, self.now, lambda entry: self.serves(entry, t))

    def serves(self, entry: Entry, t: Row) -> bool:
        if self.one_in_k and not is_one_in(self.k, entry.people, t.person):
            return False
        if entry.moment is not None and not entry.moment[0] <= t.moment <= entry.moment[1]:
            return False
        return self.promises.serve(entry.shown, t)

    def release(
        self, t: Row, how: str, group: int | None, generalization: tuple, moment: tuple[float, float] | None,
        withheld: Collection[int] = (),
    ) -> None:  # fmt: skip
        self.remove(t)
        sensitive = tuple(None if i in withheld else value for i, value in enumerate(t.sensitive))
        self.releases.append(Release(t.number, how, group, generalization, t.time, self.clock(), moment, sensitive))

    def moment(self, rows: Iterable[Row]) -> tuple[float, float] | None:
        """The time that all rows of a group show."""
        return None if self.time_grid is None else rounded_outward([t.moment for t in rows], self.time_grid)

    def wear(self, t: Row, generalization: tuple) -> tuple:
        return measures.wear(self.attributes, generalization, t, self.reading)

    def publish_cluster(self, cluster: Iterable[Row]) -> Entry:
        """A new group leaves; what does not hold of it is withheld."""
        rows = by_arrival(cluster)
        generalization, moment, shown = self.generalize(rows), self.moment(rows), self.promises.shown(rows)
        withheld = self.promises.broken(shown)
        for t in rows:
            self.release(t, "cluster", self.groups, self.wear(t, generalization), moment, withheld)
        self.groups += 1
        people = [t.person for t in rows]
        loss = self.cluster_loss(rows)
        return Entry(generalization, self.groups - 1, loss, self.now, shown, people, moment, bool(withheld))

    def keep(self, entry: Entry) -> None:
        if self.promises.are_bounded(entry.shown) and not entry.withheld:
            self.reuse.add(entry)

    def publish_covered(self, t: Row, cover: Entry) -> None:
        self.release(t, "reuse", cover.group, self.wear(t, cover.generalization), cover.moment)
        cover.people.append(t.person)
        show(cover.shown, t)

    def suppress(self, t: Row) -> None:
        self.release(t, "suppressed", None, tuple(a.root for a in self.attributes), None)

    def cover_or_suppress(self, t: Row) -> None:
        cover = self.best_cover(t)
        if cover is not None:
            self.publish_covered(t, cover)
        else:
            self.suppress(t)

    def cover_or_cluster(self, t: Row, rows: Iterable[Row], better: Callable[[float, float], bool]) -> None:
        """The best cover of t, if the group around t fails or the cover is better for t; else that group."""
        formed = self.with_nearest(t, rows)
        group, cover = self.completed(t, formed), self.best_cover(t)
        if cover is None:
            self.keep(self.publish_cluster(formed if group is None else group))
        elif group is None or better(self.loss(t, cover.generalization), self.loss(t, self.generalize(group))):
            self.publish_covered(t, cover)
        else:
            self.keep(self.publish_cluster(group))
