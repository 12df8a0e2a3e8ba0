"""Growth: candidates for groups grow from seeds.

A candidate takes one tuple at a time: the one with which it costs least, out of a shortlist of the 2k tuples that add least to
its box. It is complete when it counts k persons. What the candidate would cost with each tuple of the shortlist is kept, and
brought up to date at each step: the tuple that joins adds its weight times what is lost, and only the quasi-identifiers in
which the box grew are measured again. `algorithms.tide.wave` explains the arguments.
"""

from __future__ import annotations

import numpy as np

from shoal.algorithms.tide.shortlist import hold, shortlist
from shoal.algorithms.tide.vectors import COLUMNS, LANES, least, widen_box
from shoal.algorithms.tide.wave import FAR, MISSING, NOWHERE, is_mixed, units, with_one_more
from shoal.blocks import STRIDE, bit_of, common_ancestor
from shoal.compiled import first_one, inlined, inner, up_to

_LOWER = np.uint64((1 << COLUMNS) - 1)


@inner
def grow(domain, v, k, candidate, size):
    """Let a candidate, whose first `size` members are given, grow to k persons, which must have free tuples; its price."""
    f = v.growth
    for q in range(len(domain.width)):
        f.low[q], f.high[q], f.weight[q], f.lacks[q], f.different[q] = NOWHERE, MISSING, 0.0, 0, 0
    for word in range(len(f.has)):
        f.has[word] = 0
    for i in range(size):
        _take(domain, v, f.member[candidate, i], i)
    price, listed, left = _price(domain, v, size) if size == k else 0.0, 0, 0
    while size < k:
        if left == 0:
            listed = left = shortlist(domain, v, 2 * k)
            _measure(domain, v, listed, size)
        best = _first_least(f.cost, listed)
        t, price = f.listed[best], f.cost[best]
        f.member[candidate, size] = t
        grown, mixed = _take(domain, v, t, size)
        size += 1
        left -= _strike(v, t, best, listed)
        if left > 0 and size < k:
            _join(domain, v, t, grown, mixed, listed, size)
    for i in range(k):
        hold(v, f.member[candidate, i], np.uint16(0))
    return price


@inlined
def _take(domain, v, t, size):
    """Add a tuple to the box of `size` members; the patterns of what the box grew in, and of what is newly in doubt."""
    p, f = v.tuples, v.growth
    hold(v, t, FAR)
    grown, mixed, lacking = np.uint64(0), np.uint64(0), ~p.pattern[t] & _all(domain)
    for start in range(0, len(f.low), COLUMNS):
        found = widen_box(f.low, f.high, f.weight, start, p.place, t, p.weight[t])
        grown |= (found & _LOWER) << np.uint64(start)
        mixed |= (found >> np.uint64(COLUMNS)) << np.uint64(start) if size > 0 else np.uint64(0)
    while lacking != 0:
        q, bit = first_one(lacking), lacking & (~lacking + np.uint64(1))
        lacking ^= bit
        if f.lacks[q] == 0:
            grown |= bit if v.work.strict else np.uint64(0)
            mixed |= bit if size > 0 else np.uint64(0)
            f.lacks[q] = 1
    if len(f.has) > 0:
        grown |= _take_values(domain, v, t)
    return grown, mixed


@inlined
def _take_values(domain, v, t):
    """Add the values of a tuple to the sets of the candidate; the pattern of the sets that had not got them."""
    p, f, grown = v.tuples, v.growth, np.uint64(0)
    for q in range(len(domain.width)):
        place = p.place[t, q]
        if domain.sets[q] and place != MISSING:
            word = domain.word[q] + (place >> 6)
            if f.has[word] & bit_of(place) == 0:
                f.has[word] |= bit_of(place)
                f.different[q] += 1
                grown |= np.uint64(1) << np.uint64(q)
    return grown


