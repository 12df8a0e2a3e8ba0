"""K-VARP."""

from __future__ import annotations

from shoal.algorithms.common import deadline, memory
from shoal.blocks.distance import rough_distances
from shoal.blocks.groups import generalize, loss
from shoal.blocks.nearest import nearest
from shoal.blocks.outcome import let_go
from shoal.blocks.partitions import measure_likeness, measure_partitions, merge_similar, only_union, persons_within
from shoal.blocks.release import CLUSTER, REUSE, SUPPRESSED
from shoal.blocks.reuse import best_cover
from shoal.blocks.window import next_due
from shoal.compiled import inlined, kernel

PARAMETERS = ("radius",)


@kernel
def run(s, batch, closing):
    """Algorithm 1, K-VARP."""
    while next_due(s, batch, closing):
        publish(s)


@inlined
def publish(s):
    """Algorithm 2, TriggerPublish; the cover is looked up first, since every branch needs it."""
    domain, w, g, r, scratch, k = s.domain, s.window, s.groups, s.reuse, s.scratch, s.rule.k
    t = w.clock.oldest
    chosen = scratch.chosen
    chosen[0] = t
    size = 1
    row = best_cover(r, g, w, t)
    how = REUSE if row >= 0 else SUPPRESSED
    persons = persons_within(w, scratch, w.partition[t])
    in_partition = persons >= k
    if in_partition or (row < 0 and w.persons.size[0] >= k):  # else Alg. 4, lines 2-6, or Alg. 5
        rough_distances(domain, w, t, 1.0, scratch)
        if not in_partition:
            measure_partitions(w, t, scratch)
            measure_likeness(domain, w, t, s.rule.radius, scratch)
            merge_similar(w, k, persons, scratch)  # Alg. 4, lines 7-10
        only_union(w, scratch)
        nearest(domain, w, t, k - 1, 1.0, scratch, chosen[1:k])
        new = generalize(domain, w, chosen[:k], g)
        if row < 0 or not loss(g, row, w.pattern[t]) <= loss(g, new, w.pattern[t]):  # Alg. 3, line 4
            how, row, size = CLUSTER, new, k
    let_go(s, size, row, how)
