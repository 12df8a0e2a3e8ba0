from __future__ import annotations

import math
from typing import Any

from .common import Algorithm, Row, by_arrival, cluster_loss, mean, nearest, persons


class Castle(Algorithm):
    def __init__(
        self,
        *args: Any,
        clusters: int = 50,
        recent: int = 100,
        reuse_age: float = math.inf,
        reuse_limit: float = 200,
        reuse_loss: float = math.inf,
    ) -> None:
        super().__init__(*args, reuse_age=reuse_age, reuse_limit=reuse_limit, reuse_loss=reuse_loss)
        self.most = clusters
        self.recent = recent
        self.clusters: list[list[Row]] = []
        self.losses: list[float] = []
        self.tau = 0.0

    def insert(self, row: Row) -> None:
        self.buffer.append(row)
        fitting = [c for c in self.clusters if cluster_loss(self.attributes, [*c, row]) <= self.tau]
        if fitting:
            self.least_enlarged(fitting, [row]).append(row)
        elif len(self.clusters) < self.most:
            self.clusters.append([row])
        else:
            self.least_enlarged(self.clusters, [row]).append(row)

    def least_enlarged(self, clusters: list[list[Row]], rows: list[Row]) -> list[Row]:
        return min(clusters, key=lambda c: (self.enlargement(c, rows), len(c), self.clusters.index(c)))

    def enlargement(self, cluster: list[Row], rows: list[Row]) -> float:
        return cluster_loss(self.attributes, [*cluster, *rows]) - cluster_loss(self.attributes, cluster)

    def remove(self, row: Row) -> None:
        self.buffer.remove(row)
        for cluster in self.clusters:
            if row in cluster:
                cluster.remove(row)
        self.clusters = [cluster for cluster in self.clusters if cluster]

    def publish(self, t: Row) -> None:
        own = next(cluster for cluster in self.clusters if t in cluster)
        if persons(own) >= self.k:
            self.output(own)
            return
        cover = self.best_cover(t)
        larger = [cluster for cluster in self.clusters if len(cluster) > len(own)]
        if cover is not None:
            self.publish_covered(t, cover)
        elif 2 * len(larger) > len(self.clusters) or persons(self.buffer) < self.k:
            self.suppress(t)
        else:
            self.output(self.merge(own))

    def merge(self, own: list[Row]) -> list[Row]:
        others = [cluster for cluster in self.clusters if cluster != own]
        merged = list(own)
        while persons(merged) < self.k:
            chosen = min(others, key=lambda c: (self.enlargement(merged, c), len(c), self.clusters.index(c)))
            others.remove(chosen)
            merged += chosen
        return merged

    def output(self, cluster: list[Row]) -> None:
        for group in self.split(cluster):
            entry = self.publish_cluster(group)
            self.losses.append(entry.loss)
            self.tau = mean(self.losses[-self.recent :])
            if entry.loss <= self.tau:
                self.reuse.add(entry)

    def split(self, cluster: list[Row]) -> list[list[Row]]:
        groups = []
        rest = by_arrival(cluster)
        while persons(rest) >= 2 * self.k:
            seed = rest[0]
            group = by_arrival([seed, *nearest(seed, rest, self.k - 1, self.distance)])
            groups.append(group)
            rest = [t for t in rest if t not in group]
        return [*groups, rest]
