"""Repair: tuples move between the groups of a wave wherever that lowers the total cost.

For each group and quasi-identifier the two smallest and the two largest places are stored, so that the box without one
member is found without reading the others. `algorithms.tide.wave` explains the arguments.
"""

from __future__ import annotations

import numpy as np

from shoal.algorithms.tide.growth import cheapest_candidate, free_members, grow
from shoal.algorithms.tide.wave import MISSING, NOWHERE, units
from shoal.compiled import inlined, inner


@inlined
def clear_group(v, group):
    """Make a group without members."""
    _empty(v, group)
    v.cost[group] = 0.0
    v.size[group] = v.persons[group] = 0
    v.first[group] = -1


@inner
def take_cheapest(domain, v, k):
    """The cheapest candidate becomes a group, or grows again if some of its members are in other groups."""
    work = v.work
    candidate, size = cheapest_candidate(v), 1
    if candidate >= 0:
        size = free_members(v, k, candidate)
    else:
        candidate = 0
        while v.group[work.oldest] >= 0:
            work.oldest += 1
        v.member[candidate, 0] = work.oldest
    if size == k and v.price[candidate] < np.inf:
        clear_group(v, work.groups)
        for i in range(k):
            t = v.member[candidate, i]
            enter(domain, v, t, work.groups)
            v.busy[t] = 1
            v.tuples[v.person[t]] -= 1
            work.free -= v.tuples[v.person[t]] == 0
        work.groups += 1
        v.price[candidate] = np.inf
    elif size == 0:
        v.price[candidate] = np.inf
    else:
        v.price[candidate] = grow(domain, v, k, candidate, size)


@inner
def enter(domain, v, t, group):
    """Put a tuple that is in no group into one."""
    v.persons[group] += not has_person(v, group, v.person[t])
    v.older[t] = -1
    v.newer[t] = v.first[group]
    if v.first[group] >= 0:
        v.older[v.first[group]] = t
    v.first[group] = t
    v.group[t] = group
    v.size[group] += 1
    _box(domain, v, t, group)
    _price(v, group)


@inner
def leave(domain, v, t):
    """Take a tuple out of its group, and measure the rest of the group."""
    group = v.group[t]
    if v.older[t] >= 0:
        v.newer[v.older[t]] = v.newer[t]
    else:
        v.first[group] = v.newer[t]
    if v.newer[t] >= 0:
        v.older[v.newer[t]] = v.older[t]
    v.group[t] = -1
    v.size[group] -= 1
    v.persons[group] -= not has_person(v, group, v.person[t])
    _empty(v, group)
    t = v.first[group]
    while t >= 0:
        _box(domain, v, t, group)
        t = v.newer[t]
    _price(v, group)


@inlined
def _empty(v, group):
    for q in range(len(v.low)):
        v.low[q, group] = v.low_next[q, group] = NOWHERE
        v.high[q, group] = v.high_next[q, group] = MISSING
        v.group_weight[q, group] = v.loss[q, group] = 0.0
        v.lacks[q, group] = 0


@inlined
def _box(domain, v, t, group):
    for q in range(len(v.low)):
        place = v.place[q, t]
        if place == MISSING:
            v.lacks[q, group] += v.work.strict
            if v.work.strict:
                v.loss[q, group] = v.scale[q]
            continue
        v.group_weight[q, group] += v.weight[t]
        if place < v.low[q, group]:
            v.low_next[q, group] = v.low[q, group]
            v.low[q, group] = place
        else:
            v.low_next[q, group] = min(v.low_next[q, group], place)
        if place > v.high[q, group]:
            v.high_next[q, group] = v.high[q, group]
            v.high[q, group] = place
        else:
            v.high_next[q, group] = max(v.high_next[q, group], place)
        v.loss[q, group] = units(domain, v, q, v.low[q, group], v.high[q, group], v.lacks[q, group])


@inlined
def _price(v, group):
    cost = 0.0
    for q in range(len(v.low)):
        cost += v.loss[q, group] * v.group_weight[q, group]
    v.cost[group] = cost


