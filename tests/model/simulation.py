"""Streams of Poisson users, through shoal's own filter, and through one that is as short as it can be and lets z be changed."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from naive.zanon import Observation
from shoal import Anonymizer, Policy
from shoal.model import Publication, grid

Floats = NDArray[np.float64]


def exposed(rng: np.random.Generator, users: int, rates: Floats, start: float, end: float) -> pa.RecordBatch:
    """What so many users expose between two moments, in order of time; each attribute at its own rate."""
    counts = rng.poisson(np.broadcast_to(rates, (users, len(rates))) * (end - start))
    who, what = np.repeat(np.argwhere(counts), counts[counts > 0], axis=0).T
    when = rng.uniform(start, end, len(who))
    order = np.argsort(when)
    return pa.record_batch({"t": when[order], "user": who[order], "item": what[order]})


def stream(rng: np.random.Generator, users: range, rates: Floats, start: float, end: float) -> list[Observation]:
    columns = exposed(rng, len(users), rates, start, end).to_pydict().values()
    return [Observation(when, users.start + who, what) for when, who, what in zip(*columns, strict=True)]


def anonymizer(z: int, window: float) -> Anonymizer:
    """Needs a secret."""
    algorithm = {"name": "zanon", "z": z, "window": window}
    return Anonymizer(
        Policy.parse({"person": "user", "time": {"field": "t"}, "item": {"field": "item"}, "algorithm": algorithm})
    )


def compared(rng: np.random.Generator, users: int, rates: Floats, z: int, window: float, periods: int) -> tuple[float, float]:
    """Means over periods, the first left out: the share of 2-anonymous users by what the filter publishes of them, and what
    equation 5 gives with the p^Y of that period."""
    shown = anonymizer(z, window).push_batch(exposed(rng, users, rates, 0.0, window * (1 + periods)))
    time, name, item = (shown.column(field) for field in ("t", "user", "item"))
    period = np.floor(time.to_numpy() / window).astype(np.int64)
    user = name.dictionary_encode().indices.to_numpy()
    shares, conditional = [], []
    for number in range(1, 1 + periods):
        there = period == number
        pairs = np.unique(user[there] * len(rates) + item.to_numpy()[there])
        sets = np.zeros((int(user.max()) + 1, len(rates)), bool)
        sets[pairs // len(rates), pairs % len(rates)] = True
        sets = sets[sets.any(axis=1)]
        alike = np.append(np.unique(sets, axis=0, return_counts=True)[1], users - len(sets))
        shares.append(alike[alike >= 2].sum() / users)
        conditional.append(grid(Publication(users, sets.sum(axis=0) / users, 1), 2, 1e-4).value)
    return float(np.mean(shares)), float(np.mean(conditional))


class Filter:
    """z-anonymity for a stream in order of time; z may be changed on the way."""

    def __init__(self, z: int, window: float) -> None:
        self.z = z
        self.window = window
        self.items: defaultdict[int, OrderedDict[int, float]] = defaultdict(OrderedDict)

    def released(self, observations: list[Observation]) -> Iterator[Observation]:
        for o in observations:
            times = self.items[o.item]
            times[o.user] = o.time
            times.move_to_end(o.user)
            while next(iter(times.values())) < o.time - self.window:
                times.popitem(last=False)
            if len(times) >= self.z:
                yield o


def share(users: range, released: Iterator[Observation] | list[Observation], k: int) -> float:
    """The part of the users who published a set of items that at least k of them published."""
    published: dict[int, set[int]] = {user: set() for user in users}
    for o in released:
        published[o.user].add(o.item)
    sets = Counter(frozenset(each) for each in published.values())
    return sum(count for count in sets.values() if count >= k) / len(published)
