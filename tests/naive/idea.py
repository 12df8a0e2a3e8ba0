from __future__ import annotations

import math
from operator import lt
from typing import Any

from shoal.conformance.naive.common import Algorithm, Row, jaccard, partitions, persons, valid


class Idea(Algorithm):
    def __init__(
        self,
        *args: Any,
        reuse_age: float = math.inf,
        reuse_limit: float = 200,
        reuse_loss: float = 0.5,
        **promises: Any,
    ) -> None:
        super().__init__(*args, reuse_age=reuse_age, reuse_limit=reuse_limit, reuse_loss=reuse_loss, **promises)

    def publish(self, t: Row) -> None:
        own = [u for u in self.buffer if valid(u.values) == valid(t.values)]
        if persons(own) >= self.k:
            self.cover_or_cluster(t, own, lt)
        elif persons(self.buffer) < self.k:
            self.cover_or_suppress(t)
        elif self.reading.match == "extended":
            self.cover_or_cluster(t, self.buffer, lt)
        else:
            self.cover_or_cluster(t, self.across(t, own), lt)

    def across(self, t: Row, own: list[Row]) -> list[Row]:
        others = [p for p in partitions(self.buffer) if valid(p[0].values) != valid(t.values)]
        union = list(own)
        while persons(union) < self.k:
            smallest = min(self.attribute_distance(t, p) for p in others)
            for p in [p for p in others if self.attribute_distance(t, p) == smallest]:
                others.remove(p)
                union += p
        return union

    def attribute_distance(self, t: Row, partition: list[Row]) -> float:
        return 1 - jaccard(valid(t.values), valid(partition[0].values))
