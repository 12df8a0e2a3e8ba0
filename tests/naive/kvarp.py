from __future__ import annotations

from operator import le
from typing import Any

from shoal.conformance.naive.common import Algorithm, Row, jaccard, partitions, persons, valid


class Kvarp(Algorithm):
    def __init__(self, *args: Any, radius: float = 0.2, **parameters: Any) -> None:
        super().__init__(*args, **parameters)
        self.radius = radius

    def publish(self, t: Row) -> None:
        own = [u for u in self.buffer if valid(u.values) == valid(t.values)]
        if persons(own) >= self.k:
            self.cover_or_cluster(t, own, le)
        elif persons(self.buffer) >= self.k:
            self.merge(t, own)
        else:
            self.cover_or_suppress(t)

    def merge(self, t: Row, own: list[Row]) -> None:
        cover = self.best_cover(t)
        if cover is not None:
            self.publish_covered(t, cover)
            return
        rows = self.buffer if self.reading.match == "extended" else self.merged(t, own)
        formed = self.with_nearest(t, rows)
        group = self.completed(t, formed)
        self.publish_merged(formed if group is None else group)

    def merged(self, t: Row, own: list[Row]) -> list[Row]:
        others = [p for p in partitions(self.buffer) if valid(p[0].values) != valid(t.values)]
        merged = list(own)
        while persons(merged) < self.k:
            chosen = min(others, key=lambda p: self.merge_order(t, p))
            others.remove(chosen)
            merged += chosen
        return merged

    def merge_order(self, t: Row, partition: list[Row]) -> tuple:
        similarity = jaccard(valid(t.values), valid(partition[0].values))
        likeness = sum(1 for u in partition if self.distance(t, u) <= self.radius)
        return (-similarity, -likeness, -len(partition), partition[0].number)

    def publish_merged(self, cluster: list[Row]) -> None:
        self.keep(self.publish_cluster(cluster))
