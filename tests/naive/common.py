from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Numeric:
    low: float
    high: float

    @property
    def root(self) -> tuple[float, float]:
        return (self.low, self.high)

    def generalize(self, values: Sequence[float]) -> tuple[float, float]:
        return (min(values), max(values))

    def contains(self, g: tuple[float, float], value: float) -> bool:
        return g[0] <= value <= g[1]

    def loss(self, g: tuple[float, float]) -> float:
        return (g[1] - g[0]) / (self.high - self.low)

    def distance(self, a: float, b: float) -> float:
        return abs(a - b) / (self.high - self.low)


@dataclass(frozen=True)
class Categorical:
    paths: dict[str, tuple[str, ...]]

    @property
    def root(self) -> str:
        return next(iter(self.paths.values()))[-1]

    def leaves(self, node: str) -> int:
        return sum(1 for path in self.paths.values() if node in path)

    def generalize(self, values: Sequence[str]) -> str:
        return next(node for node in self.paths[values[0]] if all(node in self.paths[value] for value in values))

    def contains(self, g: str, value: str) -> bool:
        return g in self.paths[value]

    def loss(self, g: str) -> float:
        if self.leaves(g) == 1:
            return 0.0
        return (self.leaves(g) - 1) / (self.leaves(self.root) - 1)

    def distance(self, a: str, b: str) -> float:
        return 0.0 if a == b else self.loss(self.generalize([a, b]))


Attribute = Numeric | Categorical


class Arrival(NamedTuple):
    person: Hashable
    values: tuple
    time: float | None = None


class Tick(NamedTuple):
    now: float


class Release(NamedTuple):
    row: int
    how: str
    cluster: int | None
    generalization: tuple | None
    arrived: float
    released: float


class Row(NamedTuple):
    number: int
    time: float
    person: Hashable
    values: tuple


def valid(values: Sequence[Any]) -> tuple[int, ...]:
    return tuple(q for q, value in enumerate(values) if value is not None)


def mean(numbers: Sequence[float]) -> float:
    total = 0.0
    for number in numbers:
        total += number
    return total / len(numbers)


def persons(rows: Iterable[Row]) -> int:
    return len({row.person for row in rows})


def by_arrival(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row.number)


def loss(attributes: Sequence[Attribute], t: Row, generalization: tuple) -> float:
    q_t = valid(t.values)
    return mean([attributes[q].loss(generalization[q]) for q in q_t]) if q_t else 0.0


def cluster_loss(attributes: Sequence[Attribute], cluster: Iterable[Row]) -> float:
    rows = by_arrival(cluster)
    generalization = generalize(attributes, rows)
    return mean([loss(attributes, t, generalization) for t in rows])


def distance(attributes: Sequence[Attribute], t: Row, u: Row) -> float:
    shared = [q for q in valid(t.values) if u.values[q] is not None]
    return mean([attributes[q].distance(t.values[q], u.values[q]) for q in shared]) if shared else 1.0


def generalize(attributes: Sequence[Attribute], cluster: Sequence[Row]) -> tuple:
    columns = [[t.values[q] for t in cluster if t.values[q] is not None] for q in range(len(attributes))]
    return tuple(a.generalize(column) if column else None for a, column in zip(attributes, columns, strict=True))


def covers(attributes: Sequence[Attribute], generalization: tuple, t: Row) -> bool:
    return all(
        generalization[q] is not None and attributes[q].contains(generalization[q], t.values[q])
        for q in valid(t.values)
    )


def nearest(t: Row, rows: Iterable[Row], m: int, dist: Callable[[Row, Row], float]) -> list[Row]:
    found: list[Row] = []
    for u in sorted(rows, key=lambda u: (dist(t, u), u.number)):
        if len(found) < m and u.person != t.person and u.person not in {v.person for v in found}:
            found.append(u)
    return found


def jaccard(q1: Sequence[int], q2: Sequence[int]) -> float:
    union = set(q1) | set(q2)
    return len(set(q1) & set(q2)) / len(union) if union else 1.0


def partitions(rows: Iterable[Row]) -> list[list[Row]]:
    found: dict[tuple[int, ...], list[Row]] = {}
    for row in by_arrival(rows):
        found.setdefault(valid(row.values), []).append(row)
    return list(found.values())


@dataclass
class Entry:
    generalization: tuple
    group: int
    loss: float
    published: float


