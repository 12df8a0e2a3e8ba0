"""Neighbours: the tuples with which a tuple leaves.

These are the nearest tuples: k persons in all, and as many more as are needed for diverse sensitive values. Under `extended`,
where all members of a group show the same nulls, they are chosen so that little is blanked. `blocks.state` explains the
arguments.
"""

from __future__ import annotations

import numpy as np

from shoal.blocks.core import core
from shoal.blocks.distance import by_shared, by_values, distance, rough_distances
from shoal.blocks.diversity import count_shown, helps, is_diverse, unmet
from shoal.blocks.groups import EXTENDED, generalize, group_loss
from shoal.blocks.nearest import count_persons, nearest
from shoal.blocks.window import in_order
from shoal.compiled import first_one, inlined, inner

ANY = -1


@inlined
def choose_neighbours(s, t, alpha, cluster):
    """Choose `t` and its neighbours in the window, or in this `cluster`, which must count k persons; how many are chosen, 0 if
    they can never be diverse enough."""
    w, scratch = s.window, s.scratch
    if s.exits.promise.match == EXTENDED:
        choose_alike(core(s), t, alpha, cluster)
        return completed(s, t, s.rule.k, alpha)
    rough_distances(s.domain, w, t, by_values(alpha), scratch)
    _only_cluster(w, cluster, scratch)
    return choose_nearest(s, t, alpha)


@inlined
def choose_nearest(s, t, alpha):
    """Choose `t` and its nearest among the slots with a finite distance, which must count k persons; how many are chosen, 0 if
    they can never be diverse enough."""
    k, chosen = s.rule.k, s.scratch.chosen
    chosen[0] = t
    nearest(s.domain, s.window, t, k - 1, by_values(alpha), s.scratch, chosen[1:k])
    return completed(s, t, k, alpha)


@inlined
def completed(s, t, size, alpha):
    """Add tuples to the first `size` chosen ones until these are diverse enough; how many are chosen then, 0 if none helps."""
    return size if len(s.exits.diversity.kind) == 0 else complete(core(s), t, size, alpha)


@inner
def choose_alike(s, t, alpha, cluster):
    """Choose `t` and k-1 more so that little is lost: drop one quasi-identifier after the other from what is shown, and take
    the best of the groups on the way."""
    w, g, k, scratch = s.window, s.groups, s.exits.promise.k, s.scratch
    kept = w.pattern[t]
    chosen, best = scratch.chosen[:k], scratch.best_alike[:k]
    least = np.inf
    while True:
        if _has_enough(w, t, kept, cluster, k - 1, scratch):
            metric = by_shared(alpha, kept)
            rough_distances(s.domain, w, t, metric, scratch)
            for j in range(w.clock.held):
                scratch.distance[j] = np.float32(np.inf) if kept & ~w.pattern[j] else scratch.distance[j]
            _only_cluster(w, cluster, scratch)
            chosen[0] = t
            nearest(s.domain, w, t, k - 1, metric, scratch, chosen[1:])
            in_order(w, chosen, scratch)
            loss = group_loss(s.domain, g, generalize(s, chosen), w, chosen)
            if loss < least:
                least = loss
                for i in range(k):
                    best[i] = chosen[i]
        dropped = _most_lacked(w, t, kept, cluster, scratch.lacking)
        if dropped == 0:
            break
        kept &= ~dropped
    for i in range(k):
        chosen[i] = best[i]


@inlined
def _only_cluster(w, cluster, scratch):
    """Exclude all tuples of other clusters from `nearest`."""
    if cluster != ANY:
        for j in range(w.clock.held):
            if w.cluster[j] != cluster:
                scratch.distance[j] = np.inf


@inlined
def _counts_by_pattern(w, cluster):
    """Whether tuples can be counted by pattern: all belong to different persons, and `cluster` is ANY."""
    return cluster == ANY and w.persons.size[0] == w.clock.held


