from __future__ import annotations

from typing import Any

from .common import Entry, Row, by_arrival, jaccard, valid
from .kvarp import Kvarp


class Iot(Kvarp):
    def __init__(self, *args: Any, **parameters: Any) -> None:
        if "radius" in parameters:
            raise TypeError("iot takes no radius")
        super().__init__(*args, **parameters)

    def merge_order(self, t: Row, partition: list[Row]) -> tuple:
        similarity = jaccard(valid(t.values), valid(partition[0].values))
        return (-similarity, -len(partition), partition[0].number)

    def best_cover(self, t: Row) -> Entry | None:
        return self.reuse.best(t, self.now, lambda entry: valid(entry.generalization) == valid(t.values))

    def publish_merged(self, cluster: list[Row]) -> None:
        had = [sum(1 for t in cluster if t.values[q] is not None) for q in range(len(self.attributes))]
        imputed = tuple(
            None if g is None else (g, len(cluster), n) for g, n in zip(self.generalize(cluster), had, strict=True)
        )
        for t in by_arrival(cluster):
            self.release(t, "cluster", self.groups, imputed)
        self.groups += 1
