"""Naive twins: the same algorithms in plain Python, written from their descriptions, not from the kernels."""

from __future__ import annotations

from shoal.conformance import Algorithm, Row, persons


class Queue(Algorithm):
    def publish(self, t: Row) -> None:
        line = {row.person: row for row in reversed(self.buffer)}  # the oldest of each person
        first = sorted(line.values(), key=lambda row: row.number)[: self.k]
        enough = persons(self.buffer) >= self.k
        group = self.completed(t, first) if enough else None
        if group is None and (not enough or self.best_cover(t) is not None):
            self.cover_or_suppress(t)
        else:
            self.keep(self.publish_cluster(first if group is None else group))
