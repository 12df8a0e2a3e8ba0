"""IDEA."""

from __future__ import annotations

from shoal.algorithms.common import deadline, memory
from shoal.blocks.distance import rough_distances
from shoal.blocks.groups import generalize, loss
from shoal.blocks.nearest import nearest
from shoal.blocks.outcome import let_go
from shoal.blocks.partitions import is_apart, measure_similarity, merge, only_union, persons_within
from shoal.blocks.release import CLUSTER, REUSE, SUPPRESSED
from shoal.blocks.reuse import best_cover
from shoal.blocks.window import next_due
from shoal.compiled import inlined, kernel

PARAMETERS = ()


@kernel
def run(s, batch, closing):
    """Algorithm 1, IDEA."""
    while next_due(s, batch, closing):
        publish(s)


@inlined
def publish(s):
    """Algorithm 2, publishTuple; the cover is looked up first, since every branch may need it."""
    domain, w, g, r, scratch, k = s.domain, s.window, s.groups, s.reuse, s.scratch, s.rule.k
    t = w.clock.oldest
    chosen = scratch.chosen
    chosen[0] = t
    size = 1
    row = best_cover(r, g, w, t)
    how = REUSE if row >= 0 else SUPPRESSED
    if w.persons.size[0] >= k:
        _widen(w, t, k, scratch)
        rough_distances(domain, w, t, 1.0, scratch)
        only_union(w, scratch)
        nearest(domain, w, t, k - 1, 1.0, scratch, chosen[1:k])
        new = generalize(domain, w, chosen[:k], g)
        if row < 0 or not loss(g, row, w.pattern[t]) < loss(g, new, w.pattern[t]):  # Alg. 3, line 3; Alg. 5, line 7
            how, row, size = CLUSTER, new, k
    let_go(s, size, row, how)


@inlined
def _widen(w, t, k, scratch):
    """Alg. 5, lines 2-5: all partitions at the smallest attribute distance join in one step, until k persons are there."""
    persons = persons_within(w, scratch, w.partition[t])
    if persons >= k:
        return
    measure_similarity(w, t, scratch)
    while persons < k:
        closest = -1.0
        for p in range(w.partitions.peak[0]):
            if is_apart(w, scratch, p):
                closest = max(closest, scratch.similarity[p])
        for p in range(w.partitions.peak[0]):
            if is_apart(w, scratch, p) and scratch.similarity[p] == closest:
                persons += merge(w, scratch, p)
