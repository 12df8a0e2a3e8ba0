"""z-anonymity, observation by observation (Algorithm 1), with the late observations of the specification.

Decisions
---------
- The user at hand counts at its own time, also where it was seen later already: so z = 1 withholds nothing.
- Every node on the way from the item to the root keeps times of its own, and one observation is an observation of all of them.
  So a user who exposes two children counts once for their parent.
- Whether an observation is too old is decided by the item's own newest time. For an ancestor with a newer one, it counts as
  nothing: the ancestor is private to it.
- The root is an ancestor like any other.
- Entries of items that nobody touches again are forgotten by sweeps: the first comes after `pause` observations, late ones
  included, and each next one after eight times as many as items were left by the last, but at least `pause`. A sweep takes
  those from before two windows before the newest time seen, and then items without any.
- A period is floor(t / window), exactly; under a window of 0 every time is a period of its own.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple


class Observation(NamedTuple):
    time: float
    user: Hashable
    item: Hashable


class Published(NamedTuple):
    row: int
    time: float
    user: Hashable
    period: float
    item: Hashable | None


class Zanon:
    def __init__(
        self,
        z: int,
        window: float,
        *,
        withheld: str = "drop",
        paths: Mapping[Hashable, Sequence[Hashable]] | None = None,
        pause: int = 65_536,
    ) -> None:
        if withheld not in ("drop", "blank"):
            raise ValueError(f"unknown way to withhold: {withheld}")
        if z < 1 or window < 0:
            raise ValueError(f"z = {z}, window = {window}: too small")
        self.z = z
        self.window = window
        self.withheld = withheld
        self.paths = paths or {}
        self.seen: dict[Hashable, dict[Hashable, float]] = {}
        self.newest: dict[Hashable, float] = {}
        self.pause = self.due = pause
        self.now = -math.inf
        self.rows = 0
        self.rejected: list[int] = []

    def run(self, observations: Iterable[Observation]) -> list[Published]:
        found = (self.observe(o) for o in observations)
        return [published for published in found if published is not None]

    def observe(self, o: Observation) -> Published | None:
        row = self.rows
        self.rows += 1
        if self.due == 0:
            self.sweep()
        self.due -= 1
        if o.time < self.newest.get(o.item, -math.inf) - self.window:
            self.rejected.append(row)
            return None
        self.now = max(self.now, o.time)
        path = self.paths.get(o.item, (o.item,))
        counts = [self.count(node, o) for node in path]
        shown = next((node for node, count in zip(path, counts, strict=True) if count >= self.z), None)
        if shown is None and self.withheld == "drop":
            return None
        return Published(row, o.time, o.user, self.period(o.time), shown)

    def sweep(self) -> None:
        for node, times in list(self.seen.items()):
            for user in [user for user, time in times.items() if time < self.now - 2 * self.window]:
                del times[user]
            if not times:
                del self.seen[node], self.newest[node]
        self.due = max(self.pause, 8 * len(self.seen))

    def count(self, node: Hashable, o: Observation) -> int:
        times = self.seen.setdefault(node, {})
        newest = max(self.newest.get(node, -math.inf), o.time)
        self.newest[node] = newest
        if o.time < newest - self.window:
            return 0
        times[o.user] = max(times.get(o.user, -math.inf), o.time)
        for user in [user for user, time in times.items() if time < newest - self.window]:
            del times[user]
        others = [user for user, time in times.items() if user != o.user and o.time - self.window <= time <= o.time]
        return 1 + len(others)

    def period(self, time: float) -> float:
        return math.floor(Fraction(time) / Fraction(self.window)) if self.window else time