@inlined
def _price(domain, v, size):
    """What the candidate costs."""
    f, price = v.growth, 0.0
    for q in range(len(domain.width)):
        price += units(domain, v, q, f.low[q], f.high[q], f.different[q], f.lacks[q]) * f.weight[q]
        price += size * v.scale.doubt[q] if is_mixed(f.low[q], f.high[q], f.lacks[q]) else 0.0
    return price


@inlined
def _first_least(cost, listed):
    """The entry that costs least, the first on a tie."""
    lowest, start = least(cost, whole(listed)), 0
    while True:
        found = up_to(cost, start, lowest)
        if found != 0:
            return start + first_one(found)
        start += STRIDE


@inlined
def _strike(v, t, best, listed):
    """Remove a tuple and all of its person from the shortlist; how many they are."""
    f, struck = v.growth, 1
    f.cost[best] = np.inf
    if v.tuples.kin[t] != t:
        for i in range(listed):
            if f.cost[i] < np.inf and f.busy[f.column[f.listed[i]]] == FAR:
                f.cost[i] = np.inf
                struck += 1
    return struck


@inlined
def whole(entries):
    """A number of entries, rounded up to what `least` takes. Where k is small, a whole stride would be nearly empty."""
    return (entries + LANES - 1) // LANES * LANES


@inlined
def load(v, listed):
    """The places and weights of the tuples in the list; past its end, of a tuple without values."""
    p, f, width = v.tuples, v.growth, whole(listed)
    quasi = len(f.place)
    for i in range(width - LANES, width):
        f.heft[i] = 0.0
    for q in range(quasi):
        for i in range(width - LANES, width):
            f.place[q, i] = MISSING
    for i in range(listed):
        t = f.listed[i]
        f.heft[i] = p.weight[t]
        for q in range(quasi):
            f.place[q, i] = p.place[t, q]


@inlined
def _measure(domain, v, listed, size):
    """loss, lost, doubts and cost of a new shortlist, for a candidate of `size` members."""
    load(v, listed)
    f, width = v.growth, whole(listed)
    lost, doubts, cost, heft = f.lost[:width], f.doubts[:width], f.cost[:width], f.heft[:width]
    for i in range(width):
        lost[i] = doubts[i] = cost[i] = 0.0
    for q in range(len(domain.width)):
        spot, loss, weight = f.place[q, :width], f.loss[q, :width], f.weight[q]
        widen(domain, v, q, f.low[q], f.high[q], f.lacks[q], f.has, f.different[q], loss)
        for i in range(width):
            lost[i] += loss[i]
            cost[i] += loss[i] * (weight + (heft[i] if spot[i] >= 0 else 0.0))
        if v.work.blurred:
            _add_doubts(spot, doubts, v.scale.doubt[q], f.low[q] <= f.high[q], f.lacks[q] > 0)
    for i in range(width):
        cost[i] += (size + 1) * doubts[i]
    for i in range(listed, width):
        cost[i] = np.inf


@inlined
def _add_doubts(spot, doubts, each, some_have, some_lack):
    """Add what a quasi-identifier in doubt costs each member, where it would be in doubt with the entry."""
    by_lacking, by_having = each if some_have else 0.0, each if some_lack else 0.0
    for i in range(len(doubts)):
        doubts[i] += by_lacking if spot[i] < 0 else by_having