@inlined
def has_person(v, group, person):
    """Whether a member of the group is of this person; the answer is no where no person repeats in the wave."""
    if v.work.persons == v.work.tuples:
        return False
    t = v.first[group]
    while t >= 0:
        if v.person[t] == person:
            return True
        t = v.newer[t]
    return False


@inlined
def _count_of(v, group, person):
    """How many members of the group are of this person."""
    count = 0
    t = v.first[group]
    while t >= 0:
        count += v.person[t] == person
        t = v.newer[t]
    return count


@inlined
def can_spare(v, t, k):
    """Whether its group counts k persons without the tuple."""
    group = v.group[t]
    if v.persons[group] > k:
        return True
    return v.size[group] > v.persons[group] and _count_of(v, group, v.person[t]) > 1


@inlined
def saving(domain, v, t):
    """By how much the tuple's group would cost less without it."""
    group = v.group[t]
    cost = 0.0
    for q in range(len(v.low)):
        place = v.place[q, t]
        lacks = v.lacks[q, group]
        if place == MISSING:
            loss = v.loss[q, group]
            if lacks == 1:
                loss = np.float64(units(domain, v, q, v.low[q, group], v.high[q, group], 0))
            cost += loss * v.group_weight[q, group]
            continue
        low = v.low_next[q, group] if place == v.low[q, group] else v.low[q, group]
        high = v.high_next[q, group] if place == v.high[q, group] else v.high[q, group]
        same = low == v.low[q, group] and high == v.high[q, group]
        loss = v.loss[q, group] if same else np.float64(units(domain, v, q, low, high, lacks))
        cost += loss * (v.group_weight[q, group] - v.weight[t])
    return v.cost[group] - cost


@inner
def cheapest_group(domain, v, t):
    """The other group whose cost the tuple raises least, the first on a tie; -1 if there is none. added[g] is the rise."""
    groups = v.work.groups
    added, lost = v.added[:groups], v.lost[:groups]
    for g in range(groups):
        added[g] = 0.0
    weight = v.weight[t]
    for q in range(len(v.low)):
        place, whole = v.place[q, t], v.scale[q]
        low, high, lacks = v.low[q, :groups], v.high[q, :groups], v.lacks[q, :groups]
        heavy, loss = v.group_weight[q, :groups], v.loss[q, :groups]
        if place == MISSING:
            if v.work.strict:
                for g in range(groups):
                    added[g] += (whole - loss[g]) * heavy[g]
            continue
        if domain.categorical[q]:
            node = domain.node[q] + np.int64(place)
            while domain.last[node] < place:
                node = domain.parent[node]
            for g in range(groups):
                lost[g] = v.unit[node]
            while domain.parent[node] != node:
                first, last = np.int32(domain.first[node]), np.int32(domain.last[node])
                more = np.int32(v.unit[domain.parent[node]] - v.unit[node])
                for g in range(groups):
                    lost[g] += more if (low[g] < first) | (high[g] > last) else np.int32(0)
                node = domain.parent[node]
            for g in range(groups):
                with_it = np.float64(lost[g] if lacks[g] == 0 else whole)
                added[g] += with_it * (heavy[g] + weight) - loss[g] * heavy[g]
        else:
            for g in range(groups):
                with_it = np.float64(max(high[g], place) - min(low[g], place) if lacks[g] == 0 else whole)
                added[g] += with_it * (heavy[g] + weight) - loss[g] * heavy[g]
    best, least = -1, np.inf
    for g in range(groups):
        if added[g] < least and v.first[g] >= 0 and g != v.group[t]:
            best, least = g, added[g]
    return best


@inner
def settle(domain, v, t):
    """Put a tuple into the group whose cost it raises least, unless its cover costs less; what it costs."""
    group = cheapest_group(domain, v, t)
    if group < 0 or v.cover_cost[t] < v.added[group]:
        return v.cover_cost[t]
    cost = v.added[group]
    enter(domain, v, t, group)
    return cost


