"""By how much a tuple would raise the cost of each group: roughly for all at once, then exactly where that may be least.

A rise is a sum of numbers that are not negative: the weight of the tuple times what the group loses already, and for each
quasi-identifier what the box would grow by, times the weight of all tuples that would have it. Under `blurred` doubt is added.
In single precision each of them is rounded three times at most, and so is the sum, once for each. So with Q quasi-identifiers a
rough rise is wrong by less than e = (Q + 8) / 2^23 of itself. If m is the smallest rough rise, the exact rise of that group is
below m / (1 - e), so is the smallest exact rise, and the rough rise of that group is below m (1 + e) / (1 - e) < m (1 + 4e).
Rounding keeps order, so a rough rise never falls while the sum grows: once all are above a limit, the others need not be added.
`algorithms.tide.wave` explains the arguments.
"""

from __future__ import annotations

import numpy as np

from shoal.algorithms.tide.vectors import add_rises, least, wider_intervals, wider_nodes
from shoal.algorithms.tide.wave import MISSING, has_value, units
from shoal.blocks import bit_of
from shoal.compiled import ENTRIES, first_one, inlined, inner, up_to

_FEW = 4  # after so many quasi-identifiers the sums are compared with the limit


@inner
def cheapest_group(domain, v, t, limit):
    """The other group whose cost the tuple raises least, the first on a tie, and the rise; -1 and infinite if there is none, or
    if the rise is above the limit for sure."""
    first, rise = v.work.first, v.boxes.rise
    best, lowest, groups = -1, np.inf, v.work.groups - first
    if groups == 0:
        return best, lowest
    width = (groups + ENTRIES - 1) // ENTRIES * ENTRIES
    margin = 4 * (len(domain.width) + 8) / 2**23
    rough = _rough_rises(domain, v, t, first, first + width, limit * (1 + margin))
    if rough == np.inf:
        return best, lowest
    rough *= np.float32(1 + margin)
    for start in range(0, width, ENTRIES):
        found = up_to(rise, start, rough)
        while found != 0:
            group = first + start + first_one(found)
            found &= found - np.uint64(1)
            exact = _rise(domain, v, t, group)
            if exact < lowest:
                best, lowest = group, exact
    return best, lowest


@inlined
def _rough_rises(domain, v, t, first, last, most):
    """boxes.rise[g]: roughly by how much the tuple would raise the cost of group `first` + g; infinite if it cannot join.

    Returns the smallest; infinite if that is above `most`.
    """
    p, b = v.tuples, v.boxes
    width, weight, added = last - first, np.float32(p.weight[t]), 0
    _begin(domain, v, t, first, last)
    for q in range(len(b.low)):
        place = p.place[t, q]
        if place == MISSING:
            if v.work.strict:
                rise = b.rise[:width]
                loss, heavy, whole = b.loss[q, first:last], b.rough_weight[q, first:last], np.float32(v.scale.width[q])
                for g in range(width):
                    rise[g] += (whole - np.float32(loss[g])) * heavy[g]
        elif domain.sets[q]:
            _add_values(domain, v, q, place, weight, first, last)
        elif domain.categorical[q]:
            for start in range(0, width, ENTRIES):
                _climb(domain, v, q, place, start, first + start)
                add_rises(b.rise, start, b.wider, b.loss, b.rough_weight, q, first + start, weight)
        else:
            for start in range(0, width, ENTRIES):
                wider_intervals(b.wider, start, b.low, b.high, q, first + start, place)
                add_rises(b.rise, start, b.wider, b.loss, b.rough_weight, q, first + start, weight)
        added += place != MISSING
        if added == _FEW and most < np.inf:
            added = 0
            if least(b.rise, width) > most:
                return np.float32(np.inf)
    rough = least(b.rise, width)
    return rough if rough <= most else np.float32(np.inf)


