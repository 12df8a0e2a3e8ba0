"""X-BAND."""

from __future__ import annotations

import math

import numpy as np

from shoal.algorithms.common import memory
from shoal.blocks.distance import rough_distances
from shoal.blocks.groups import generalize, group_loss
from shoal.blocks.nearest import nearest
from shoal.blocks.outcome import let_go
from shoal.blocks.release import CLUSTER, REUSE, SUPPRESSED
from shoal.blocks.reuse import best_cover
from shoal.blocks.window import in_order, is_due, is_open, take_in
from shoal.compiled import inlined, kernel
from shoal.policy import Policy

PARAMETERS = ("band", "alpha")


def deadline(policy: Policy) -> float:
    """The window, and then the pocket."""
    return math.inf if policy.window.kind == "buffer" else policy.window.length + policy.reuse.age


@kernel
def run(s, batch, closing):
    """Algorithm 1, X-BAND: the pocket goes before the window, and at the end the window before the pocket."""
    c = s.window.clock
    while True:
        ending = closing and not is_open(c)
        pocket = c.pocket > 0 and c.now - s.window.pocketed[c.oldest] >= s.reuse.rule.age
        if pocket or is_due(s.window) or (ending and c.held > 0):
            publish(s, pocket or c.front < 0)
        elif is_open(c):
            take_in(s, batch)
        else:
            break


@inlined
def publish(s, from_pocket):
    """Algorithm 2, TriggerPublish, on the front of the window; or Algorithm 3 on the oldest in the pocket."""
    w, scratch, k = s.window, s.scratch, s.rule.k
    c = w.clock
    scratch.chosen[0] = c.oldest if from_pocket else c.front
    size, newest = 1, -1
    if not from_pocket and c.held - c.pocket >= k and w.persons.size[0] >= k:
        newest = _best_of_band(s)
        size = k
        how = CLUSTER
        row = generalize(s.domain, w, scratch.chosen[:k], s.groups)
    else:  # Alg. 3
        row = best_cover(s.reuse, s.groups, w, scratch.chosen[0])
        how = REUSE if row >= 0 else SUPPRESSED
    let_go(s, size, row, how)
    while c.front >= 0 and w.arrival[c.front] < newest:  # Alg. 2, line 13
        w.pocketed[c.front] = c.now
        c.pocket += 1
        c.front = w.newer[c.front]


@inlined
def _best_of_band(s):
    """Choose, of the clusters around each tuple of the band, the one with the smallest loss; the older seed on a tie.

    Returns the arrival of the newest tuple of the band that is in it.
    """
    domain, w, g, scratch, k, alpha = s.domain, s.window, s.groups, s.scratch, s.rule.k, s.rule.alpha
    waiting = w.clock.held - w.clock.pocket
    band = np.int64(s.rule.band) if waiting >= k + s.rule.band else max(1, waiting - k)
    chosen, best = scratch.chosen[:k], scratch.members[:k]
    smallest = np.inf
    seed = last = w.clock.front
    for _ in range(band):
        last = seed
        chosen[0] = seed
        rough_distances(domain, w, seed, alpha, scratch)
        nearest(domain, w, seed, k - 1, alpha, scratch, chosen[1:])
        in_order(w, chosen)
        loss = group_loss(g, generalize(domain, w, chosen, g), w, chosen)
        if loss < smallest:
            smallest = loss
            for i in range(k):
                best[i] = chosen[i]
        seed = w.newer[seed]
    newest = -1
    for i in range(k):
        chosen[i] = best[i]
        if w.arrival[best[i]] <= w.arrival[last] and w.pocketed[best[i]] == np.inf:
            newest = max(newest, w.arrival[best[i]])
    return newest
