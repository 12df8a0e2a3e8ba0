"""The groups of a wave: their members, boxes and costs.

For each group and quasi-identifier the two smallest and the two largest places are stored, and of a set which values one member
has, and which two, so that the box without one member is found without reading the others. `algorithms.tide.wave` explains the
arguments.
"""

from __future__ import annotations

import numpy as np

from shoal.algorithms.tide.wave import MISSING, NOWHERE, has_kin_in, has_value, is_mixed, is_only, units, with_one_more
from shoal.blocks import bit_of
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
        b.loss[q, group] = b.lacks[q, group] = b.different[q, group] = b.more[q, group] = 0
    for word in range(len(b.has)):
        b.has[word, group] = b.twice[word, group] = 0
    b.cost[group] = b.doubts[group] = 0.0
    b.size[group] = b.persons[group] = 0
    close(b, group)


@inner
def enter(domain, v, t, group):
    """Put a tuple that is in no group into one."""
    _put(domain, v, t, group)
    _price(v, group)


@inner
def enter_all(domain, v, tuples, group):
    """The same for several tuples; the group is priced once."""
    for t in tuples:
        _put(domain, v, t, group)
    _price(v, group)


@inlined
def _put(domain, v, t, group):
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
        new = domain.sets[q] and _add_value(domain, b, group, q, place)
        if new or place < low or place > high:
            _measure(domain, v, q, group)


@inlined
def _measure(domain, v, q, group):
    """Find what a group loses in a quasi-identifier, now that its box is another."""
    b = v.boxes
    low, high, count = b.low[q, group], b.high[q, group], b.different[q, group]
    b.loss[q, group] = units(domain, v, q, low, high, count, b.lacks[q, group])
    if domain.sets[q]:
        b.more[q, group] = with_one_more(domain, v, q, low, high, count)


@inlined
def _add_value(domain, b, group, q, leaf):
    """Add a value to the set of a group; whether it is new there."""
    if has_value(domain, b.has, group, q, leaf):
        b.twice[domain.word[q] + (leaf >> 6), group] |= bit_of(leaf)
        return False
    b.has[domain.word[q] + (leaf >> 6), group] |= bit_of(leaf)
    b.different[q, group] += 1
    return True


@inlined
def _remove_value(domain, v, group, q, leaf):
    """Remove the value of a tuple that has left from the set of its group, unless others have it; whether it is removed."""
    p, b, word, others = v.tuples, v.boxes, domain.word[q] + (leaf >> 6), 0
    if has_value(domain, b.twice, group, q, leaf):
        u = b.first[group]
        while u >= 0 and others < 2:
            others += p.place[u, q] == leaf
            u = p.newer[u]
    if others < 2:
        b.twice[word, group] &= ~bit_of(leaf)
    if others == 0:
        b.has[word, group] &= ~bit_of(leaf)
        b.different[q, group] -= 1
    return others == 0


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
                _measure(domain, v, q, group)
            continue
        b.weight[q, group] -= p.weight[t]
        low, high = b.low[q, group], b.high[q, group]
        if domain.sets[q] and _remove_value(domain, v, group, q, place):
            _measure(domain, v, q, group)
        if place <= b.low_next[q, group] or place >= b.high_next[q, group]:
            b.low[q, group] = b.low_next[q, group] = NOWHERE
            b.high[q, group] = b.high_next[q, group] = MISSING
            u = b.first[group]
            while u >= 0 and (b.low_next[q, group] != low or b.high_next[q, group] != high):
                if p.place[u, q] != MISSING:
                    _see(b, q, group, p.place[u, q])
                u = p.newer[u]
            _measure(domain, v, q, group)
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
        low, high, count = b.low[q, group], b.high[q, group], b.different[q, group]
        if place == MISSING:
            lacks -= 1
            if v.work.strict and lacks == 0:
                loss = units(domain, v, q, low, high, count, 0)
        else:
            weight -= p.weight[t]
            only = is_only(domain, b, group, q, place)
            if only or place in (low, high):
                low = b.low_next[q, group] if place == low else low
                high = b.high_next[q, group] if place == high else high
                loss = units(domain, v, q, low, high, count - only, lacks)
        cost += loss * weight
        doubts += v.scale.doubt[q] if is_mixed(low, high, lacks) else 0.0
    return b.cost[group] - (cost + (b.size[group] - 1) * doubts)
