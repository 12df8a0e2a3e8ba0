"""Partitions: the tuples of the window that have the same set of quasi-identifiers, and unions of partitions.

`blocks.state` explains the arguments.
"""

from __future__ import annotations

import numpy as np

from shoal.blocks.distance import by_values, distance, jaccard, rough_error
from shoal.compiled import inlined


@inlined
def persons_within(w, scratch, partition):
    """persons(P) of one partition, which becomes the first of a new union."""
    scratch.turn[0] += 1
    scratch.union[0] += 1
    return merge(w, scratch, partition)


@inlined
def merge(w, scratch, partition):
    """Add a partition to the union; how many new persons it brings."""
    scratch.joined[partition] = scratch.union[0]
    if w.persons.size[0] == w.clock.held:
        return w.partitions.tuples[partition]
    persons = 0
    for j in range(w.clock.held):
        person = w.person[j]
        if w.partition[j] == partition and scratch.seen[person] != scratch.turn[0]:
            scratch.seen[person] = scratch.turn[0]
            persons += 1
    return persons


@inlined
def is_apart(w, scratch, partition):
    """Whether this is a partition that holds tuples and is not in the union."""
    return w.partitions.tuples[partition] > 0 and scratch.joined[partition] != scratch.union[0]


@inlined
def only_union(w, scratch):
    """Exclude all tuples outside the union from `nearest`."""
    for j in range(w.clock.held):
        if scratch.joined[w.partition[j]] != scratch.union[0]:
            scratch.distance[j] = np.inf


@inlined
def measure_similarity(w, t, scratch):
    """For every partition: its Jaccard similarity to `t`."""
    for p in range(w.partitions.peak[0]):
        scratch.similarity[p] = jaccard(w.pattern[t], w.partitions.key[p, 0])


@inlined
def measure_partitions(w, t, scratch):
    """For every partition: its Jaccard similarity to `t` and its first arrival; no likeness yet."""
    measure_similarity(w, t, scratch)
    for p in range(w.partitions.peak[0]):
        scratch.likeness[p] = 0
        scratch.first[p] = np.iinfo(np.int64).max
    for j in range(w.clock.held):
        p = w.partition[j]
        scratch.first[p] = min(scratch.first[p], w.arrival[j])


@inlined
def measure_likeness(domain, w, t, radius, scratch):
    """For every partition: its R-likeness, the number of its tuples within `radius` of `t`."""
    unsure, metric = rough_error(domain), by_values(1.0)
    for j in range(w.clock.held):
        rough = scratch.distance[j]
        if rough <= radius - unsure or (rough <= radius + unsure and distance(domain, w, t, j, metric) <= radius):
            scratch.likeness[w.partition[j]] += 1


@inlined
def merge_similar(w, k, persons, scratch):
    """Merge the most similar partition, whole, until the union holds k persons."""
    while persons < k:
        best = -1
        for p in range(w.partitions.peak[0]):
            if is_apart(w, scratch, p) and (best < 0 or _is_more_similar(w, scratch, p, best)):
                best = p
        persons += merge(w, scratch, best)


@inlined
def _is_more_similar(w, scratch, p, q):
    """Higher Jaccard, then higher R-likeness, then more tuples, then the older first tuple."""
    if scratch.similarity[p] != scratch.similarity[q]:
        return scratch.similarity[p] > scratch.similarity[q]
    if scratch.likeness[p] != scratch.likeness[q]:
        return scratch.likeness[p] > scratch.likeness[q]
    if w.partitions.tuples[p] != w.partitions.tuples[q]:
        return w.partitions.tuples[p] > w.partitions.tuples[q]
    return scratch.first[p] < scratch.first[q]
