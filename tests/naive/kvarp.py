from __future__ import annotations

from typing import Any

from .common import Algorithm, Row, jaccard, partitions, persons, valid


class Kvarp(Algorithm):
    def __init__(self, *args: Any, radius: float = 0.2, **parameters: Any) -> None:
        super().__init__(*args, **parameters)
        self.radius = radius

    def publish(self, t: Row) -> None:
        own = [u for u in self.buffer if valid(u.values) == valid(t.values)]
        if persons(own) >= self.k:
            self.in_partition(t, own)
        elif persons(self.buffer) >= self.k:
            self.merge(t, own)
        else:
            self.cover_or_suppress(t)

    def in_partition(self, t: Row, own: list[Row]) -> None:
        cluster = self.with_nearest(t, own)
        cover = self.best_cover(t)
        if cover is not None and self.loss(t, cover.generalization) <= self.loss(t, self.generalize(cluster)):
            self.publish_covered(t, cover)
        else:
            self.reuse.add(self.publish_cluster(cluster))

    def merge(self, t: Row, own: list[Row]) -> None:
        cover = self.best_cover(t)
        if cover is not None:
            self.publish_covered(t, cover)
            return
        others = [p for p in partitions(self.buffer) if valid(p[0].values) != valid(t.values)]
        merged = list(own)
        while persons(merged) < self.k:
            chosen = min(others, key=lambda p: self.merge_order(t, p))
            others.remove(chosen)
            merged += chosen
        self.publish_merged(self.with_nearest(t, merged))

    def merge_order(self, t: Row, partition: list[Row]) -> tuple:
        similarity = jaccard(valid(t.values), valid(partition[0].values))
        likeness = sum(1 for u in partition if self.distance(t, u) <= self.radius)
        return (-similarity, -likeness, -len(partition), partition[0].number)

    def publish_merged(self, cluster: list[Row]) -> None:
        self.reuse.add(self.publish_cluster(cluster))
