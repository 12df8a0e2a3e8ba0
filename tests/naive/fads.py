from __future__ import annotations

from .common import Algorithm, Row, persons


class Fads(Algorithm):
    def publish(self, t: Row) -> None:
        if persons(self.buffer) < self.k:
            self.cover_or_suppress(t)
            return
        cluster = self.with_nearest(t, self.buffer)
        cover = self.best_cover(t)
        if cover is not None and self.loss(t, cover.generalization) < self.loss(t, self.generalize(cluster)):
            self.publish_covered(t, cover)
        else:
            self.reuse.add(self.publish_cluster(cluster))
