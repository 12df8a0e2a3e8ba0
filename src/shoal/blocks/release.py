"""The door: every tuple leaves through `release`, and nothing leaves in any other way.

Whatever an algorithm asks for, the door itself counts the persons of a new group at that moment and checks that every
member lies inside what will be published. A group that does not hold is suppressed, a tuple that a reused group does not
cover is suppressed, a tuple that has already left stays away; each is counted as a fault of the algorithm. A tuple that
comes later than its deadline leaves as it is, and is counted too. So a mistake in an algorithm can cost utility, never
privacy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.blocks.domain import multiple_above, multiple_below
from shoal.blocks.groups import covers, imputed_loss, mean_loss
from shoal.blocks.nearest import count_persons
from shoal.blocks.window import in_order, remove
from shoal.compiled import inlined

CLUSTER, REUSE, SUPPRESSED = 0, 1, 2
OUTCOMES = ("cluster", "reuse", "suppressed")

PROMISE = np.dtype([("k", np.int64), ("deadline", np.float64)])
TALLY = np.dtype([
    ("waiting", np.int64),  # tuples in `exits` that were not fetched yet
    ("groups", np.int64), ("smallest", np.int64), ("longest", np.float64), ("loss", np.float64),
    ("clustered", np.int64), ("reused", np.int64), ("suppressed", np.int64),
    ("too_small", np.int64), ("uncovered", np.int64), ("late", np.int64), ("twice", np.int64),
])  # fmt: skip


class Exits(NamedTuple):
    """The tuples that left, in order; one entry a tuple until the engine fetches them."""

    seat: NDArray[np.int64]
    pattern: NDArray[np.uint64]  # what it shows: its own quasi-identifiers, or all of an imputed group
    row: NDArray[np.int64]  # of the group whose generalization it wears; -1 when suppressed
    how: NDArray[np.int64]
    arrived: NDArray[np.float64]
    promise: np.record
    tally: np.record
    released: NDArray[np.float64]


def exits(k: int, deadline: float, capacity: int) -> Exits:
    promise = np.zeros(1, PROMISE).view(np.recarray)[0]
    promise.k, promise.deadline = k, deadline
    tally = np.zeros(1, TALLY).view(np.recarray)[0]
    tally.longest = -np.inf
    whole = [np.zeros(capacity, np.int64) for _ in range(3)]
    seat, row, how = whole
    return Exits(seat, np.zeros(capacity, np.uint64), row, how, np.zeros(capacity), promise, tally, np.zeros(capacity))


@inlined
def release(domain, w, g, exits, scratch, slots, row, how):
    """Let the tuples in `slots` leave in order of arrival, wearing row `row`; whether the row was fit to be worn."""
    tally, promise = exits.tally, exits.promise
    slots = slots[:_those_held(w, tally, scratch, slots)]
    in_order(w, slots, scratch)
    fit = how != SUPPRESSED
    if how == CLUSTER:
        persons = count_persons(w, slots, scratch)
        fit = persons >= promise.k
        tally.too_small += not fit
        for slot in slots:
            if not covers(g, row, w, slot):
                tally.uncovered += 1
                fit = False
        if fit:
            _publish(domain, w, g, row, persons, tally)
    elif how == REUSE and not (0 <= row < g.rows[0] and g.persons[row] >= promise.k):
        tally.too_small += 1
        fit = False
    for slot in slots:
        worn = fit
        if how == REUSE and fit and not covers(g, row, w, slot):
            tally.uncovered += 1
            worn = False
        _leave(w, g, exits, slot, row if worn else -1, how if worn else SUPPRESSED)
    remove(w, slots)
    return fit


@inlined
def _those_held(w, tally, scratch, slots):
    """Keep in front those slots that hold a tuple, each once; how many they are."""
    scratch.turn[0] += 1
    kept = 0
    for slot in slots:
        if 0 <= slot < w.clock.held and scratch.mark[slot] != scratch.turn[0]:
            scratch.mark[slot] = scratch.turn[0]
            slots[kept] = slot
            kept += 1
        else:
            tally.twice += 1
    return kept


@inlined
def _publish(domain, w, g, row, persons, tally):
    """Number a new group and fix what is shown of it: numeric ends are rounded outward to the grid, inside the range."""
    g.persons[row] = persons
    g.number[row] = tally.groups
    g.published[row] = w.clock.now
    g.rows[0] = row + 1
    tally.groups += 1
    tally.smallest = persons if tally.groups == 1 else min(tally.smallest, persons)
    for q in range(len(domain.width)):
        if domain.categorical[q]:
            g.shown_loss[row, q] = g.loss[row, q]
            continue
        low, high = g.low[row, q], g.high[row, q]
        if low > high:  # no member has it, so nobody will show it
            low = high = domain.low[q]
        if domain.grid[q] > 0:
            low = max(domain.low[q], multiple_below(domain, q, low))
            high = min(domain.high[q], multiple_above(domain, q, high))
        g.shown_low[row, q] = low
        g.shown_high[row, q] = high
        g.shown_loss[row, q] = (high - low) / domain.width[q]


@inlined
def _began(w, slot):
    """When the wait began; of a tuple that a jump of the clock put into the pocket late, as if it had not been late."""
    pocketed = w.pocketed[slot]
    return max(w.since[slot], pocketed - w.clock.length) if pocketed < np.inf else w.since[slot]


@inlined
def _leave(w, g, exits, slot, row, how):
    tally = exits.tally
    i = tally.waiting
    tally.waiting += 1
    exits.seat[i] = w.seat[slot]
    imputed = how != SUPPRESSED and g.size[row] > 0
    exits.pattern[i] = g.pattern[row] if imputed else w.pattern[slot]
    exits.row[i] = row
    exits.how[i] = how
    exits.arrived[i] = w.since[slot]
    exits.released[i] = w.clock.now
    tally.late += w.clock.before - _began(w, slot) >= exits.promise.deadline
    tally.longest = max(tally.longest, w.clock.now - w.since[slot])
    if how == SUPPRESSED:
        tally.suppressed += 1
        tally.loss += 1.0
    else:
        tally.clustered += how == CLUSTER
        tally.reused += how == REUSE
        if imputed:
            tally.loss += imputed_loss(g.shown_loss, g, row, w.pattern[slot])
        else:
            tally.loss += mean_loss(g.shown_loss, row, w.pattern[slot])
