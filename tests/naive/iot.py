from __future__ import annotations

from typing import Any

from shoal.conformance.naive.common import Entry, Row, jaccard, valid
from shoal.conformance.naive.measures import ROOT

from .kvarp import Kvarp


class Iot(Kvarp):
    def __init__(self, *args: Any, **parameters: Any) -> None:
        if "radius" in parameters:
            raise TypeError("iot takes no radius")
        super().__init__(*args, **parameters)

    def merge_order(self, t: Row, partition: list[Row]) -> tuple:
        similarity = jaccard(valid(t.values), valid(partition[0].values))
        return (-similarity, -len(partition), partition[0].number)

    def serves(self, entry: Entry, t: Row) -> bool:
        return valid(entry.generalization) == valid(t.values) and super().serves(entry, t)

    def publish_merged(self, cluster: list[Row]) -> None:
        if self.reading.match != "maybe":
            self.publish_cluster(cluster)
            return
        had = [sum(1 for t in cluster if t.values[q] is not None) for q in range(len(self.attributes))]
        imputed = tuple(
            None if g is None else (attribute.root if g is ROOT else g, len(cluster), n)
            for attribute, g, n in zip(self.attributes, self.generalize(cluster), had, strict=True)
        )
        moment, withheld = self.moment(cluster), self.promises.broken(self.promises.shown(cluster))
        for t in cluster:
            self.release(t, "cluster", self.groups, imputed, moment, withheld)
        self.groups += 1
