"""Distances between tuples: the exact one, and a rough one to the whole window at once.

The rough one runs over one quasi-identifier at a time and sums up whole units in 16 bits, so that the processor's vectors
are full. It only narrows the choice: where it cannot decide, the exact one does. `blocks.state` explains the arguments.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.blocks.domain import MISSING, common_ancestor, weight_of
from shoal.blocks.sets import root_of, unlike_loss
from shoal.blocks.window import STRIDE
from shoal.compiled import inlined, popcount

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


class Metric(NamedTuple):
    """How distances are measured."""

    alpha: np.float64  # the weight of values against missing patterns
    kept: np.uint64  # the pattern of the quasi-identifiers that count
    strict: np.bool_  # whether a quasi-identifier that only one of two tuples has counts, with distance 1


@inlined
def by_values(alpha):
    """A metric over the quasi-identifiers that both tuples have."""
    return Metric(np.float64(alpha), _ALL, False)


@inlined
def by_shared(alpha, kept):
    """A metric over `kept`, which will be shown, and what the other tuple has; one that is in only one of them counts 1."""
    return Metric(np.float64(alpha), np.uint64(kept), True)


@inlined
def distance(domain, w, t, u, metric):
    """dist(t, u): the mean attribute distance over the shared quasi-identifiers, 1 where none is shared.

    A strict metric gives d_Q(t, u), where Q is `metric.kept`: the mean over the quasi-identifiers in Q or of u; one that is in
    only one of these sets counts 1. With alpha below 1 it is alpha * mean + (1 - alpha) * (1 - Jaccard(t, u)).
    """
    own, other = w.pattern[t] & metric.kept, w.pattern[u]
    total = 0.0
    for q in range(len(domain.width)):
        a, b = w.values[t, q], w.values[u, q]
        if (a < b or a > b) and own >> np.uint64(q) & np.uint64(1):  # false where one is missing
            if domain.sets[q]:
                total += domain.weight[q] * unlike_loss(domain, q, a, b)
            elif domain.categorical[q]:
                total += domain.weight[q] * domain.node_loss[common_ancestor(domain, q, min(a, b), max(a, b))]
            else:
                total += domain.weight[q] * (abs(a - b) / domain.width[q])
        elif metric.strict and (own ^ other) >> np.uint64(q) & np.uint64(1):
            total += domain.weight[q]
    among = own | other if metric.strict else own & other
    mean = total / weight_of(domain, among) if among != 0 else 1.0
    if metric.alpha == 1.0:
        return mean
    return metric.alpha * mean + (1 - metric.alpha) * (1 - jaccard(w.pattern[t], other))


@inlined
def rough_error(domain):
    """How far a rough distance may lie from the exact one.

    A scaled value and a loss are rounded to whole units, so that a difference of two is wrong by one unit at most, and a mean
    by one unit divided by the least weight. The steps in single precision that follow round nine times at most, each by 2^-24
    of a number not above 1; the bound allows twice as much.
    """
    return np.float32(1 / (domain.unit[0] * domain.least[0]) + 2 * 9 * 2.0**-24)


@inlined
def rough_distances(domain, w, t, metric, scratch):
    """scratch.distance[j] = distance(t, j) for every slot j, give or take `rough_error`; infinite past the last slot."""
    held = w.clock.held
    width = (held + STRIDE - 1) // STRIDE * STRIDE
    units, out = scratch.units[:width], scratch.distance[:width]
    own = w.pattern[t] & metric.kept
    for j in range(width):
        units[j] = 0
    for q in range(len(w.code)):
        if not own >> np.uint64(q) & np.uint64(1):
            continue
        column = w.code[q, :width]
        if not domain.categorical[q]:
            _add_difference(column, column[t], units)
        elif domain.coded[q] and domain.sets[q]:
            _add_unlike(domain, q, column, column[t], units)
        elif domain.coded[q]:
            _climb(domain, q, column, column[t], units)
        else:
            leaves = scratch.exact[:held]
            for j in range(held):
                leaves[j] = w.values[j, q]
            if domain.sets[q]:
                _add_unlike_far(domain, q, leaves, leaves[t], units)
            else:
                _climb_far(domain, q, leaves, leaves[t], units)
    for j in range(width):
        out[j] = np.float32(units[j]) * np.float32(1 / domain.unit[0])
    pattern = w.pattern[:width]
    if domain.weighed[0]:
        _divide_by_weights(domain, own, pattern, metric.strict, out)
    elif metric.strict:
        for j in range(width):
            among = np.float32(popcount(own | pattern[j]))
            out[j] = (out[j] + np.float32(popcount(own ^ pattern[j]))) / among if among > 0 else np.float32(1)
    else:
        for j in range(width):
            shared = np.float32(popcount(own & pattern[j]))
            out[j] = out[j] / shared if shared > 0 else np.float32(1)
    if metric.alpha != 1.0:
        whole = w.pattern[t]
        for j in range(width):
            apart = np.float32(1) - np.float32(jaccard(whole, pattern[j]))
            out[j] = np.float32(metric.alpha) * out[j] + np.float32(1 - metric.alpha) * apart
    for j in range(held, width):
        out[j] = np.inf


@inlined
def _divide_by_weights(domain, own, pattern, strict, out):
    for j in range(len(out)):
        among = weight_of(domain, own | pattern[j] if strict else own & pattern[j])
        apart = weight_of(domain, own ^ pattern[j]) if strict else 0.0
        out[j] = np.float32(min(1.0, (out[j] + apart) / among)) if among > 0 else np.float32(1)


@inlined
def _add_difference(column, value, units):
    """Add the difference of `value` and column[j]; nothing where it is missing."""
    for j in range(len(column)):
        other = column[j]
        apart = np.uint16(other - value) if other > value else np.uint16(value - other)
        units[j] += apart if other != MISSING else np.uint16(0)


@inlined
def _climb(domain, q, column, leaf, units):
    """Add the loss of the lowest common ancestor of `leaf` and column[j]; nothing where equal or missing.

    The loop climbs from `leaf` to the root. If column[j] lies outside a node, the common ancestor is the node's parent or a
    higher node, so the loss that the parent has more is added.
    """
    first, span = leaf, np.uint16(0)
    node, lost = domain.node[q] + np.int64(leaf), 0
    while domain.parent[node] != node:
        node = domain.parent[node]
        up = domain.parent[node]  # two levels per pass, unless this is the root
        more = np.uint16(domain.node_units[node] - lost)
        more_up = np.uint16(domain.node_units[up] - domain.node_units[node])
        first_up, span_up = np.uint16(domain.first[node]), np.uint16(domain.last[node] - domain.first[node])
        if up == node:
            for j in range(len(column)):
                units[j] += more if _is_outside(column[j], first, span) else np.uint16(0)
        else:
            for j in range(len(column)):
                total = np.uint16(units[j] + (more if _is_outside(column[j], first, span) else np.uint16(0)))
                units[j] = total + (more_up if _is_outside(column[j], first_up, span_up) else np.uint16(0))
            node = up
        lost = domain.node_units[node]
        first, span = np.uint16(domain.first[node]), np.uint16(domain.last[node] - domain.first[node])


@inlined
def _is_outside(code, first, span):
    """Whether a code lies outside first ... first + span; a missing code does not."""
    return np.uint16(code - first) > span and code != MISSING


@inlined
def _climb_far(domain, q, leaves, leaf, units):
    """The same for leaves that have no codes, one level per pass."""
    first, last = leaf, leaf
    node, lost = domain.node[q] + np.int64(leaf), 0
    while domain.parent[node] != node:
        node = domain.parent[node]
        more = np.uint16(domain.node_units[node] - lost)
        for j in range(len(leaves)):
            units[j] += more if leaves[j] < first or leaves[j] > last else np.uint16(0)
        first, last, lost = domain.first[node], domain.last[node], domain.node_units[node]


@inlined
def _add_unlike(domain, q, column, leaf, units):
    """Add the loss of a set of two, `leaf` and column[j]; nothing where equal or missing."""
    unknown, whole = np.uint16(domain.leaves[q]), np.uint16(domain.node_units[root_of(domain, q)])
    one = whole if leaf == unknown else np.uint16(domain.unlike[q])
    for j in range(len(column)):
        other = column[j]
        units[j] += (whole if other == unknown else one) if other != leaf and other != MISSING else np.uint16(0)


@inlined
def _add_unlike_far(domain, q, leaves, leaf, units):
    """The same for leaves that have no codes."""
    unknown, whole = domain.leaves[q], np.uint16(domain.node_units[root_of(domain, q)])
    one = whole if leaf == unknown else np.uint16(domain.unlike[q])
    for j in range(len(leaves)):
        other = leaves[j]
        units[j] += (whole if other == unknown else one) if other < leaf or other > leaf else np.uint16(0)


@inlined
def jaccard(a, b):
    """|a and b| / |a or b| of two patterns; 1 if both are empty."""
    union = popcount(a | b)
    return popcount(a & b) / union if union > 0 else 1.0