@inlined
def _join(domain, v, t, grown, mixed, listed, size):
    """Bring loss, lost, doubts and cost of the shortlist up to date, after a tuple joined as the last of `size` members."""
    f, weight, width = v.growth, v.tuples.weight[t], whole(listed)
    lost, doubts, cost, heft = f.lost[:width], f.doubts[:width], f.cost[:width], f.heft[:width]
    for i in range(width):
        cost[i] += weight * lost[i] + doubts[i]
    missing = ~v.tuples.pattern[t] & _all(domain)
    while missing != 0:
        loss = f.loss[first_one(missing), :width]
        missing &= missing - np.uint64(1)
        for i in range(width):
            cost[i] -= weight * loss[i]
    while grown != 0:
        q = first_one(grown)
        grown &= grown - np.uint64(1)
        spot, loss, wider, heavy = f.place[q, :width], f.loss[q, :width], f.wider[:width], f.weight[q]
        widen(domain, v, q, f.low[q], f.high[q], f.lacks[q], f.has, f.different[q], wider)
        for i in range(width):
            more = wider[i] - loss[i]
            lost[i] += more
            cost[i] += more * (heavy + (heft[i] if spot[i] >= 0 else 0.0))
            loss[i] = wider[i]
    while v.work.blurred and mixed != 0:
        q = first_one(mixed)
        mixed &= mixed - np.uint64(1)
        spot, each, has = f.place[q, :width], v.scale.doubt[q], v.tuples.place[t, q] != MISSING
        for i in range(width):
            more = each if (spot[i] >= 0) != has else 0.0  # those that are like the members before
            doubts[i] += more
            cost[i] += (size + 1) * more


@inlined
def _all(domain):
    """The pattern of all quasi-identifiers."""
    return ~np.uint64(0) >> np.uint64(64 - len(domain.width))


@inlined
def widen(domain, v, q, low, high, lacks, has, count, wider):
    """wider[i] = the loss of a box with entry i of the list; the box's own loss if the entry lacks q.

    Where the box is a set, `has` and `count` are its values and how many they are.
    """
    scale, width = v.scale, len(wider)
    spot = v.growth.place[q, :width]
    if v.work.strict and lacks > 0:
        for i in range(width):
            wider[i] = scale.width[q]
        return
    if domain.categorical[q]:
        more = with_one_more(domain, v, q, low, high, count) if domain.sets[q] else np.int32(-1)
        if low > high:
            for i in range(width):
                wider[i] = units(domain, v, q, spot[i], spot[i], 1, 0) if spot[i] >= 0 else 0
        elif more >= 0:
            own, unknown = units(domain, v, q, low, high, count, 0), np.int32(domain.leaves[q])
            whole = scale.unit[domain.parent[domain.node[q] + unknown]]
            for i in range(width):
                wider[i] = whole if spot[i] == unknown else more
            _keep_own(domain, q, has, spot, np.float64(own), wider)
        else:
            node = common_ancestor(domain, q, low, high)
            for i in range(width):
                wider[i] = scale.unit[node]
            while domain.parent[node] != node:
                first, last = np.int32(domain.first[node]), np.int32(domain.last[node])
                more = np.float64(scale.unit[domain.parent[node]] - scale.unit[node])
                for i in range(width):
                    outside = (spot[i] < first) | (spot[i] > last)
                    wider[i] += more if outside & (spot[i] >= 0) else 0.0
                node = domain.parent[node]
            if domain.sets[q]:
                _keep_own(domain, q, has, spot, np.float64(units(domain, v, q, low, high, count, 0)), wider)
    elif low > high:
        for i in range(width):
            wider[i] = 0.0
    else:
        for i in range(width):
            with_it = max(high, spot[i]) - min(low, spot[i])
            wider[i] = np.float64(with_it if spot[i] >= 0 else np.int32(high - low))
    if v.work.strict:
        for i in range(width):
            wider[i] = np.float64(scale.width[q]) if spot[i] < 0 else wider[i]


@inlined
def _keep_own(domain, q, has, spot, own, wider):
    """wider[i] = the set's own loss, where it has the value of entry i already, or the entry has none."""
    first = domain.word[q]
    if domain.leaves[q] < 64:
        values = has[first]
        for i in range(len(wider)):
            is_in = (values >> np.uint64(spot[i] & 63) & np.uint64(1) != 0) | (spot[i] < 0)
            wider[i] = own if is_in else wider[i]
    else:
        for i in range(len(wider)):
            if spot[i] < 0 or has[first + (spot[i] >> 6)] & bit_of(spot[i]) != 0:
                wider[i] = own
