"""Groups: the generalizations that tuples are published with, one row per group. `blocks.state` explains the arguments."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.blocks.diversity import ROOM
from shoal.blocks.domain import common_ancestor, weight_of
from shoal.blocks.sets import reaches, root_of, show_node, show_set
from shoal.blocks.window import padded
from shoal.compiled import COLUMNS, ends, inlined, inner

MAYBE, BLURRED, EXTENDED, ROOT = range(4)
MATCHES = {"maybe": MAYBE, "blurred": BLURRED, "extended": EXTENDED, "root": ROOT}


class Groups(NamedTuple):
    """Rows below `rows` are published; the next candidate is generalized into the row at `rows`."""

    low: NDArray[np.float64]  # one row per group, as wide as the window's values; leaves where it is categorical
    high: NDArray[np.float64]
    loss: NDArray[np.float64]
    pattern: NDArray[np.uint64]  # the quasi-identifiers that a member has; under `extended` and `root`, that all members have
    doubt: NDArray[np.uint64]  # under `blurred`: those that some members have and some lack
    persons: NDArray[np.int64]  # at the moment of publication; written by the door alone
    number: NDArray[np.int64]  # in order of publication; written by the door alone
    published: NDArray[np.float64]
    arrivals: NDArray[np.int64]  # `clock.arrivals` when it was published or last changed: no window may reuse it earlier
    shown_low: NDArray[np.float64]  # what is published: after the grid; the label where it is categorical
    shown_high: NDArray[np.float64]
    shown_loss: NDArray[np.float64]
    size: NDArray[np.int64]  # of an imputed group: how many members; 0 for every other group
    had: NDArray[np.int64]  # of an imputed group: how many members had each quasi-identifier
    shown: NDArray[np.int64]  # by sensitive attribute: how many different values it has shown, which, and how often each
    value: NDArray[np.uint64]
    times: NDArray[np.int64]
    rows_shown: NDArray[np.int64]  # how many rows have shown it, reuse included; counted only under `one_in_k`
    people: NDArray[np.uint64]  # the persons of these rows, one word each
    early: NDArray[np.float64]  # the time that all its rows show, where time is published
    late: NDArray[np.float64]
    nodes: NDArray[np.uint64]  # the nodes that its sets show, and all leaves below them (`blocks.sets`)
    reach: NDArray[np.uint64]  # filled by the door alone
    withheld: NDArray[np.bool_]  # by sensitive attribute: whether all its tuples publish null instead of their values
    rows: NDArray[np.int64]


def groups(quasi: int, sensitive: int, words: int, capacity: int, people: int = 0) -> Groups:
    """Room for `capacity` groups; their sets take so many words, and each remembers the persons of up to `people` rows."""
    low, high = np.zeros((capacity, padded(quasi))), np.zeros((capacity, padded(quasi)))
    loss, shown_low, shown_high, shown_loss = (np.zeros((capacity, quasi)) for _ in range(4))
    persons, number, arrivals, size = (np.zeros(capacity, np.int64) for _ in range(4))
    return Groups(
        low=low, high=high, loss=loss, pattern=np.zeros(capacity, np.uint64), doubt=np.zeros(capacity, np.uint64),
        persons=persons, number=number, published=np.zeros(capacity), arrivals=arrivals,
        shown_low=shown_low, shown_high=shown_high, shown_loss=shown_loss,
        size=size, had=np.zeros((capacity, quasi), np.int64), shown=np.zeros((capacity, sensitive), np.int64),
        value=np.zeros((capacity, sensitive, ROOM), np.uint64), times=np.zeros((capacity, sensitive, ROOM), np.int64),
        rows_shown=np.zeros(capacity, np.int64), people=np.zeros((capacity, people), np.uint64),
        early=np.zeros(capacity), late=np.zeros(capacity),
        nodes=np.zeros((capacity, words), np.uint64), reach=np.zeros((capacity, words), np.uint64),
        withheld=np.zeros((capacity, sensitive), bool),
        rows=np.zeros(1, np.int64),
    )  # fmt: skip


@inlined
def generalize(s, slots):
    """Compute G(C) of the tuples in `slots`; its row."""
    domain, w, g, promise = s.domain, s.window, s.groups, s.exits.promise
    row = g.rows[0]
    for start in range(0, g.low.shape[1], COLUMNS):
        ends(w.values, slots, start, g.low[row], g.high[row])
    pattern, common = np.uint64(0), ~np.uint64(0)
    for slot in slots:
        pattern |= w.pattern[slot]
        common &= w.pattern[slot]
    shown = pattern
    g.doubt[row] = pattern & ~common if promise.match == BLURRED else np.uint64(0)
    if not shows_any(promise.match):
        pattern = shown = common
    elif promise.support > 1:
        shown = supported(w, slots, pattern, promise.support, s.scratch)
    g.pattern[row] = pattern
    g.size[row] = 0
    for a in range(g.withheld.shape[1]):
        g.withheld[row, a] = False
    for q in range(len(domain.width)):
        low, high = g.low[row, q], g.high[row, q]
        if domain.sets[q]:
            show_node(domain, g, row, q, root_of(domain, q))
        if not shown >> np.uint64(q) & np.uint64(1):
            lost = pattern >> np.uint64(q) & np.uint64(1) or not shows_any(promise.match)  # or else no member has it
            g.low[row, q], g.high[row, q] = (-np.inf, np.inf) if lost else (low, high)
            g.loss[row, q] = 1.0 if lost else 0.0
            g.shown_low[row, q] = 0.0
        elif domain.sets[q]:
            g.low[row, q], g.high[row, q] = low, high
            show_set(domain, w, g, row, q, slots, s.scratch)
        elif domain.categorical[q]:
            node = common_ancestor(domain, q, low, high)
            g.low[row, q] = domain.first[node]
            g.high[row, q] = domain.last[node]
            g.loss[row, q] = domain.node_loss[node]
            g.shown_low[row, q] = domain.label[node]
        else:
            g.loss[row, q] = (high - low) / domain.width[q]
    return row


@inner
def supported(w, slots, pattern, least, scratch):
    """The quasi-identifiers of a pattern that at least `least` persons of a group have."""
    kept = np.uint64(0)
    for q in range(w.values.shape[1]):
        bit = np.uint64(1) << np.uint64(q)
        if pattern & bit:
            scratch.turn[0] += 1
            persons = 0
            for slot in slots:
                if w.pattern[slot] & bit and scratch.seen[w.person[slot]] != scratch.turn[0]:
                    scratch.seen[w.person[slot]] = scratch.turn[0]
                    persons += 1
                    if persons == least:
                        kept |= bit
                        break
    return kept


@inlined
def impute(w, slots, g, row):
    """Make all members of a group show all its quasi-identifiers, and count for each how many members had it."""
    g.size[row] = len(slots)
    for q in range(g.had.shape[1]):
        g.had[row, q] = 0
        for slot in slots:
            g.had[row, q] += w.values[slot, q] == w.values[slot, q]


@inlined
def loss(domain, g, row, pattern):
    """loss(t, G): the mean loss over the quasi-identifiers that the tuple has; 0 if it has none."""
    return mean_loss(domain, g.loss, row, pattern)


@inlined
def mean_loss(domain, losses, row, pattern):
    total = 0.0
    for q in range(losses.shape[1]):
        lost = domain.weight[q] * losses[row, q]
        total += lost if pattern >> np.uint64(q) & np.uint64(1) else 0.0
    return total / weight_of(domain, pattern) if pattern != 0 else 0.0


@inlined
def imputed_loss(domain, losses, g, row, pattern):
    """The mean loss over the quasi-identifiers of an imputed group; one that the tuple did not have counts 1."""
    total = 0.0
    for q in range(losses.shape[1]):
        if g.pattern[row] >> np.uint64(q) & np.uint64(1):
            total += domain.weight[q] * (losses[row, q] if pattern >> np.uint64(q) & np.uint64(1) else 1.0)
    return total / weight_of(domain, g.pattern[row]) if g.pattern[row] != 0 else 0.0


@inlined
def group_loss(domain, g, row, w, slots):
    """loss(C): the mean of loss(t, G(C)) over its tuples; `slots` must be in order of arrival."""
    total = 0.0
    for slot in slots:
        total += loss(domain, g, row, w.pattern[slot])
    return total / len(slots)


@inlined
def shows_any(match):
    """Whether a group shows each quasi-identifier that any member has, rather than those that all members have."""
    return match <= BLURRED


@inlined
def conflict(pattern, doubt, own, match):
    """The quasi-identifiers for which a group cannot cover a tuple with the pattern `own`, whatever the values.

    Under `maybe` these are those that only the tuple has; under `extended` and `root` those that only the group has; under
    `blurred` both, except what the group shows in doubt.
    """
    missing = own & ~pattern if shows_any(match) else np.uint64(0)
    return missing if match == MAYBE else missing | pattern & ~doubt & ~own


@inlined
def covers(domain, g, row, w, slot, match):
    """covers(G, t): no quasi-identifier is in conflict, and the values of the tuple lie inside G."""
    outside = conflict(g.pattern[row], g.doubt[row], w.pattern[slot], match)
    for q in range(w.values.shape[1]):
        value = w.values[slot, q]
        outside |= np.uint64(value < g.low[row, q]) | np.uint64(value > g.high[row, q])
    return outside == 0 and reaches(domain, g, row, w, slot)
