"""Distances between tuples: the exact one, and a rough one to the whole window at once.

The rough one runs over one quasi-identifier at a time in single precision, so that the processor's vectors are full. It
only narrows the choice: wherever it leaves a doubt, the exact one decides.
"""

from __future__ import annotations

import numpy as np

from shoal.blocks.domain import common_ancestor
from shoal.blocks.window import STRIDE
from shoal.compiled import inlined, popcount


@inlined
def distance(domain, w, t, u):
    """dist(t, u): the mean attribute distance over the shared quasi-identifiers, 1 where none is shared."""
    total = 0.0
    for q in range(len(domain.width)):
        a, b = w.values[t, q], w.values[u, q]
        if a < b or a > b:  # never so where one is missing
            if domain.categorical[q]:
                total += domain.node_loss[common_ancestor(domain, q, min(a, b), max(a, b))]
            else:
                total += abs(a - b) / domain.width[q]
    shared = popcount(w.pattern[t] & w.pattern[u])
    return total / shared if shared > 0 else 1.0


@inlined
def weighted_distance(domain, w, t, u, alpha):
    """alpha * dist(t, u) + (1 - alpha) * (1 - Jaccard(t, u)): X-BAND's distance; with alpha 1 just dist(t, u)."""
    if alpha == 1.0:
        return distance(domain, w, t, u)
    return alpha * distance(domain, w, t, u) + (1 - alpha) * (1 - jaccard(w.pattern[t], w.pattern[u]))


@inlined
def doubt(quasi):
    """How far a rough distance may lie from the exact one.

    Each scaled value and each loss is rounded once and each difference once more (2^-24 of at most 1 each, four in all);
    a sum of n terms and its mean are rounded n times, each by 2^-24 of a sum below n, which the mean divides by n again;
    weighing in the patterns rounds five times more. Twice that is taken.
    """
    return np.float32(2 * (quasi + 10) * 2.0**-24)


@inlined
def rough_distances(domain, w, t, alpha, scratch):
    """scratch.distance[j] = weighted_distance(t, j) for every slot j, give or take `doubt`; infinite past the last one."""
    held = w.clock.held
    width = (held + STRIDE - 1) // STRIDE * STRIDE
    out = scratch.distance[:width]
    for j in range(width):
        out[j] = 0.0
    for q in range(len(w.scaled)):
        column = w.scaled[q, :width]
        value = column[t]
        if np.isnan(value):
            continue
        if domain.categorical[q]:
            _climb(domain, q, value, column, out)
        else:
            for j in range(width):
                d = abs(column[j] - value)
                out[j] += d if d == d else np.float32(0)
    pattern = w.pattern[:width]
    own = pattern[t]
    for j in range(width):
        shared = np.float32(popcount(own & pattern[j]))
        out[j] = out[j] / shared if shared > 0 else np.float32(1)
    if alpha != 1.0:
        for j in range(width):
            apart = np.float32(1) - np.float32(jaccard(own, pattern[j]))
            out[j] = np.float32(alpha) * out[j] + np.float32(1 - alpha) * apart
    for j in range(held, width):
        out[j] = np.inf


@inlined
def _climb(domain, q, leaf, column, out):
    """Add the loss of the lowest common ancestor of `leaf` and column[j]; nothing where equal or missing.

    From the leaf up: whoever lies outside a node meets `leaf` no lower than at its parent, and loses that much more.
    """
    first = last = leaf
    node = domain.node[q] + np.int64(leaf)
    loss = 0.0
    while domain.parent[node] != node:
        node = domain.parent[node]
        more = np.float32(domain.node_loss[node] - loss)
        loss = domain.node_loss[node]
        up = domain.parent[node]  # two levels a pass; at the root the second is itself, and adds nothing
        more_up = np.float32(domain.node_loss[up] - loss)
        first_up, last_up = np.float32(domain.first[node]), np.float32(domain.last[node])
        if up == node:
            for j in range(len(column)):
                out[j] += more if column[j] < first or column[j] > last else np.float32(0)
        else:
            for j in range(len(column)):
                lost = more if column[j] < first or column[j] > last else np.float32(0)
                out[j] += lost + (more_up if column[j] < first_up or column[j] > last_up else np.float32(0))
            node = up
            loss = domain.node_loss[up]
        first, last = np.float32(domain.first[node]), np.float32(domain.last[node])


@inlined
def jaccard(a, b):
    """|a and b| / |a or b| of two patterns; 1 if both are empty."""
    union = popcount(a | b)
    return popcount(a & b) / union if union > 0 else 1.0