@inner
def improve(domain, v, t, k):
    """Take a tuple out of its group, for its cover or for another group, if that lowers the total cost; whether it did."""
    group = v.group[t]
    if group < 0:
        return False
    gain = saving(domain, v, t)
    other = cheapest_group(domain, v, t)
    least = v.added[other] if other >= 0 else np.inf
    if can_spare(v, t, k):
        if min(least, v.cover_cost[t]) >= gain:
            return False
        leave(domain, v, t)
        if least <= v.cover_cost[t]:
            enter(domain, v, t, other)
        return True
    if least >= gain:
        return False
    partner = _partner(domain, v, t, other)
    if partner < 0:
        return False
    leave(domain, v, t)
    leave(domain, v, partner)
    enter(domain, v, t, other)
    enter(domain, v, partner, group)
    return True


@inlined
def _partner(domain, v, t, other):
    """The member of the other group to exchange for `t` so that both groups together cost least, the older on a tie; -1 if no
    exchange lowers their cost."""
    group = v.group[t]
    best, least = -1, v.cost[group] + v.cost[other]
    repeats = v.work.persons < v.work.tuples
    if repeats and has_person(v, other, v.person[t]):
        return -1
    u = v.first[other]
    while u >= 0:
        cost = 0.0
        for q in range(len(v.low)):
            cost += _exchanged(domain, v, q, group, t, u) + _exchanged(domain, v, q, other, u, t)
            if cost > least:
                break
        if (cost < least or (cost == least and 0 <= u < best)) and not (repeats and has_person(v, group, v.person[u])):
            best, least = u, cost
        u = v.newer[u]
    return best


@inlined
def _exchanged(domain, v, q, group, out, into):
    """The cost of a group in one quasi-identifier, with one tuple out and another in."""
    low, high, heavy, lacks = v.low[q, group], v.high[q, group], v.group_weight[q, group], v.lacks[q, group]
    leaving, coming = v.place[q, out], v.place[q, into]
    lacks += v.work.strict * (np.int64(coming == MISSING) - np.int64(leaving == MISSING))
    if leaving != MISSING:
        low = v.low_next[q, group] if leaving == low else low
        high = v.high_next[q, group] if leaving == high else high
        heavy -= v.weight[out]
    if coming != MISSING:
        low, high = min(low, coming), max(high, coming)
        heavy += v.weight[into]
    if low == v.low[q, group] and high == v.high[q, group] and (lacks > 0) == (v.lacks[q, group] > 0):
        return v.loss[q, group] * heavy
    return units(domain, v, q, low, high, lacks) * heavy


@inner
def dissolve(domain, v, group):
    """Move the members of a group to where each costs least, if that lowers the total cost; whether it did.

    First the cost of moving each member alone is found. If the sum promises a gain, all are moved, one after the other in order
    of arrival. If that brings no gain, they are moved back.
    """
    limit = v.cost[group]
    promised, members = 0.0, 0
    t = v.first[group]
    while t >= 0:
        other = cheapest_group(domain, v, t)
        promised += min(v.added[other] if other >= 0 else np.inf, v.cover_cost[t])
        if promised >= limit:
            return False
        v.shortlist[members] = t
        members += 1
        t = v.newer[t]
    _sort(v.shortlist[:members])
    clear_group(v, group)
    spent = 0.0
    for i in range(members):
        v.group[v.shortlist[i]] = -1
    for i in range(members):
        spent += settle(domain, v, v.shortlist[i])
        if spent >= limit:
            break
    if spent < limit:
        return True
    for i in range(members):
        t = v.shortlist[i]
        if v.group[t] >= 0:
            leave(domain, v, t)
        enter(domain, v, t, group)
    return False


@inlined
def _sort(numbers):
    for i in range(1, len(numbers)):
        number, j = numbers[i], i
        while j > 0 and numbers[j - 1] > number:
            numbers[j] = numbers[j - 1]
            j -= 1
        numbers[j] = number
