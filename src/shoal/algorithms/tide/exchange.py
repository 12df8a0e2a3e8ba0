"""The exchange of two tuples between two groups. `algorithms.tide.wave` explains the arguments."""

from __future__ import annotations

import numpy as np

from shoal.algorithms.tide.growth import load, whole, widen
from shoal.algorithms.tide.vectors import least
from shoal.algorithms.tide.wave import MISSING, has_kin_in, has_value, is_only, units
from shoal.blocks import bit_of
from shoal.compiled import inlined, inner


@inner
def find_partner(domain, v, t, other):
    """The member of the other group to exchange for `t` so that both groups together cost least, the older on a tie; -1 if no
    exchange lowers their cost."""
    p, b, f = v.tuples, v.boxes, v.growth
    group = p.group[t]
    best, lowest = -1, b.cost[group] + b.cost[other]
    u = -1 if has_kin_in(p, t, other) else b.first[other]
    while u >= 0:
        listed = 0
        while u >= 0 and listed < len(f.listed):
            f.listed[listed] = u
            listed += 1
            u = p.newer[u]
        _measure(domain, v, t, group, other, listed)
        if least(f.cost, whole(listed)) > lowest:
            continue
        for i in range(listed):
            better = f.cost[i] < lowest or (f.cost[i] == lowest and 0 <= f.listed[i] < best)
            if better and not has_kin_in(p, f.listed[i], group):
                best, lowest = f.listed[i], f.cost[i]
    return best


@inlined
def _measure(domain, v, t, group, other, listed):
    """cost[i]: of both groups once the tuple and entry i of the list have changed places."""
    p, b, f, width = v.tuples, v.boxes, v.growth, whole(listed)
    load(v, listed)
    cost, heft, wider = f.cost[:width], f.heft[:width], f.wider[:width]
    for i in range(width):
        cost[i] = 0.0 if i < listed else np.inf
    for q in range(len(domain.width)):
        place, spot = p.place[t, q], f.place[q, :width]
        # the tuple leaves its group, and the entry comes
        low, high, lacks, weight = b.low[q, group], b.high[q, group], b.lacks[q, group], b.weight[q, group]
        if place == MISSING:
            lacks -= 1
        else:
            low = b.low_next[q, group] if place == low else low
            high = b.high_next[q, group] if place == high else high
            weight -= p.weight[t]
        widen(domain, v, q, low, high, lacks, f.rest, _values_without(domain, v, q, t), wider)
        for i in range(width):
            cost[i] += wider[i] * (weight + (heft[i] if spot[i] >= 0 else 0.0))
        by_lacking = b.size[group] * v.scale.doubt[q] if low <= high else 0.0
        by_having = b.size[group] * v.scale.doubt[q] if lacks > 0 else 0.0
        # the tuple comes to the other group, and the entry leaves
        low, high, lacks, weight = b.low[q, other], b.high[q, other], b.lacks[q, other], b.weight[q, other]
        low_next, high_next, have = b.low_next[q, other], b.high_next[q, other], b.size[other] - lacks
        count = b.different[q, other]
        if place == MISSING:
            lacks += 1
        else:
            low_next, low = min(low_next, max(low, place)), min(low, place)
            high_next, high = max(high_next, min(high, place)), max(high, place)
            weight += p.weight[t]
            have += 1
            count += domain.sets[q] and not has_value(domain, b.has, other, q, place)
        loss = np.float64(units(domain, v, q, low, high, count, lacks))
        by_lacking += b.size[other] * v.scale.doubt[q] if have > 0 and lacks > 1 else 0.0
        by_having += b.size[other] * v.scale.doubt[q] if have > 1 and lacks > 0 else 0.0
        for i in range(width):
            has = spot[i] >= 0
            cost[i] += loss * (weight - (heft[i] if has else 0.0)) + (by_having if has else by_lacking)
        if low != low_next or high != high_next or (domain.sets[q] and b.different[q, other] > 1):
            for i in range(listed):
                only = domain.sets[q] and spot[i] >= 0 and spot[i] != place and is_only(domain, b, other, q, spot[i])
                if only or spot[i] == low or spot[i] == high:
                    from_low, to_high = low_next if spot[i] == low else low, high_next if spot[i] == high else high
                    cost[i] += (units(domain, v, q, from_low, to_high, count - only, lacks) - loss) * (weight - heft[i])
        if v.work.strict and lacks == 1:
            for i in range(listed):
                cost[i] += (units(domain, v, q, low, high, count, 0) - loss) * weight if spot[i] < 0 else 0.0


@inlined
def _values_without(domain, v, q, t):
    """Write the values that the group of a tuple has without it into growth.rest, if they are a set; how many they are."""
    p, b, f = v.tuples, v.boxes, v.growth
    if not domain.sets[q]:
        return np.int32(0)
    group, place = p.group[t], p.place[t, q]
    for word in range(domain.word[q], domain.word[q + 1]):
        f.rest[word] = b.has[word, group]
    if place == MISSING or not is_only(domain, b, group, q, place):
        return b.different[q, group]
    f.rest[domain.word[q] + (place >> 6)] &= ~bit_of(place)
    return np.int32(b.different[q, group] - 1)
