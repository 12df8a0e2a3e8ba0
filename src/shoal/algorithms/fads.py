"""FADS."""

from __future__ import annotations

from shoal.algorithms.common import deadline, memory
from shoal.blocks.distance import rough_distances
from shoal.blocks.groups import generalize, loss
from shoal.blocks.nearest import nearest
from shoal.blocks.outcome import let_go
from shoal.blocks.release import CLUSTER, REUSE, SUPPRESSED
from shoal.blocks.reuse import best_cover
from shoal.blocks.window import next_due
from shoal.compiled import inlined, kernel

PARAMETERS = ()


@kernel
def run(s, batch, closing):
    """FADS."""
    while next_due(s, batch, closing):
        publish(s)


@inlined
def publish(s):
    domain, w, g, r, scratch, k = s.domain, s.window, s.groups, s.reuse, s.scratch, s.rule.k
    t = w.clock.oldest
    chosen = scratch.chosen
    chosen[0] = t
    size = 1
    row = best_cover(r, g, w, t)
    how = REUSE if row >= 0 else SUPPRESSED
    if w.persons.size[0] >= k:
        rough_distances(domain, w, t, 1.0, scratch)
        nearest(domain, w, t, k - 1, 1.0, scratch, chosen[1:k])
        new = generalize(domain, w, chosen[:k], g)
        if row < 0 or not loss(g, row, w.pattern[t]) < loss(g, new, w.pattern[t]):
            how, row, size = CLUSTER, new, k
    let_go(s, size, row, how)