@inlined
def _begin(domain, v, t, first, last):
    """boxes.rise[g]: what the tuple would add before any box grows: what each group loses already, and doubt."""
    p, b, own = v.tuples, v.boxes, v.tuples.pattern[t]
    width = last - first
    rise, lost, closed = b.rise[:width], b.lost[first:last], b.closed[first:last]
    weight = np.float32(p.weight[t])
    for g in range(width):
        rise[g] = lost[g]
    lacking = ~own & (~np.uint64(0) >> np.uint64(64 - len(b.low)))
    while lacking != 0:
        loss = b.loss[first_one(lacking), first:last]
        lacking &= lacking - np.uint64(1)
        for g in range(width):
            rise[g] -= np.float32(loss[g])
    for g in range(width):
        rise[g] = rise[g] * weight + closed[g]
    if v.work.blurred:
        _add_doubts(v, own, first, last)
    if p.group[t] >= 0:
        b.rise[p.group[t] - first] = np.inf
    if v.work.single:
        u = p.kin[t]
        while u != t:
            if p.group[u] >= 0:
                b.rise[p.group[u] - first] = np.inf
            u = p.kin[u]


@inlined
def _add_values(domain, v, q, leaf, weight, first, last):
    """Add what the sets of the groups would grow by, where they do not have the leaf yet."""
    b, width = v.boxes, last - first
    rise, wider, loss, heavy = b.rise[:width], b.wider[:width], b.loss[q, first:last], b.rough_weight[q, first:last]
    has, more, own = b.has[domain.word[q] + (leaf >> 6), first:last], b.more[q, first:last], bit_of(leaf)
    known = leaf < domain.leaves[q]
    if known and domain.most[q] == domain.leaves[q]:
        for g in range(width):
            wider[g] = more[g]
    else:
        for start in range(0, width, ENTRIES):
            _climb(domain, v, q, leaf, start, first + start)
        if known:
            for g in range(width):
                wider[g] = more[g] if more[g] >= 0 else wider[g]
    for g in range(width):
        grown = np.int32(0) if has[g] & own != 0 else max(np.int32(wider[g] - loss[g]), np.int32(0))
        rise[g] += np.float32(grown) * (heavy[g] + weight)


@inlined
def _climb(domain, v, q, leaf, start, first):
    """boxes.wider[start + i]: the loss of the lowest node over a leaf and the box of group `first` + i, for 64 groups."""
    b, node = v.boxes, domain.node[q] + np.int64(leaf)
    wider_nodes(b.wider, start, b.low, b.high, q, first, node, domain.parent, domain.first, domain.last, v.scale.unit)


@inlined
def _add_doubts(v, own, first, last):
    """Add what each group has in doubt for one more member, and for all members what the tuple would put in doubt."""
    b, width = v.boxes, last - first
    rise, doubts, size = b.rise[:width], b.doubts[first:last], b.size[first:last]
    all_have, any_has = b.all_have[first:last], b.any_has[first:last]
    mixed = np.uint64(0)
    for g in range(width):
        rise[g] += np.float32(doubts[g])
        mixed |= (all_have[g] & ~own) | (own & ~any_has[g])
    while mixed != 0:
        bit = mixed & (~mixed + np.uint64(1))
        each = np.float32(v.scale.doubt[first_one(mixed)])
        mixed ^= bit
        for g in range(width):
            newly = ((all_have[g] & ~own) | (own & ~any_has[g])) & bit
            rise[g] += each * np.float32(size[g] + 1) if newly != 0 else np.float32(0)


@inlined
def _rise(domain, v, t, group):
    """By how much the tuple would raise the cost of a group, exactly."""
    p, b = v.tuples, v.boxes
    weight, rise, mixed = p.weight[t], 0.0, 0.0
    for q in range(len(b.low)):
        place, loss, heavy, lacks = p.place[t, q], b.loss[q, group], b.weight[q, group], b.lacks[q, group]
        low, high = b.low[q, group], b.high[q, group]
        if place == MISSING:
            rise += (v.scale.width[q] - loss) * heavy if v.work.strict else 0.0
            mixed += v.scale.doubt[q] if lacks == 0 else 0.0
        elif low <= place <= high if not domain.sets[q] else has_value(domain, b.has, group, q, place):
            rise += loss * weight
        else:
            wider = units(domain, v, q, min(low, place), max(high, place), b.different[q, group] + 1, lacks)
            rise += wider * (heavy + weight) - loss * heavy
            mixed += v.scale.doubt[q] if low > high else 0.0
    return rise + b.doubts[group] + (b.size[group] + 1) * mixed
