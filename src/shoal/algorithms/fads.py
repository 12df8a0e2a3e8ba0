"""FADS."""

from __future__ import annotations

from shoal.blocks.distance import rough_distances
from shoal.blocks.groups import generalize, loss
from shoal.blocks.nearest import nearest
from shoal.blocks.outcome import let_go
from shoal.blocks.release import CLUSTER, REUSE, SUPPRESSED
from shoal.blocks.reuse import best_cover
from shoal.blocks.window import arrive, insert, is_due
from shoal.compiled import inlined, kernel

PARAMETERS = ()


@kernel
def run(s, batch, first_seat, closing):
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
    domain, w, g, r, scratch, k = s.domain, s.window, s.groups, s.reuse, s.scratch, s.rule.k
    t = w.clock.oldest
    chosen = scratch.chosen
    chosen[0] = t
    size = 1
    row = best_cover(r, g, w, t)
    how = REUSE if row >= 0 else SUPPRESSED
    if w.persons.size[0] >= k:
        rough_distances(domain, w, t, scratch)
        nearest(domain, w, t, k - 1, scratch, chosen[1:k])
        new = generalize(domain, w, chosen[:k], g)
        if row < 0 or not loss(g, row, w.pattern[t]) < loss(g, new, w.pattern[t]):
            how, row, size = CLUSTER, new, k
    let_go(s, size, row, how)
