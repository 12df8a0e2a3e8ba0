"""The shortlist of the candidate that grows: the tuples in no group that add least to its box.

What each tuple would add is summed in 16 bits, one quasi-identifier at a time. The coarse places of the tuples in no group lie
side by side, one *column* per tuple, so that the processor's vectors are full. `algorithms.tide.wave` explains the arguments.
"""

from __future__ import annotations

import numpy as np

from shoal.algorithms.tide.wave import FAR, MISSING, is_mixed, units, with_one_more
from shoal.blocks import STRIDE, bit_of, common_ancestor
from shoal.compiled import ENTRIES, first_one, inlined, inner, popcount, up_to

_STALE = 6  # columns of tuples in groups are removed when they are this part of all
_NONE = np.uint16(0)


@inner
def fill_columns(domain, v):
    """One column for each tuple of the part, in order of arrival."""
    p, f, work = v.tuples, v.growth, v.work
    work.entries, work.taken = work.stop - work.start, 0
    for j in range(work.entries):
        t = v.order[work.start + j]
        for q in range(len(domain.width)):
            place = p.place[t, q]
            near = 0 if v.scale.wide[q] else place if domain.categorical[q] else place >> work.shift
            f.near[q, j] = FAR if place == MISSING else np.uint16(near)
        f.tuple_of[j], f.column[t] = t, j
    for j in range((work.entries + STRIDE - 1) // STRIDE * STRIDE):
        f.busy[j] = _NONE if j < work.entries else FAR


@inner
def drop_columns(v):
    """Remove the columns of the tuples that are in groups, once they are many."""
    f, work = v.growth, v.work
    if work.taken * _STALE < work.entries:
        return
    entries = work.entries
    for q in range(len(f.near)):
        near, left = f.near[q], 0
        for j in range(entries):
            near[left] = near[j]
            left += f.busy[j] == 0
    left = 0
    for j in range(entries):
        f.tuple_of[left] = f.tuple_of[j]
        f.column[f.tuple_of[j]] = left
        left += f.busy[j] == 0
    work.entries, work.taken = left, 0
    for j in range(entries):
        f.busy[j] = _NONE if j < left else FAR


@inlined
def hold(v, t, busy):
    """Mark the tuple, and all of its person that are in no group, as busy or not."""
    p, f = v.tuples, v.growth
    f.busy[f.column[t]] = busy
    u = p.kin[t]
    while u != t:
        if p.group[u] < 0:
            f.busy[f.column[u]] = busy
        u = p.kin[u]


@inlined
def shortlist(domain, v, most):
    """List the `most` free tuples of new persons that add least to the box, the older on a tie; how many they are."""
    f, width = v.growth, (v.work.entries + STRIDE - 1) // STRIDE * STRIDE
    _measure(domain, v, width)
    high = _level(f.key, width, most)
    below = 0
    if high > 0:
        for start in range(0, width, ENTRIES):
            below += popcount(up_to(f.key, start, np.uint16(high - 1)))
    listed, level = 0, most - below
    for start in range(0, width, ENTRIES):
        found = up_to(f.key, start, high)
        while found != 0:
            j = start + first_one(found)
            found &= found - np.uint64(1)
            if f.key[j] == high:
                if level == 0:
                    continue
                level -= 1
            f.listed[listed] = f.tuple_of[j]
            listed += 1
    return listed


@inlined
def _level(key, width, most):
    """The smallest number that at least `most` keys do not exceed; the largest below FAR if there are no more than that."""
    low, high = -1, np.int64(FAR) - 1
    while high - low > 1:
        middle = (low + high) >> 1
        count = 0
        for start in range(0, width, ENTRIES):
            count += popcount(up_to(key, start, np.uint16(middle)))
        if count >= most:
            high = middle
        else:
            low = middle
        if count == most:
            break
    return np.uint16(high)


@inlined
def _measure(domain, v, width):
    """key[j]: by how many coarse units the box would grow with the tuple of column j; FAR if the tuple is busy."""
    f, work = v.growth, v.work
    key, busy = f.key[:width], f.busy[:width]
    for j in range(width):
        key[j] = 0
    for q in range(len(domain.width)):
        low, high, column, doubt = f.low[q], f.high[q], f.near[q, :width], _NONE
        if work.blurred and not is_mixed(low, high, f.lacks[q]):
            doubt = np.uint16(v.scale.doubt_units[q] >> work.shift)
        if low > high and doubt > 0:
            _add_doubt(key, column, False, doubt)
        if low > high or (work.strict and f.lacks[q] > 0):
            continue
        if domain.categorical[q]:
            node = common_ancestor(domain, q, low, high)
            lost = units(domain, v, q, low, high, f.different[q], 0) >> work.shift
            beyond = False
            if domain.sets[q]:
                beyond = _add_new(domain, v, q, key, column, np.uint16(_coarse(v, node) - lost), doubt)
                doubt = _NONE
            elif doubt > 0 and (v.scale.wide[q] or domain.parent[node] == node):
                _add_doubt(key, column, True, doubt)
                doubt = _NONE
            while not beyond and domain.parent[node] != node:
                more = np.uint16(_coarse(v, domain.parent[node]) - _coarse(v, node))
                if v.scale.wide[q] and more > 0:
                    _add_far(v, q, key, domain.first[node], domain.last[node], more)
                elif more > 0 or doubt > 0:
                    _add_outside(key, column, domain.first[node], domain.last[node], more, doubt)
                    doubt = _NONE
                node = domain.parent[node]
        else:
            low, high = low >> work.shift, high >> work.shift
            lost = high - low
            _add_beyond(key, column, np.uint16(low), np.uint16(high), doubt)
        if work.strict:
            _add_doubt(key, column, True, np.uint16((v.scale.width[q] >> work.shift) - lost))
    for j in range(width):
        key[j] |= busy[j]


@inlined
def _add_new(domain, v, q, key, column, to_node, doubt):
    """Add to the keys of the tuples whose values a set does not have what it loses with one more, and `doubt` to those of the
    tuples without a value; whether that is all.

    If the set has as many values as it may, it becomes the node over them: `to_node` is added, and the climb goes on there.
    """
    f, shift = v.growth, v.work.shift
    own = units(domain, v, q, f.low[q], f.high[q], f.different[q], 0)
    with_more = with_one_more(domain, v, q, f.low[q], f.high[q], f.different[q])
    more = to_node if with_more < 0 else np.uint16((with_more >> shift) - (own >> shift))
    if v.scale.wide[q]:
        _add_doubt(key, column, True, doubt)
        _add_new_far(domain, v, q, key, more)
    elif more > 0:
        _add_outside_runs(domain, f.has, q, key, column, more, doubt)
    elif doubt > 0:
        _add_doubt(key, column, True, doubt)
    unknown = domain.leaves[q]
    if domain.admits[q] and with_more >= 0 and f.high[q] < unknown:
        root = domain.parent[domain.node[q] + unknown]
        whole = np.uint16(_coarse(v, root) - (with_more >> shift))
        if v.scale.wide[q]:
            _add_far(v, q, key, 0, unknown - 1, whole)
        else:
            for j in range(len(key)):
                key[j] += whole if column[j] == np.uint16(unknown) else _NONE
    return with_more >= 0


@inlined
def _add_new_far(domain, v, q, key, more):
    """Add units to the keys of the tuples whose leaves, which need more than 16 bits, a set does not have."""
    for j in range(v.work.entries):
        place = v.tuples.place[v.growth.tuple_of[j], q]
        if place != MISSING and v.growth.has[domain.word[q] + (place >> 6)] & bit_of(place) == 0:
            key[j] += more


@inlined
def _add_outside_runs(domain, has, q, key, column, more, doubt):
    """Add units to the keys of the tuples whose leaves a set does not have, and `doubt` to those without a leaf.

    The set, which is not empty, is read as runs of neighbouring leaves.
    """
    first, leaf, end = domain.word[q], 0, domain.leaves[q] + 1
    is_first = True
    while True:
        while leaf < end and has[first + (leaf >> 6)] & bit_of(leaf) == 0:
            leaf = leaf + 1 if has[first + (leaf >> 6)] >> np.uint64(leaf & 63) != 0 else (leaf | 63) + 1
        if leaf >= end:
            return
        start = leaf
        while leaf < end and has[first + (leaf >> 6)] & bit_of(leaf) != 0:
            leaf += 1
        if is_first:
            _add_outside(key, column, start, leaf - 1, more, doubt)
            is_first = False
        else:
            _take_inside(key, column, start, leaf - 1, more)


@inlined
def _take_inside(key, column, first, last, more):
    """Take units from the keys of the tuples inside a run of leaves; it does not hold the mark of a missing value."""
    first, span = np.uint16(first), np.uint16(last - first)
    for j in range(len(key)):
        key[j] -= more if np.uint16(column[j] - first) <= span else _NONE


@inlined
def _coarse(v, node):
    """The loss of a node in coarse units."""
    return v.scale.unit[node] >> v.work.shift


@inlined
def _add_doubt(key, column, all_have, units):
    """Add units to the keys of the tuples that lack what all members have, or have what all members lack."""
    if all_have:
        for j in range(len(key)):
            key[j] += units if column[j] == FAR else _NONE
    else:
        for j in range(len(key)):
            key[j] += units if column[j] != FAR else _NONE


@inlined
def _add_outside(key, column, first, last, more, doubt):
    """Add units to the keys of the tuples outside a node, and `doubt` to those of the tuples that lack a value."""
    first, span = np.uint16(first), np.uint16(last - first)
    for j in range(len(key)):
        beyond = more if np.uint16(column[j] - first) > span else _NONE
        key[j] += doubt if column[j] == FAR else beyond


@inlined
def _add_far(v, q, key, first, last, more):
    """The same for leaves that need more than 16 bits."""
    for j in range(v.work.entries):
        place = v.tuples.place[v.growth.tuple_of[j], q]
        key[j] += more if (place < first or place > last) and place != MISSING else _NONE


@inlined
def _add_beyond(key, column, low, high, doubt):
    """Add the distance to an interval, and `doubt` where a value is missing."""
    for j in range(len(key)):
        place = column[j]
        beyond = np.uint16(low - place) if place < low else np.uint16(place - high) if place > high else _NONE
        key[j] += doubt if place == FAR else beyond
