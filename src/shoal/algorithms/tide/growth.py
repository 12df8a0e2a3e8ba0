"""Growth: candidates for groups grow from seeds, and the cheapest one becomes a group.

A candidate takes one tuple at a time: the one with which it costs least, out of a shortlist of the 2k tuples that add least
to its box. It is complete when it counts k persons. `algorithms.tide.wave` explains the arguments.
"""

from __future__ import annotations

import numpy as np

from shoal.algorithms.tide.wave import MISSING, NOWHERE, units
from shoal.blocks import STRIDE, common_ancestor
from shoal.compiled import inlined, inner

_FAR = np.int32(2**23)  # above every sum of 64 losses


@inner
def grow(domain, v, k, candidate, size):
    """Let a candidate, whose first `size` members are given, grow to k persons, which must have free tuples; its price."""
    v.work.turn += 1
    turn, repeats = v.work.turn, v.work.persons < v.work.tuples
    quasi = len(domain.width)
    for q in range(quasi):
        v.box_low[q], v.box_high[q], v.box_weight[q], v.box_lacks[q] = NOWHERE, MISSING, 0.0, 0
    for i in range(size):
        _take(domain, v, v.member[candidate, i], turn)
    price, listed, left = 0.0, 0, 0
    for q in range(quasi):
        price += units(domain, v, q, v.box_low[q], v.box_high[q], v.box_lacks[q]) * v.box_weight[q]
    while size < k:
        if left == 0:
            listed = left = _shortlist(domain, v, k, turn, repeats)
        best = _cheapest(v, listed)
        t = v.shortlist[best]
        price = v.list_cost[best]
        v.shortlist[best] = -1
        left -= 1
        if repeats:
            for i in range(listed):
                if v.shortlist[i] >= 0 and v.person[v.shortlist[i]] == v.person[t]:
                    v.shortlist[i] = -1
                    left -= 1
        v.member[candidate, size] = t
        size += 1
        changed = _take(domain, v, t, turn)
        for q in range(quasi):
            if changed >> np.uint64(q) & np.uint64(1):
                _widen(domain, v, q, listed)
    for i in range(k):
        v.busy[v.member[candidate, i]] = 0
    return price


@inlined
def _take(domain, v, t, turn):
    """Add a tuple to the candidate's box; the pattern of the quasi-identifiers in which the box grew."""
    v.busy[t] = 1
    v.seen[v.person[t]] = turn
    changed = np.uint64(0)
    for q in range(len(domain.width)):
        place = v.place[q, t]
        if place == MISSING:
            if v.work.strict and v.box_lacks[q] == 0:
                v.box_lacks[q] = 1
                changed |= np.uint64(1) << np.uint64(q)
            continue
        v.box_weight[q] += v.weight[t]
        if place < v.box_low[q] or place > v.box_high[q]:
            v.box_low[q] = min(v.box_low[q], place)
            v.box_high[q] = max(v.box_high[q], place)
            changed |= np.uint64(1) << np.uint64(q)
    return changed


@inlined
def _shortlist(domain, v, k, turn, repeats):
    """List the 2k free tuples of new persons that add least to the box, the older on a tie; how many they are."""
    _measure(domain, v)
    width = (v.work.tuples + STRIDE - 1) // STRIDE * STRIDE
    key, busy = v.key[:width], v.busy[:width]
    for j in range(width):
        key[j] = _FAR if busy[j] != 0 else key[j]
    if repeats:
        for j in range(v.work.tuples):
            if v.seen[v.person[j]] == turn:
                key[j] = _FAR
    listed = _nearest(v, key, 2 * k)
    for q in range(len(domain.width)):
        for i in range(listed):
            t = v.shortlist[i]
            v.list_place[q, i] = v.place[q, t]
            v.list_weight[q, i] = v.weight[t] if v.place[q, t] != MISSING else 0.0
        _widen(domain, v, q, listed)
    return listed


