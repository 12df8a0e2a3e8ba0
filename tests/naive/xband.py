from __future__ import annotations

from typing import Any

from shoal.conformance.naive.common import Algorithm, Row, jaccard, persons, valid


class Xband(Algorithm):
    def __init__(self, *args: Any, band: int = 4, alpha: float = 1.0, **parameters: Any) -> None:
        super().__init__(*args, **parameters)
        self.band = band
        self.alpha = alpha
        self.pocket: list[tuple[Row, float]] = []

    def distance(self, t: Row, u: Row) -> float:
        return self.mixed(super().distance(t, u), t, u)

    def distance_under(self, shown: tuple[int, ...], t: Row, u: Row) -> float:
        return self.mixed(super().distance_under(shown, t, u), t, u)

    def mixed(self, distance: float, t: Row, u: Row) -> float:
        beta = 1 - self.alpha
        apart = 1 - jaccard(valid(t.values), valid(u.values))
        return self.alpha * distance + beta * apart

    def held(self) -> list[Row]:
        return [*self.buffer, *(u for u, _ in self.pocket)]

    def expire(self) -> None:
        self.expire_pocket()
        super().expire()

    def expire_pocket(self) -> None:
        while self.pocket and self.now - self.pocket[0][1] >= self.reuse.age:
            self.cover_or_suppress(self.pocket[0][0])

    def publish(self, t: Row) -> None:
        held = self.held()
        if len(self.buffer) < self.k or persons(held) < self.k:
            self.cover_or_suppress(t)
        else:
            band = self.buffer[: self.band_size()]
            formed = [self.with_nearest(seed, held) for seed in band]
            completed = [self.completed(seed, cluster) for seed, cluster in zip(band, formed, strict=True)]
            holding = [cluster for cluster in completed if cluster is not None]
            cover = None if holding else self.best_cover(t)
            if cover is not None:
                self.publish_covered(t, cover)
            else:
                self.publish_best(band, holding or formed)
        self.expire_pocket()

    def publish_best(self, band: list[Row], clusters: list[list[Row]]) -> None:
        best = min(clusters, key=self.cluster_loss)
        self.keep(self.publish_cluster(best))
        newest = max(u.number for u in band if u in best)
        for u in [u for u in band if u not in best and u.number < newest]:
            self.buffer.remove(u)
            self.pocket.append((u, self.now))

    def band_size(self) -> int:
        if len(self.buffer) >= self.k + self.band:
            return self.band
        return max(1, len(self.buffer) - self.k)

    def remove(self, row: Row) -> None:
        self.buffer = [u for u in self.buffer if u != row]
        self.pocket = [(u, since) for u, since in self.pocket if u != row]

    def finish(self) -> None:
        super().finish()
        while self.pocket:
            self.cover_or_suppress(self.pocket[0][0])
