"""Groups: the generalizations that tuples wear, one row each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.blocks.domain import common_ancestor
from shoal.blocks.window import lanes
from shoal.compiled import inlined, popcount


class Groups(NamedTuple):
    """Rows below `rows` are published; the row at `rows` is where the next candidate is drawn up."""

    low: NDArray[np.float64]  # a row a group, as wide as the window's values; of leaves where it is categorical
    high: NDArray[np.float64]
    loss: NDArray[np.float64]
    pattern: NDArray[np.uint64]  # the quasi-identifiers that at least one member has
    persons: NDArray[np.int64]  # at the moment of publication; written by the door alone
    number: NDArray[np.int64]  # in order of publication; written by the door alone
    published: NDArray[np.float64]
    shown_low: NDArray[np.float64]  # what is published: after the grid; the label where it is categorical
    shown_high: NDArray[np.float64]
    shown_loss: NDArray[np.float64]
    size: NDArray[np.int64]  # of an imputed group: how many members; 0 for every other group
    had: NDArray[np.int64]  # of an imputed group: how many members had each quasi-identifier
    rows: NDArray[np.int64]


def groups(quasi: int, capacity: int) -> Groups:
    low, high = np.zeros((capacity, lanes(quasi))), np.zeros((capacity, lanes(quasi)))
    loss, shown_low, shown_high, shown_loss = (np.zeros((capacity, quasi)) for _ in range(4))
    return Groups(low, high, loss, np.zeros(capacity, np.uint64), np.zeros(capacity, np.int64),
                  np.zeros(capacity, np.int64), np.zeros(capacity), shown_low, shown_high, shown_loss,
                  np.zeros(capacity, np.int64), np.zeros((capacity, quasi), np.int64), np.zeros(1, np.int64))


@inlined
def generalize(domain, w, slots, g):
    """Draw up G(C) of the tuples in `slots`; the row it stands in."""
    row = g.rows[0]
    quasi, wide = len(domain.width), g.low.shape[1]
    for q in range(wide):
        g.low[row, q] = np.inf
        g.high[row, q] = -np.inf
    pattern = np.uint64(0)
    for slot in slots:
        pattern |= w.pattern[slot]
        for q in range(wide):
            value = w.values[slot, q]  # neither below nor above anything where it is missing
            g.low[row, q] = value if value < g.low[row, q] else g.low[row, q]
            g.high[row, q] = value if value > g.high[row, q] else g.high[row, q]
    g.pattern[row] = pattern
    g.size[row] = 0
    for q in range(quasi):
        low, high = g.low[row, q], g.high[row, q]
        if low > high:
            g.loss[row, q] = g.shown_low[row, q] = 0.0
        elif domain.categorical[q]:
            node = common_ancestor(domain, q, low, high)
            g.low[row, q] = domain.first[node]
            g.high[row, q] = domain.last[node]
            g.loss[row, q] = domain.node_loss[node]
            g.shown_low[row, q] = domain.label[node]
        else:
            g.loss[row, q] = (high - low) / domain.width[q]
    return row


@inlined
def impute(w, slots, g, row):
    """Make all members of a group show all its quasi-identifiers, and say of each how many members had it."""
    g.size[row] = len(slots)
    for q in range(g.had.shape[1]):
        g.had[row, q] = 0
        for slot in slots:
            g.had[row, q] += w.values[slot, q] == w.values[slot, q]


@inlined
def loss(g, row, pattern):
    """loss(t, G): the mean of the attributes' losses over those that the tuple has; 0 if it has none."""
    return mean_loss(g.loss, row, pattern)


@inlined
def mean_loss(losses, row, pattern):
    total = 0.0
    for q in range(losses.shape[1]):
        lost = losses[row, q]
        total += lost if pattern >> np.uint64(q) & np.uint64(1) else 0.0
    valid = popcount(pattern)
    return total / valid if valid > 0 else 0.0


@inlined
def imputed_loss(losses, g, row, pattern):
    """The mean over the quasi-identifiers of an imputed group; one that the tuple did not have is lost whole."""
    total = 0.0
    for q in range(losses.shape[1]):
        if g.pattern[row] >> np.uint64(q) & np.uint64(1):
            total += losses[row, q] if pattern >> np.uint64(q) & np.uint64(1) else 1.0
    valid = popcount(g.pattern[row])
    return total / valid if valid > 0 else 0.0


@inlined
def group_loss(g, row, w, slots):
    """loss(C): the mean of loss(t, G(C)) over its tuples, which `slots` gives in order of arrival."""
    total = 0.0
    for slot in slots:
        total += loss(g, row, w.pattern[slot])
    return total / len(slots)


@inlined
def covers(g, row, w, slot):
    """covers(G, t): G has every quasi-identifier of the tuple, and its values lie inside."""
    outside = w.pattern[slot] & ~g.pattern[row]
    for q in range(w.values.shape[1]):
        value = w.values[slot, q]
        outside |= np.uint64(value < g.low[row, q]) | np.uint64(value > g.high[row, q])
    return outside == 0
