"""FAST."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.blocks.distance import rough_distances
from shoal.blocks.groups import generalize, loss
from shoal.blocks.nearest import nearest
from shoal.blocks.outcome import let_go
from shoal.blocks.release import CLUSTER, REUSE, SUPPRESSED, release
from shoal.blocks.reuse import best_cover, renew
from shoal.blocks.window import TIME, is_open, take_in
from shoal.compiled import inlined, kernel
from shoal.policy import Policy

PARAMETERS = ("round", "deadline")


class Memory(NamedTuple):
    read: NDArray[np.float64]  # the clock at the end of the last round: how many tuples, or the newest time, were read
    longest: NDArray[np.float64]  # the longest round so far
    rounds: NDArray[np.int64]


def memory(policy: Policy) -> Memory:
    return Memory(np.zeros(1), np.zeros(1), np.zeros(1, np.int64))


def deadline(policy: Policy) -> float:
    return math.inf if policy.window.kind == "buffer" else policy.algorithm.deadline


@kernel
def run(s, batch, closing):
    """Algorithm 1, FAST: a round as soon as the source holds enough tuples, or at its end."""
    c = s.window.clock
    while True:
        if c.held >= s.rule.round or (closing and not is_open(c) and c.held > 0):
            publish(s)
        elif is_open(c):
            take_in(s, batch)
        else:
            break


@inlined
def publish(s):
    """Algorithm 3, PublishData, on all tuples that are held: those handed back and the new ones."""
    domain, w, g, r, scratch, k = s.domain, s.window, s.groups, s.reuse, s.scratch, s.rule.k
    c, m = w.clock, s.memory
    seen = c.now
    now = w.since[c.newest] if c.kind == TIME else np.float64(c.arrivals)
    if c.kind == TIME:
        now = max(now, m.read[0]) if m.rounds[0] > 0 else now
        c.now = now  # the newest time that was read; a tick reads nothing
    before = m.read[0] if m.rounds[0] > 0 or c.kind != TIME else w.since[c.oldest]
    m.longest[0] = max(m.longest[0], now - before)
    m.read[0] = now
    m.rounds[0] += 1
    t = c.oldest
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
    if how == REUSE:
        renew(r, g, row, c.now)
    let_go(s, size, row, how)
    urgent = 0
    for slot in range(c.held):
        if not now - w.since[slot] + m.longest[0] < s.rule.deadline:  # equation 6
            chosen[urgent] = slot
            urgent += 1
    if urgent > 0:
        release(domain, w, g, s.exits, scratch, chosen[:urgent], -1, SUPPRESSED)
    c.now = seen
