from __future__ import annotations

from operator import lt

from shoal.conformance.naive.common import Algorithm, Row, persons


class Fads(Algorithm):
    def publish(self, t: Row) -> None:
        if persons(self.buffer) < self.k:
            self.cover_or_suppress(t)
        else:
            self.cover_or_cluster(t, self.buffer, lt)
