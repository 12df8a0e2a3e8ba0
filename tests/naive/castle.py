from __future__ import annotations

import math
from typing import Any

from shoal.conformance.naive.common import Algorithm, Row, by_arrival, cluster_loss, mean, persons
from shoal.conformance.naive.promises import first_of_each


class Castle(Algorithm):
    def __init__(
        self,
        *args: Any,
        clusters: int = 50,
        recent: int = 100,
        reuse_age: float = math.inf,
        reuse_limit: float = 200,
        reuse_loss: float = math.inf,
        **promises: Any,
    ) -> None:
        super().__init__(*args, reuse_age=reuse_age, reuse_limit=reuse_limit, reuse_loss=reuse_loss, **promises)
        self.most = clusters
        self.recent = recent
        self.clusters: list[list[Row]] = []
        self.losses: list[float] = []
        self.tau = 0.0

    def insert(self, row: Row) -> None:
        self.buffer.append(row)
        fitting = [c for c in self.clusters if self.foreseen([*c, row]) <= self.tau]
        if fitting:
            self.least_enlarged(fitting, [row]).append(row)
        elif len(self.clusters) < self.most:
            self.clusters.append([row])
        else:
            self.least_enlarged(self.clusters, [row]).append(row)

    def least_enlarged(self, clusters: list[list[Row]], rows: list[Row]) -> list[Row]:
        return min(clusters, key=lambda c: (self.enlargement(c, rows), len(c), self.clusters.index(c)))

    def enlargement(self, cluster: list[Row], rows: list[Row]) -> float:
        return self.foreseen([*cluster, *rows]) - self.foreseen(cluster)

    def foreseen(self, cluster: list[Row]) -> float:
        return cluster_loss(self.attributes, cluster, self.reading.careless)

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
            self.merge(own)
            self.output(own)

    def merge(self, own: list[Row]) -> None:
        while persons(own) < self.k:
            others = [cluster for cluster in self.clusters if cluster is not own]
            chosen = min(others, key=lambda c: (self.enlargement(own, c), len(c), self.clusters.index(c)))
            self.clusters.remove(chosen)
            own += chosen

    def output(self, cluster: list[Row]) -> None:
        rest = by_arrival(cluster)
        while rest and persons(rest) >= self.k:
            group = self.with_nearest(rest[0], rest) if persons(rest) >= 2 * self.k else self.all_of(rest)
            leaving = self.completed(group[0], group) or group
            self.publish_group(leaving)
            rest = [t for t in rest if t not in leaving]

    def all_of(self, rest: list[Row]) -> list[Row]:
        return by_arrival(first_of_each(rest)) if self.one_in_k else rest

    def publish_group(self, group: list[Row]) -> None:
        entry = self.publish_cluster(group)
        self.losses.append(entry.loss)
        self.tau = mean(self.losses[-self.recent :])
        if entry.loss <= self.tau:
            self.keep(entry)
