"""Streams of Poisson users, and the filter of Algorithm 1 as short as it can be: fast enough for many runs."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from naive.zanon import Observation


def stream(rng: np.random.Generator, users: range, rates: NDArray[np.float64], start: float, end: float) -> list[Observation]:
    """What these users expose between two moments, in order of time; each attribute at its own rate."""
    counts = rng.poisson(np.broadcast_to(rates, (len(users), len(rates))) * (end - start))
    who, what = np.repeat(np.argwhere(counts), counts[counts > 0], axis=0).T
    when = rng.uniform(start, end, len(who))
    order = np.argsort(when)
    first = users.start
    return [Observation(when[i], first + int(who[i]), int(what[i])) for i in order]


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