@inlined
def _has_enough(w, t, kept, cluster, least, scratch):
    """Whether at least `least` persons, besides the person of `t`, have all quasi-identifiers in `kept`."""
    persons = 0
    if _counts_by_pattern(w, cluster):
        for p in range(w.partitions.peak[0]):
            persons += 0 if kept & ~w.partitions.key[p, 0] else w.partitions.tuples[p]
        return persons > least
    scratch.turn[0] += 1
    scratch.seen[w.person[t]] = scratch.turn[0]
    for j in range(w.clock.held):
        person = w.person[j]
        if not kept & ~w.pattern[j] and (cluster == ANY or w.cluster[j] == cluster) and scratch.seen[person] != scratch.turn[0]:
            scratch.seen[person] = scratch.turn[0]
            persons += 1
    return persons >= least


@inlined
def _most_lacked(w, t, kept, cluster, lacking):
    """The bit of the quasi-identifier to drop from `kept`; 0 if no tuple lacks any.

    It is the one that the most tuples lack as their only one; if all tuples lack several, the one that the most tuples lack.
    """
    quasi = len(w.code)
    for alone in (True, False):
        for q in range(quasi):
            lacking[q] = 0
        if _counts_by_pattern(w, cluster):
            for p in range(w.partitions.peak[0]):
                _note_lacking(kept & ~w.partitions.key[p, 0], w.partitions.tuples[p], alone, lacking)
        else:
            for j in range(w.clock.held):
                if w.person[j] != w.person[t] and (cluster == ANY or w.cluster[j] == cluster):
                    _note_lacking(kept & ~w.pattern[j], 1, alone, lacking)
        best, most = np.uint64(0), 0
        for q in range(quasi):
            if lacking[q] > most:
                best, most = np.uint64(1) << np.uint64(q), lacking[q]
        if most > 0:
            return best
    return np.uint64(0)


@inlined
def _note_lacking(lacks, tuples, alone, lacking):
    if alone and lacks & (lacks - np.uint64(1)):
        return
    while lacks:
        lacking[first_one(lacks)] += tuples
        lacks &= lacks - np.uint64(1)


@inner
def complete(s, t, size, alpha):
    """Add the nearest tuples that help until all demands hold; how many are chosen then, 0 if no tuple helps."""
    w, d, scratch = s.window, s.exits.diversity, s.scratch
    chosen = scratch.chosen
    if is_diverse(d, w, chosen[:size], scratch):
        return size
    measure_from(s, t, chosen[:size], alpha)
    count_persons(w, chosen[:size], scratch)
    turn = scratch.turn[0]  # marks the persons of the chosen
    while True:
        demand = unmet(d, scratch)
        if demand < 0:
            return size
        nearest_one = nearest_helper(s, demand, turn)
        if nearest_one < 0:
            return 0
        chosen[size] = nearest_one
        size += 1
        scratch.seen[w.person[nearest_one]] = turn
        count_shown(w, nearest_one, scratch)


@inlined
def measure_from(s, t, slots, alpha):
    """scratch.exact[j] = the distance of `t` from every slot j, given that the tuples in `slots` are in its group."""
    w = s.window
    shown = ~np.uint64(0)
    for slot in slots:
        shown &= w.pattern[slot]
    metric = by_shared(alpha, shown) if s.exits.promise.match == EXTENDED else by_values(alpha)
    for j in range(w.clock.held):
        s.scratch.exact[j] = distance(s.domain, w, t, j, metric)


@inlined
def nearest_helper(s, demand, turn):
    """The slot of the nearest tuple whose value helps and whose person this turn has not seen; the older on a tie; -1: none."""
    w, d, scratch = s.window, s.exits.diversity, s.scratch
    best, useless = -1, 0
    for j in range(w.clock.held):
        value = w.sensitive[j, d.attribute[demand]]
        if value == 0 or scratch.seen[w.person[j]] == turn:
            continue
        if best >= 0 and not _is_nearer(w, scratch, j, best):
            continue
        known = False
        for i in range(useless):
            known |= scratch.useless[i] == value
        if known:
            continue
        if helps(d, demand, value, scratch):
            best = j
        elif useless < len(scratch.useless):
            scratch.useless[useless] = value
            useless += 1
    return best


@inlined
def _is_nearer(w, scratch, i, j):
    exact = scratch.exact
    return exact[i] < exact[j] or (exact[i] == exact[j] and w.arrival[i] < w.arrival[j])
