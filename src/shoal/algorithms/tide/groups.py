"""The groups of a wave: their members, boxes and costs.

For each group and quasi-identifier the two smallest and the two largest places are stored, so that the box without one member
is found without reading the others. `algorithms.tide.wave` explains the arguments.
"""

from __future__ import annotations

import numpy as np

from shoal.algorithms.tide.wave import MISSING, NOWHERE, has_kin_in, is_mixed, units
from shoal.compiled import inlined, inner


@inlined
def close(b, group):
    """Let no tuple ask for a group: it has no members."""
    b.first[group] = -1
    b.closed[group] = np.inf
    b.all_have[group], b.any_has[group] = np.uint64(0), ~np.uint64(0)


@inlined
def clear_group(v, group):
    """Make a group without members."""
    b = v.boxes
    for q in range(len(b.low)):
        b.low[q, group] = b.low_next[q, group] = NOWHERE
        b.high[q, group] = b.high_next[q, group] = MISSING
        b.weight[q, group] = 0.0
        b.loss[q, group] = b.lacks[q, group] = 0
    b.cost[group] = b.doubts[group] = 0.0
    b.size[group] = b.persons[group] = 0
    close(b, group)


@inner
def enter(domain, v, t, group):
    """Put a tuple that is in no group into one."""
    p, b = v.tuples, v.boxes
    b.persons[group] += not has_kin_in(p, t, group)
    p.older[t] = -1
    p.newer[t] = b.first[group]
    if b.first[group] >= 0:
        p.older[b.first[group]] = t
    b.first[group] = t
    p.group[t] = group
    b.size[group] += 1
    b.closed[group] = 0.0
    for q in range(len(b.low)):
        place = p.place[t, q]
        if place == MISSING:
            b.lacks[q, group] += 1
            if v.work.strict:
                b.loss[q, group] = v.scale.width[q]
            continue
        b.weight[q, group] += p.weight[t]
        low, high = b.low[q, group], b.high[q, group]
        _see(b, q, group, place)
        if place < low or place > high:
            b.loss[q, group] = units(domain, v, q, b.low[q, group], b.high[q, group], b.lacks[q, group])
    _price(v, group)


@inlined
def _see(b, q, group, place):
    """Let the outermost places of a group include this one."""
    if place <= b.low_next[q, group]:
        b.low_next[q, group] = max(place, b.low[q, group])
        b.low[q, group] = min(place, b.low[q, group])
    if place >= b.high_next[q, group]:
        b.high_next[q, group] = min(place, b.high[q, group])
        b.high[q, group] = max(place, b.high[q, group])


@inner
def leave(domain, v, t):
    """Take a tuple out of its group, and measure the group again where the tuple was among the outermost."""
    p, b = v.tuples, v.boxes
    group = p.group[t]
    if p.older[t] >= 0:
        p.newer[p.older[t]] = p.newer[t]
    else:
        b.first[group] = p.newer[t]
    if p.newer[t] >= 0:
        p.older[p.newer[t]] = p.older[t]
    p.group[t] = -1
    b.size[group] -= 1
    b.persons[group] -= not has_kin_in(p, t, group)
    for q in range(len(b.low)):
        place = p.place[t, q]
        if place == MISSING:
            b.lacks[q, group] -= 1
            if v.work.strict and b.lacks[q, group] == 0:
                b.loss[q, group] = units(domain, v, q, b.low[q, group], b.high[q, group], 0)
            continue
        b.weight[q, group] -= p.weight[t]
        low, high = b.low[q, group], b.high[q, group]
        if place <= b.low_next[q, group] or place >= b.high_next[q, group]:
            b.low[q, group] = b.low_next[q, group] = NOWHERE
            b.high[q, group] = b.high_next[q, group] = MISSING
            u = b.first[group]
            while u >= 0 and (b.low_next[q, group] != low or b.high_next[q, group] != high):
                if p.place[u, q] != MISSING:
                    _see(b, q, group, p.place[u, q])
                u = p.newer[u]
            b.loss[q, group] = units(domain, v, q, b.low[q, group], b.high[q, group], b.lacks[q, group])
    _price(v, group)


@inlined
def _price(v, group):
    """Sum up what a group costs, what it loses, and which quasi-identifiers are in doubt."""
    b, cost, doubts, lost = v.boxes, 0.0, 0.0, 0
    all_have, any_has = np.uint64(0), np.uint64(0)
    for q in range(len(b.low)):
        bit, loss, weight = np.uint64(1) << np.uint64(q), b.loss[q, group], b.weight[q, group]
        cost += loss * weight
        lost += loss
        b.rough_weight[q, group] = weight
        all_have |= bit if b.lacks[q, group] == 0 else np.uint64(0)
        any_has |= bit if b.lacks[q, group] < b.size[group] else np.uint64(0)
        doubts += v.scale.doubt[q] if is_mixed(b.low[q, group], b.high[q, group], b.lacks[q, group]) else 0.0
    b.all_have[group], b.any_has[group] = all_have, any_has
    b.lost[group] = lost
    b.doubts[group] = doubts
    b.cost[group] = cost + b.size[group] * doubts


@inlined
def can_spare(v, t, k):
    """Whether its group counts k persons without the tuple."""
    group = v.tuples.group[t]
    return v.boxes.persons[group] - (not has_kin_in(v.tuples, t, group)) >= k


@inlined
def saving(domain, v, t):
    """By how much the tuple's group would cost less without it."""
    p, b = v.tuples, v.boxes
    group = p.group[t]
    cost = doubts = 0.0
    for q in range(len(b.low)):
        place, lacks, loss, weight = p.place[t, q], b.lacks[q, group], b.loss[q, group], b.weight[q, group]
        low, high = b.low[q, group], b.high[q, group]
        if place == MISSING:
            lacks -= 1
            if v.work.strict and lacks == 0:
                loss = units(domain, v, q, low, high, 0)
        else:
            weight -= p.weight[t]
            if place in (low, high):
                low = b.low_next[q, group] if place == low else low
                high = b.high_next[q, group] if place == high else high
                loss = units(domain, v, q, low, high, lacks)
        cost += loss * weight
        doubts += v.scale.doubt[q] if is_mixed(low, high, lacks) else 0.0
    return b.cost[group] - (cost + (b.size[group] - 1) * doubts)
