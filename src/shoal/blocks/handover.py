"""Handing over: a tuple moves to another lane when half of its wait is over and its lane holds fewer than k persons.

With a single lane no tuple is handed over. A handed-over tuple does not leave: another lane takes it in, and its wait goes on.
`h` is a `Handover`; `blocks.state` explains the other arguments.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.blocks.batch import HANDED_OVER, Batch, blank
from shoal.blocks.window import remove
from shoal.compiled import inlined, inner, kernel


class Handover(NamedTuple):
    """The tuples that were handed over, in order, until the anonymizer fetches them."""

    tuples: Batch
    arrivals: NDArray[np.int64]  # how many tuples had arrived when each was handed over
    size: NDArray[np.int64]


def handover(quasi: int, sensitive: int, capacity: int) -> Handover:
    tuples = blank(quasi, sensitive, capacity, HANDED_OVER)
    return Handover(tuples, np.zeros(capacity, np.int64), np.zeros(1, np.int64))


@inlined
def hand_over(s):
    """Hand over the tuples that have waited half of their time, if their lane holds fewer than k persons; whether any was."""
    c = s.window.clock
    if c.young < 0 or c.now - s.window.since[c.young] < c.half:
        return False
    return _hand_over_grown(s.window, s.handover, s.scratch, s.exits.promise.k)


@inner
def _hand_over_grown(w, h, scratch, k):
    c, before = w.clock, w.clock.held
    while c.young >= 0 and c.now - w.since[c.young] >= c.half:
        if w.persons.size[0] < k and w.pocketed[c.young] == np.inf:
            _move(w, h, scratch, c.young)
        else:
            c.young = w.newer[c.young]
    return c.held < before


@kernel
def hand_over_all(w, h, scratch):
    """Hand over every tuple, the oldest first."""
    while w.clock.oldest >= 0:
        _move(w, h, scratch, w.clock.oldest)


@inlined
def _move(w, h, scratch, slot):
    i, batch = h.size[0], h.tuples
    h.size[0] += 1
    for q in range(len(batch.values)):
        batch.values[q, i] = w.values[slot, q]
    batch.pattern[i] = w.pattern[slot]
    for word in range(2):
        batch.person[i, word] = w.persons.key[w.person[slot], word]
    batch.time[i] = w.since[slot]
    batch.moment[i] = w.moment[slot]
    batch.payload[i] = w.payload[slot]
    for a in range(w.sensitive.shape[1]):
        batch.sensitive[i, a] = w.sensitive[slot, a]
    batch.arrival[i] = w.arrival[slot]
    h.arrivals[i] = w.clock.arrivals
    scratch.chosen[0] = slot
    remove(w, scratch.chosen[:1])
