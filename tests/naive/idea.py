from __future__ import annotations

import math
from typing import Any

from .common import Algorithm, Row, jaccard, partitions, persons, valid


class Idea(Algorithm):
    def __init__(
        self,
        *args: Any,
        reuse_age: float = math.inf,
        reuse_limit: float = 200,
        reuse_loss: float = 0.5,
    ) -> None:
        super().__init__(*args, reuse_age=reuse_age, reuse_limit=reuse_limit, reuse_loss=reuse_loss)

    def publish(self, t: Row) -> None:
        own = [u for u in self.buffer if valid(u.values) == valid(t.values)]
        if persons(own) >= self.k:
            self.cluster_or_cover(t, own)
        elif persons(self.buffer) >= self.k:
            self.across(t, own)
        else:
            self.cover_or_suppress(t)

    def across(self, t: Row, own: list[Row]) -> None:
        others = [p for p in partitions(self.buffer) if valid(p[0].values) != valid(t.values)]
        union = list(own)
        while persons(union) < self.k:
            smallest = min(self.attribute_distance(t, p) for p in others)
            for p in [p for p in others if self.attribute_distance(t, p) == smallest]:
                others.remove(p)
                union += p
        self.cluster_or_cover(t, union)

    def attribute_distance(self, t: Row, partition: list[Row]) -> float:
        return 1 - jaccard(valid(t.values), valid(partition[0].values))

    def cluster_or_cover(self, t: Row, rows: list[Row]) -> None:
        cluster = self.with_nearest(t, rows)
        cover = self.best_cover(t)
        if cover is not None and self.loss(t, cover.generalization) < self.loss(t, self.generalize(cluster)):
            self.publish_covered(t, cover)
        else:
            self.reuse.add(self.publish_cluster(cluster))
