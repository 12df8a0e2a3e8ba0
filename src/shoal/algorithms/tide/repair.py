"""Choosing and repair: the cheapest candidate becomes a group, then tuples move between groups wherever that lowers the cost.

`algorithms.tide.wave` explains the arguments.
"""

from __future__ import annotations

import numpy as np

from shoal.algorithms.tide.exchange import find_partner
from shoal.algorithms.tide.groups import can_spare, clear_group, enter, enter_all, leave, saving
from shoal.algorithms.tide.growth import grow, whole
from shoal.algorithms.tide.rises import cheapest_group
from shoal.algorithms.tide.shortlist import drop_columns
from shoal.algorithms.tide.vectors import least
from shoal.algorithms.tide.wave import FAR, has_kin_in
from shoal.compiled import ENTRIES, first_one, inlined, inner, up_to


@inner
def take_cheapest(domain, v, k):
    """The cheapest candidate becomes a group, or grows again if some of its members are in other groups."""
    p, f, work = v.tuples, v.growth, v.work
    candidate, size = _cheapest_candidate(f.price, work.seeds), 1
    if f.price[candidate] < np.inf:
        size = _free_members(v, k, candidate)
    else:
        candidate = 0
        while p.group[v.order[work.oldest]] >= 0:
            work.oldest += 1
        f.member[candidate, 0] = v.order[work.oldest]
    if size == k and f.price[candidate] < np.inf:
        clear_group(v, work.groups)
        enter_all(domain, v, f.member[candidate, :k], work.groups)
        for i in range(k):
            t = f.member[candidate, i]
            f.busy[f.column[t]] = FAR
            work.free -= not has_kin_in(p, t, -1)
        work.groups += 1
        work.taken += k
        f.price[candidate] = np.inf
        drop_columns(v)
    elif size == 0:
        f.price[candidate] = np.inf
    else:
        f.price[candidate] = grow(domain, v, k, candidate, size)


@inlined
def _cheapest_candidate(price, seeds):
    """The candidate with the lowest price, the first on a tie."""
    lowest, start = least(price, whole(seeds)), 0
    while True:
        found = up_to(price, start, lowest)
        if found != 0:
            return start + first_one(found)
        start += ENTRIES


@inlined
def _free_members(v, k, candidate):
    """Move the members that are in no group to the front, in their order; how many they are."""
    f, size = v.growth, 0
    for i in range(k):
        t = f.member[candidate, i]
        if v.tuples.group[t] < 0:
            f.member[candidate, size] = t
            size += 1
    return size


@inner
def settle(domain, v, t):
    """Put a tuple into the group whose cost it raises least, unless its cover costs less; what it costs."""
    group, cost = cheapest_group(domain, v, t, v.tuples.cover_cost[t])
    if group < 0 or v.tuples.cover_cost[t] < cost:
        return v.tuples.cover_cost[t]
    enter(domain, v, t, group)
    return cost


@inner
def improve(domain, v, t, k):
    """Take a tuple out of its group, for its cover or for another group, if that lowers the total cost; whether it did."""
    p = v.tuples
    group = p.group[t]
    if group < 0:
        return False
    gain = saving(domain, v, t)
    other, rise = cheapest_group(domain, v, t, gain)
    if can_spare(v, t, k):
        if min(rise, p.cover_cost[t]) >= gain:
            return False
        leave(domain, v, t)
        if rise <= p.cover_cost[t]:
            enter(domain, v, t, other)
        return True
    if rise >= gain:
        return False
    partner = find_partner(domain, v, t, other)
    if partner < 0:
        return False
    leave(domain, v, t)
    leave(domain, v, partner)
    enter(domain, v, t, other)
    enter(domain, v, partner, group)
    return True


@inner
def dissolve(domain, v, group):
    """Move the members of a group to where each costs least, if that lowers the total cost; whether it did.

    First the cost of moving each member alone is found. If the sum promises a gain, all are moved, one after the other in order
    of arrival. If that brings no gain, they are moved back.
    """
    p, b = v.tuples, v.boxes
    limit = b.cost[group]
    promised, members = 0.0, 0
    t = b.first[group]
    while t >= 0:
        most = min(p.cover_cost[t], limit - promised)
        promised += min(cheapest_group(domain, v, t, most)[1], p.cover_cost[t])
        if promised >= limit:
            return False
        v.moved[members] = t
        members += 1
        t = p.newer[t]
    _sort(v.moved[:members])
    clear_group(v, group)
    spent = 0.0
    for i in range(members):
        p.group[v.moved[i]] = -1
    for i in range(members):
        spent += settle(domain, v, v.moved[i])
        if spent >= limit:
            break
    if spent < limit:
        return True
    for i in range(members):
        t = v.moved[i]
        if p.group[t] >= 0:
            leave(domain, v, t)
    enter_all(domain, v, v.moved[:members], group)
    return False


@inlined
def _sort(numbers):
    for i in range(1, len(numbers)):
        number, j = numbers[i], i
        while j > 0 and numbers[j - 1] > number:
            numbers[j] = numbers[j - 1]
            j -= 1
        numbers[j] = number