class ReuseSet:
    def __init__(self, attributes: Sequence[Attribute], age: float, limit: float, max_loss: float) -> None:
        self.attributes = attributes
        self.age = age
        self.limit = limit
        self.max_loss = max_loss
        self.entries: list[Entry] = []

    def add(self, entry: Entry) -> None:
        if entry.loss < self.max_loss:
            self.entries.append(entry)
        while len(self.entries) > self.limit:
            self.entries.remove(min(self.entries, key=lambda e: (e.published, e.group)))

    def best(self, t: Row, now: float, serves: Callable[[Entry], bool] = lambda entry: True) -> Entry | None:
        self.entries = [e for e in self.entries if not now - e.published >= self.age]
        covering = [e for e in self.entries if serves(e) and covers(self.attributes, e.generalization, t)]
        return min(
            covering,
            key=lambda e: (loss(self.attributes, t, e.generalization), e.published, e.group),
            default=None,
        )


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
    ) -> None:
        self.attributes = attributes
        self.k = k
        self.window, self.length = window
        if self.window not in ("count", "time", "buffer"):
            raise ValueError(f"unknown window {self.window}")
        if self.window != "time" and self.length < k:
            raise ValueError(f"a {self.window} of {self.length} is below k = {k}")
        self.reuse = ReuseSet(attributes, self.length if reuse_age is None else reuse_age, reuse_limit, reuse_loss)
        self.now: float = -math.inf
        self.arrivals = 0
        self.groups = 0
        self.buffer: list[Row] = []
        self.releases: list[Release] = []

    def run(self, events: Iterable[Arrival | Tick]) -> list[Release]:
        for event in events:
            if isinstance(event, Tick):
                self.tick(event.now)
            else:
                self.arrive(event)
        self.finish()
        return self.releases

    def read(self, arrival: Arrival) -> Row:
        if self.window == "time":
            assert arrival.time is not None
            self.now = max(self.now, arrival.time)
        else:
            self.now = self.arrivals
        self.arrivals += 1
        return Row(self.arrivals - 1, self.now, arrival.person, arrival.values)

    def arrive(self, arrival: Arrival) -> None:
        row = self.read(arrival)
        self.expire()
        self.insert(row)
        while self.window == "buffer" and len(self.buffer) >= self.length:
            self.publish(self.buffer[0])

    def tick(self, now: float) -> None:
        if self.window == "time":
            self.now = max(self.now, now)
        self.expire()

    def expire(self) -> None:
        while self.window != "buffer" and self.buffer and self.now - self.buffer[0].time >= self.length:
            self.publish(self.buffer[0])

    def finish(self) -> None:
        while self.buffer:
            self.publish(self.buffer[0])

    def insert(self, row: Row) -> None:
        self.buffer.append(row)

    def remove(self, row: Row) -> None:
        self.buffer.remove(row)

    def publish(self, t: Row) -> None:
        raise NotImplementedError

    def clock(self) -> float:
        return self.now

    def loss(self, t: Row, generalization: tuple) -> float:
        return loss(self.attributes, t, generalization)

    def generalize(self, cluster: Iterable[Row]) -> tuple:
        return generalize(self.attributes, by_arrival(cluster))

    def distance(self, t: Row, u: Row) -> float:
        return distance(self.attributes, t, u)

    def with_nearest(self, t: Row, rows: Iterable[Row]) -> list[Row]:
        return by_arrival([t, *nearest(t, rows, self.k - 1, self.distance)])

    def best_cover(self, t: Row) -> Entry | None:
        return self.reuse.best(t, self.now)

    def release(self, t: Row, how: str, group: int | None, generalization: tuple) -> None:
        self.remove(t)
        self.releases.append(Release(t.number, how, group, generalization, t.time, self.clock()))

    def wear(self, t: Row, generalization: tuple) -> tuple:
        return tuple(None if v is None else g for v, g in zip(t.values, generalization, strict=True))

    def publish_cluster(self, cluster: Iterable[Row]) -> Entry:
        rows = by_arrival(cluster)
        generalization = self.generalize(rows)
        for t in rows:
            self.release(t, "cluster", self.groups, self.wear(t, generalization))
        self.groups += 1
        return Entry(generalization, self.groups - 1, cluster_loss(self.attributes, rows), self.now)

    def publish_covered(self, t: Row, cover: Entry) -> None:
        self.release(t, "reuse", cover.group, self.wear(t, cover.generalization))

    def suppress(self, t: Row) -> None:
        self.release(t, "suppressed", None, tuple(a.root for a in self.attributes))

    def cover_or_suppress(self, t: Row) -> None:
        cover = self.best_cover(t)
        if cover is not None:
            self.publish_covered(t, cover)
        else:
            self.suppress(t)