@inlined
def _measure(domain, v):
    """key[j]: by how many units the box would grow with tuple j, over all quasi-identifiers."""
    width = (v.work.tuples + STRIDE - 1) // STRIDE * STRIDE
    key = v.key[:width]
    for j in range(width):
        key[j] = 0
    for q in range(len(domain.width)):
        low, high = v.box_low[q], v.box_high[q]
        if low > high or v.box_lacks[q] > 0:
            continue
        column = v.place[q, :width]
        if v.work.strict:
            whole = np.int32(v.scale[q] - units(domain, v, q, low, high, 0))
            for j in range(width):
                key[j] += whole if column[j] < 0 else np.int32(0)
        if domain.categorical[q]:
            node = common_ancestor(domain, q, low, high)
            while domain.parent[node] != node:
                first, last = np.int32(domain.first[node]), np.int32(domain.last[node])
                more = np.int32(v.unit[domain.parent[node]] - v.unit[node])
                for j in range(width):
                    outside = (column[j] < first) | (column[j] > last)
                    key[j] += more if outside & (column[j] >= 0) else np.int32(0)
                node = domain.parent[node]
        else:
            for j in range(width):
                beyond = max(np.int32(low - column[j]), np.int32(0)) + max(np.int32(column[j] - high), np.int32(0))
                key[j] += np.int32(beyond) if column[j] >= 0 else np.int32(0)


@inlined
def _nearest(v, key, most):
    """Write the indices of the `most` smallest keys into the shortlist, in order of arrival; how many they are."""
    low, high = np.int32(-1), np.int32(_FAR - 1)
    count = np.int32(0)
    for j in range(len(key)):
        count += np.int32(key[j] < _FAR)
    if count > most:
        while high - low > 1:
            middle = np.int32((low + high) >> 1)
            count = np.int32(0)
            for j in range(len(key)):
                count += np.int32(key[j] <= middle)
            if count >= most:
                high = middle
            else:
                low = middle
            if count == most:
                break
    below = np.int32(0)
    for j in range(len(key)):
        below += np.int32(key[j] < high)
    level = most - below
    listed = 0
    for j in range(v.work.tuples):
        if key[j] < high:
            v.shortlist[listed] = j
            listed += 1
        elif key[j] == high and level > 0:
            v.shortlist[listed] = j
            listed += 1
            level -= 1
    return listed


@inlined
def _widen(domain, v, q, listed):
    """list_loss[q, i] = the loss of the box with entry i of the shortlist; the box's own loss if the entry lacks q."""
    low, high = v.box_low[q], v.box_high[q]
    spot, widened = v.list_place[q, :listed], v.list_loss[q, :listed]
    if v.box_lacks[q] > 0:
        for i in range(listed):
            widened[i] = v.scale[q]
        return
    if domain.categorical[q]:
        if low > high:
            for i in range(listed):
                widened[i] = units(domain, v, q, spot[i], spot[i], 0) if spot[i] >= 0 else 0
            return
        node = common_ancestor(domain, q, low, high)
        for i in range(listed):
            widened[i] = v.unit[node]
        while domain.parent[node] != node:
            first, last = np.int32(domain.first[node]), np.int32(domain.last[node])
            more = np.float64(v.unit[domain.parent[node]] - v.unit[node])
            for i in range(listed):
                outside = (spot[i] < first) | (spot[i] > last)
                widened[i] += more if outside & (spot[i] >= 0) else 0.0
            node = domain.parent[node]
    elif low > high:
        for i in range(listed):
            widened[i] = 0.0
    else:
        for i in range(listed):
            with_it = max(high, spot[i]) - min(low, spot[i])
            widened[i] = np.float64(with_it if spot[i] >= 0 else np.int32(high - low))
    if v.work.strict:
        for i in range(listed):
            widened[i] = np.float64(v.scale[q]) if spot[i] < 0 else widened[i]


@inlined
def _cheapest(v, listed):
    """The entry of the shortlist with which the candidate costs least, the older on a tie; list_cost[i] is that cost."""
    total = v.list_cost[:listed]
    for i in range(listed):
        total[i] = 0.0
    for q in range(len(v.box_weight)):
        weight = v.box_weight[q]
        widened, brings = v.list_loss[q, :listed], v.list_weight[q, :listed]
        for i in range(listed):
            total[i] += widened[i] * (weight + brings[i])
    best, least = -1, np.inf
    for i in range(listed):
        if total[i] < least and v.shortlist[i] >= 0:
            best, least = i, total[i]
    return best


@inlined
def free_members(v, k, candidate):
    """Move the members that are in no group to the front, in their order; how many they are."""
    size = 0
    for i in range(k):
        t = v.member[candidate, i]
        if v.group[t] < 0:
            v.member[candidate, size] = t
            size += 1
    return size


@inlined
def cheapest_candidate(v):
    """The candidate with the lowest price, the first on a tie; -1 if none is left."""
    best, least = -1, np.inf
    for c in range(v.work.seeds):
        if v.price[c] < least:
            best, least = c, v.price[c]
    return best
