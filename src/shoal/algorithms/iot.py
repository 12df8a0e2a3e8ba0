"""IoT Anonymization."""

from __future__ import annotations

from shoal.algorithms.common import deadline, memory
from shoal.blocks.distance import rough_distances
from shoal.blocks.groups import generalize, impute, loss
from shoal.blocks.nearest import nearest
from shoal.blocks.outcome import let_go
from shoal.blocks.partitions import measure_partitions, merge_similar, only_union, persons_within
from shoal.blocks.release import CLUSTER, REUSE, SUPPRESSED
from shoal.blocks.reuse import best_cover
from shoal.blocks.window import next_due
from shoal.compiled import inlined, kernel

PARAMETERS = ()


@kernel
def run(s, batch, closing):
    while next_due(s, batch, closing):
        publish(s)


@inlined
def publish(s):
    """As K-VARP, with another merge order, imputed merged groups, and reuse only within one set of quasi-identifiers."""
    domain, w, g, r, scratch, k = s.domain, s.window, s.groups, s.reuse, s.scratch, s.rule.k
    t = w.clock.oldest
    chosen = scratch.chosen
    chosen[0] = t
    size = 1
    row = best_cover(r, g, w, t, alike=True)
    how = REUSE if row >= 0 else SUPPRESSED
    persons = persons_within(w, scratch, w.partition[t])
    in_partition = persons >= k
    if in_partition or (row < 0 and w.persons.size[0] >= k):
        if not in_partition:
            measure_partitions(w, t, scratch)
            merge_similar(w, k, persons, scratch)
        rough_distances(domain, w, t, 1.0, scratch)
        only_union(w, scratch)
        nearest(domain, w, t, k - 1, 1.0, scratch, chosen[1:k])
        new = generalize(domain, w, chosen[:k], g)
        if not in_partition:
            impute(w, chosen[:k], g, new)
        if row < 0 or not loss(g, row, w.pattern[t]) <= loss(g, new, w.pattern[t]):
            how, row, size = CLUSTER, new, k
    let_go(s, size, row, how)
