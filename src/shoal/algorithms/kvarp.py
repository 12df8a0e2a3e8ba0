"""K-VARP."""

from __future__ import annotations

from shoal.blocks.distance import rough_distances
from shoal.blocks.groups import generalize, loss
from shoal.blocks.nearest import nearest
from shoal.blocks.outcome import let_go
from shoal.blocks.partitions import is_apart, measure_partitions, merge, only_union, persons_within
from shoal.blocks.release import CLUSTER, REUSE, SUPPRESSED
from shoal.blocks.reuse import best_cover
from shoal.blocks.window import arrive, insert, is_due
from shoal.compiled import inlined, kernel

PARAMETERS = ("radius",)


@kernel
def run(s, batch, first_seat, closing):
    """Algorithm 1, K-VARP."""
    row, arrived = 0, False
    while True:
        if is_due(s.window) or (closing and row == len(batch.time) and s.window.clock.held > 0):
            publish(s)
        elif row == len(batch.time):
            break
        elif not arrived:
            arrive(s.window.clock, batch.time[row])
            arrived = True
        else:
            insert(s.domain, s.window, batch, row, first_seat + row)
            row += 1
            arrived = False


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
        rough_distances(domain, w, t, scratch)
        if not in_partition:
            _merge_similar(domain, w, t, k, persons, s.rule.radius, scratch)
        only_union(w, scratch)
        nearest(domain, w, t, k - 1, scratch, chosen[1:k])
        new = generalize(domain, w, chosen[:k], g)
        if row < 0 or not loss(g, row, w.pattern[t]) <= loss(g, new, w.pattern[t]):  # Alg. 3, line 4
            how, row, size = CLUSTER, new, k
    let_go(s, size, row, how)


@inlined
def _merge_similar(domain, w, t, k, persons, radius, scratch):
    """Alg. 4, lines 7-10: merge the most similar partition, whole, until k persons are there."""
    measure_partitions(domain, w, t, radius, scratch)
    while persons < k:
        best = -1
        for p in range(w.partitions.peak[0]):
            if is_apart(w, scratch, p) and (best < 0 or _is_more_similar(w, scratch, p, best)):
                best = p
        persons += merge(w, scratch, best)


@inlined
def _is_more_similar(w, scratch, p, q):
    """Higher Jaccard, then higher R-likeness, then more tuples, then the older first tuple."""
    if scratch.similarity[p] != scratch.similarity[q]:
        return scratch.similarity[p] > scratch.similarity[q]
    if scratch.likeness[p] != scratch.likeness[q]:
        return scratch.likeness[p] > scratch.likeness[q]
    if w.partitions.count[p] != w.partitions.count[q]:
        return w.partitions.count[p] > w.partitions.count[q]
    return scratch.first[p] < scratch.first[q]
