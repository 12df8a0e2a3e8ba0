"""How the groups of a wave complete each other, so that their sensitive values are diverse enough.

The groups were formed before any sensitive value was read, so they are cells (`blocks.cells`). The arrays that are used here by
group, or to link its tuples, are work arrays of `Scratch` for other things. `blocks.state` explains the arguments.
"""

from __future__ import annotations

import numpy as np

from shoal.blocks import count_shown, distance, help_together, is_diverse, metric_of, unmet
from shoal.compiled import inlined, inner

_PARTS = 4  # a group that is made of so many groups of the wave is no cell


@inner
def complete_wave(s, groups):
    """Join each group that is not diverse enough with others; the group of a tuple is in `w.cluster`."""
    w, d, scratch = s.window, s.exits.diversity, s.scratch
    parts, seen, head, following = scratch.likeness, scratch.rank, scratch.first, scratch.cell
    for group in range(groups):
        parts[group], seen[group], head[group] = 1, 0, -1
    for j in range(w.clock.held):
        if w.cluster[j] >= 0:
            following[j] = head[w.cluster[j]]
            head[w.cluster[j]] = j
    t = w.clock.oldest
    while t >= 0:
        group = w.cluster[t]
        if group >= 0 and seen[group] == 0:
            seen[group] = 1
            size = _collect(head[group], following, scratch.chosen)
            if not is_diverse(d, w, scratch.chosen[:size], scratch):
                _join_others(s, t, group, groups, size)
        t = w.newer[t]


@inlined
def _join_others(s, t, group, groups, size):
    """Join a group, whose oldest tuple is `t` and whose values are counted, with the nearest that help; none if it fails."""
    w, d, scratch = s.window, s.exits.diversity, s.scratch
    parts, head, following, joined, members = scratch.likeness, scratch.first, scratch.cell, scratch.key, scratch.undecided
    _measure_groups(s, t, group, groups, metric_of(s, scratch.chosen[:size], 1.0))
    near, at = scratch.away, scratch.best
    count = 0
    while True:
        demand = unmet(d, scratch)
        if demand < 0:
            break
        best = -1
        for other in range(groups):
            if near[other] == np.inf or (best >= 0 and not _is_nearer(w, near, at, other, best)):
                continue
            others = _collect(head[other], following, members)
            if help_together(d, demand, w, members[:others], scratch):
                best = other
        if best < 0:
            return
        near[best] = np.inf
        joined[count] = best
        count += 1
        slot = head[best]
        while slot >= 0:
            count_shown(w, slot, scratch)
            slot = following[slot]
    for i in range(count):
        other = joined[i]
        parts[group] += parts[other]
        slot, last = head[other], -1
        while slot >= 0:
            w.cluster[slot] = group
            slot, last = following[slot], slot
        following[last] = head[group]
        head[group], head[other] = head[other], -1


@inlined
def _measure_groups(s, t, group, groups, metric):
    """scratch.away[g] = how far the nearest tuple of group g is from `t`, infinite if g is no cell; its slot is in best[g]."""
    w, scratch = s.window, s.scratch
    near, at = scratch.away, scratch.best
    for other in range(groups):
        near[other] = np.inf
    for j in range(w.clock.held):
        other = w.cluster[j]
        if other < 0 or other == group or scratch.likeness[other] >= _PARTS:
            continue
        far = distance(s.domain, w, t, j, metric)
        if near[other] == np.inf or far < near[other] or (far == near[other] and w.arrival[j] < w.arrival[at[other]]):
            near[other], at[other] = far, j


@inlined
def _is_nearer(w, near, at, g, h):
    return near[g] < near[h] or (near[g] == near[h] and w.arrival[at[g]] < w.arrival[at[h]])


@inlined
def _collect(slot, following, out):
    """Write the slots of a linked list into `out`; how many there are."""
    size = 0
    while slot >= 0:
        out[size] = slot
        slot = following[slot]
        size += 1
    return size
