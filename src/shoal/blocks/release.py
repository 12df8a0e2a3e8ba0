"""The door: every tuple leaves through `release`, and nothing leaves in any other way.

Whatever an algorithm asks for, the door itself counts the persons of a new group at that moment. It checks that every member
lies inside what will be published, that no person has more than 1/k of the tuples, that enough persons have each value that
it shows, and that the sensitive values are as diverse as promised, or withheld for all members. It fixes the time that all
members show. A group that fails is suppressed. So is a tuple that may not reuse the group that it asks for. A tuple that has
already left does not leave again. Each case is counted as a fault of the algorithm. A late tuple leaves as asked, and is
counted too. So a mistake in an algorithm can cost utility, never privacy. `blocks.state` explains the arguments.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.blocks.diversity import Diversity, is_diverse_or_withheld, remember
from shoal.blocks.domain import multiple_above, multiple_below
from shoal.blocks.groups import MAYBE, ROOT, covers, imputed_loss, mean_loss, supported
from shoal.blocks.nearest import count_persons
from shoal.blocks.reuse import stays_as_diverse
from shoal.blocks.rows import fix_time, has_share, is_in_time, most_of_one, show_row
from shoal.blocks.sets import are_carried, fill_reach
from shoal.blocks.window import in_order, remove
from shoal.compiled import inlined, popcount

CLUSTER, REUSE, SUPPRESSED = 0, 1, 2
OUTCOMES = ("cluster", "reuse", "suppressed")

PROMISE = np.dtype([
    ("k", np.int64),
    ("deadline", np.float64), ("usual", np.float64),  # the longest wait, and the longest while the window holds k persons
    ("match", np.int64), ("support", np.int64),  # how nulls are compared; the fewest persons with a value that is shown
    ("one_in_k", np.bool_),  # whether no person may have more than 1/k of the rows of a group
])  # fmt: skip
TALLY = np.dtype([
    ("waiting", np.int64),  # tuples in `exits` that were not fetched yet
    ("groups", np.int64), ("smallest", np.int64), ("longest", np.float64), ("loss", np.float64),
    ("doubtful", np.int64),  # quasi-identifiers of tuples that are shown in doubt
    ("withheld", np.int64),  # sensitive values that are withheld
    ("clustered", np.int64), ("reused", np.int64), ("suppressed", np.int64),
    ("stretched", np.int64),  # tuples that waited longer than usual
    # faults: failed checks of the size, the cover, the shares of persons, the support and the diversity; late tuples; second
    # releases
    ("too_small", np.int64), ("uncovered", np.int64), ("crowded", np.int64), ("thin", np.int64), ("uniform", np.int64),
    ("late", np.int64), ("twice", np.int64),
])  # fmt: skip


class Exits(NamedTuple):
    """The tuples that left, in order; one entry per tuple until the engine fetches them."""

    payload: NDArray[np.int64]
    pattern: NDArray[np.uint64]  # what it shows: its own quasi-identifiers, or all of its group
    row: NDArray[np.int64]  # of the group that it is published with; -1 when suppressed
    how: NDArray[np.int64]
    arrived: NDArray[np.float64]
    promise: np.record
    diversity: Diversity
    tally: np.record
    released: NDArray[np.float64]
    arrivals: NDArray[np.int64]  # how many had arrived when it left


def promise(k: int, usual: float, deadline: float, match: int, support: int, one_in_k: bool) -> np.record:
    record = np.zeros(1, PROMISE).view(np.recarray)[0]
    record.k, record.usual, record.deadline, record.match, record.support = k, usual, deadline, match, support
    record.one_in_k = one_in_k
    return record


def exits(promise: np.record, diversity: Diversity, capacity: int) -> Exits:
    tally = np.zeros(1, TALLY).view(np.recarray)[0]
    tally.longest = -np.inf
    payload, row, how, arrivals = (np.zeros(capacity, np.int64) for _ in range(4))
    return Exits(
        payload=payload, pattern=np.zeros(capacity, np.uint64), row=row, how=how, arrived=np.zeros(capacity), promise=promise,
        diversity=diversity, tally=tally, released=np.zeros(capacity), arrivals=arrivals,
    )  # fmt: skip


@inlined
def release(s, slots, row, how):
    """Let the tuples in `slots` leave in order of arrival, published with row `row`; whether that row passed all checks."""
    w, g, tally, promise, scratch = s.window, s.groups, s.exits.tally, s.exits.promise, s.scratch
    slots = slots[: _only_held(w, tally, scratch, slots)]
    in_order(w, slots, scratch)
    fit, asked = how != SUPPRESSED, len(s.exits.diversity.kind) > 0
    if how == CLUSTER:
        persons = count_persons(w, slots, scratch)
        fit = persons >= promise.k
        tally.too_small += not fit
        fill_reach(s.domain, g, row)
        for slot in slots:
            if not covers(s.domain, g, row, w, slot, promise.match):
                tally.uncovered += 1
                fit = False
        if promise.one_in_k and persons < len(slots) and most_of_one(w, slots, scratch) * promise.k > len(slots):
            tally.crowded += 1
            fit = False
        if not ((promise.support < 2 or _is_supported(s, slots, row)) and are_carried(s, slots, row)):
            tally.thin += 1
            fit = False
        if asked and not is_diverse_or_withheld(s.exits.diversity, g, row, w, slots, scratch):
            tally.uniform += 1
            fit = False
        if fit:
            _publish(s.domain, w, g, row, persons, tally)
            fix_time(s.domain, g, row, w, slots)
            if promise.one_in_k:
                for slot in slots:
                    show_row(g, row, w, slot)
            if asked:
                remember(s.exits.diversity, g, row, scratch)
    elif how == REUSE and not (0 <= row < g.rows[0] and g.persons[row] >= promise.k and g.arrivals[row] <= w.clock.arrivals):
        tally.too_small += 1
        fit = False
    for slot in slots:
        fits = fit
        if how == REUSE and fit:
            if not (covers(s.domain, g, row, w, slot, promise.match) and is_in_time(s.domain, g, row, w, slot)):
                tally.uncovered += 1
                fits = False
            elif promise.one_in_k and not has_share(g, row, w, slot, promise.k):
                tally.crowded += 1
                fits = False
            elif not stays_as_diverse(s, row, slot):
                tally.uniform += 1
                fits = False
            elif asked or promise.one_in_k:
                g.arrivals[row] = w.clock.arrivals
                if promise.one_in_k:
                    show_row(g, row, w, slot)
                if asked:
                    remember(s.exits.diversity, g, row, scratch)
        _leave(s, slot, row if fits else -1, how if fits else SUPPRESSED)
    remove(w, slots)
    return fit


@inlined
def _is_supported(s, slots, row):
    """Whether a group shows the root for every quasi-identifier that too few of its persons have."""
    w, g = s.window, s.groups
    thin = g.pattern[row] & ~supported(w, slots, g.pattern[row], s.exits.promise.support, s.scratch)
    for q in range(len(s.domain.width)):
        if thin >> np.uint64(q) & np.uint64(1) and g.low[row, q] > -np.inf:
            return False
    return True


@inlined
def _only_held(w, tally, scratch, slots):
    """Move the slots that hold a tuple to the front, each once; how many they are."""
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
    g.arrivals[row] = w.clock.arrivals
    g.rows[0] = row + 1
    g.rows_shown[row] = 0
    tally.groups += 1
    tally.smallest = persons if tally.groups == 1 else min(tally.smallest, persons)
    for q in range(len(domain.width)):
        if g.low[row, q] == -np.inf:  # blanked, or too few persons have it
            g.shown_low[row, q] = domain.root[q] if domain.categorical[q] else domain.low[q]
            g.shown_high[row, q] = domain.high[q]
            g.shown_loss[row, q] = 1.0
            continue
        if domain.categorical[q]:
            g.shown_loss[row, q] = g.loss[row, q]
            continue
        low, high = g.low[row, q], g.high[row, q]
        if low > high:  # no member has it, so no tuple will show it
            low = high = domain.low[q]
        if domain.grid[q] > 0:
            low = max(domain.low[q], multiple_below(domain, q, low))
            high = min(domain.high[q], multiple_above(domain, q, high))
        g.shown_low[row, q] = low
        g.shown_high[row, q] = high
        g.shown_loss[row, q] = (high - low) / domain.width[q]


@inlined
def _began(w, slot):
    """When the wait of a tuple began.

    A jump of the clock can put a tuple into the pocket late. Its wait is then counted as if it had gone there in time.
    """
    pocketed = w.pocketed[slot]
    return max(w.since[slot], pocketed - w.clock.stretched) if pocketed < np.inf else w.since[slot]


@inlined
def _leave(s, slot, row, how):
    w, g, exits, tally, match = s.window, s.groups, s.exits, s.exits.tally, s.exits.promise.match
    i = tally.waiting
    tally.waiting += 1
    exits.payload[i] = w.payload[slot]
    imputed = how != SUPPRESSED and g.size[row] > 0
    exits.pattern[i] = w.pattern[slot]
    if how != SUPPRESSED and (imputed or match != MAYBE):
        exits.pattern[i] = ~np.uint64(0) if match == ROOT else g.pattern[row]
    exits.row[i] = row
    exits.how[i] = how
    exits.arrived[i] = w.since[slot]
    exits.released[i] = w.clock.now
    exits.arrivals[i] = w.clock.arrivals
    waited = w.clock.before - _began(w, slot)
    tally.late += waited >= exits.promise.deadline
    tally.stretched += waited >= exits.promise.usual
    tally.longest = max(tally.longest, w.clock.now - w.since[slot])
    if how == SUPPRESSED:
        tally.suppressed += 1
        tally.loss += 1.0
    else:
        tally.clustered += how == CLUSTER
        tally.reused += how == REUSE
        tally.doubtful += popcount(g.doubt[row])
        for a in range(g.withheld.shape[1]):
            tally.withheld += g.withheld[row, a] and w.sensitive[slot, a] != 0
        if imputed:
            tally.loss += imputed_loss(s.domain, g.shown_loss, g, row, w.pattern[slot])
        else:
            tally.loss += mean_loss(s.domain, g.shown_loss, row, w.pattern[slot])
