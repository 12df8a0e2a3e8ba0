"""Neighbours: the tuples with which a tuple leaves.

These are the nearest tuples: k persons in all, and the cells that are needed for diverse sensitive values. Under `extended`,
where all members of a group show the same nulls, they are chosen so that little is blanked. `blocks.state` explains the
arguments.
"""

from __future__ import annotations

import numpy as np

from shoal.blocks.cells import complete
from shoal.blocks.core import core
from shoal.blocks.distance import by_shared, by_values, rough_distances
from shoal.blocks.groups import EXTENDED, generalize, group_loss
from shoal.blocks.nearest import nearest
from shoal.blocks.window import in_order
from shoal.compiled import first_one, inlined, inner

ANY = -1


@inlined
def choose_neighbours(s, t, alpha, cluster):
    """Choose `t` and its neighbours in the window, or in this `cluster`, which must count k persons; how many are chosen,
    negative if they cannot be made diverse enough."""
    w, scratch = s.window, s.scratch
    if s.exits.promise.match == EXTENDED:
        choose_alike(core(s), t, alpha, cluster)
        return completed(s, t, s.exits.promise.k, alpha)
    rough_distances(s.domain, w, t, by_values(alpha), scratch)
    _only_cluster(w, cluster, scratch)
    return choose_nearest(s, t, alpha)


@inlined
def choose_nearest(s, t, alpha):
    """Choose `t` and its nearest among the slots with a finite distance, which must count k persons; how many are chosen,
    negative if they cannot be made diverse enough."""
    k, chosen = s.exits.promise.k, s.scratch.chosen
    chosen[0] = t
    nearest(s.domain, s.window, t, k - 1, by_values(alpha), s.scratch, chosen[1:k])
    return completed(s, t, k, alpha)


@inlined
def completed(s, t, size, alpha):
    """Add cells to the first `size` chosen ones until these are diverse enough; how many there are, `-size` if none help."""
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
