"""IDEA: partitions by missing pattern, and all equally close ones join at once.

As K-VARP, the oldest tuple leaves with its k-1 nearest neighbours in its own partition if that holds k persons. If
not, all partitions at the smallest attribute distance (1 - Jaccard) join in one step, and again, until k persons are
there, and the neighbours are the nearest of the whole union. In both cases a published group that covers the tuple
with less loss serves instead. The reuse set is bounded by number and admits only groups of little loss.

Parameters
----------
reuse_limit (beta; 200)
    The most generalizations kept for reuse; beyond that, the oldest is dropped.
reuse_loss (tau; 0.5)
    Only a group with a smaller loss is kept for reuse.
reuse_age (unbounded)
    From this age on, a published generalization is no longer reused; 0 disables reuse.

Examples
--------
>>> from shoal import Anonymizer, Policy
>>> policy = Policy.parse('''
... person: pid
... attributes: {age: {quasi: numeric, range: [0, 100]}, pulse: {quasi: numeric, range: [40, 200]}}
... privacy: {k: 2, nulls_match: maybe}
... window: {buffer: 4}
... algorithm: {name: idea}
... ''')
>>> anonymizer = Anonymizer(policy)
>>> stream = [{"age": 30, "pulse": 70}, {"age": 34}, {"age": 80, "pulse": 150}, {"age": 31}]
>>> for pid, values in enumerate(stream):
...     for published in anonymizer.push({"pid": pid, **values}):
...         print(published)
{'age': [30, 80], 'pulse': [70, 150]}
{'age': [30, 80], 'pulse': [70, 150]}

The neighbour came from the tuple's own partition, although a tuple with only an age was closer.

Decisions
---------
- |p| >= k and the sum over all partitions count persons: Definition 1 says distinct values of pid.
- Algorithm 1, line 10 misprints >= 0, which never ends; the loop runs while tuples are held.
- The window of Algorithm 1 is `buffer`. It bounds memory but not waiting: a published group frees k places, so the
  oldest can wait up to n*k arrivals, against the paper's claim of n-1 (section 3.1). `count` and `time` keep a
  deadline.
- Algorithm 3, line 3 and Algorithm 5, line 7 compare `infoLoss`: read as the loss for t, and the cover must be
  strictly better.
- Algorithm 5, line 3 "partitions similar to p": all partitions at the smallest attribute distance to Q_t, in one
  step. The distance is measured to Q_t also when the union has grown.
- Algorithm 5, line 6 chooses among the whole union, t's own partition included; the prose of section 3.2 fills the
  cluster partition by partition. We follow the algorithm.
- Algorithm 4, line 1: infoLoss is the mean of loss(t, G(C)) over the cluster's tuples, and must be below tau.
- Tuples left over (Algorithm 5, line 13) need not be moved back: a union only marks partitions.
- Example 3 drops the "-1" of equation 3; we follow the equation.

Guarantee
---------
Each group counts at least k persons at the moment it leaves, and a tuple that reuses it later lies inside it. A
missing value stays missing. Under `count` and `time` no tuple waits longer than the window; under `buffer` no wait is
promised.

References
----------
L. Yang, X. Chen, Y. Luo, X. Lan, W. Wang: IDEA: A utility-enhanced approach to incomplete data stream anonymization.
Tsinghua Science and Technology 27 (2022), 127-140.
"""

from __future__ import annotations

import numpy as np

from shoal.blocks import (
    ANY,
    CLUSTER,
    EXTENDED,
    REUSE,
    SUPPRESSED,
    best_cover,
    by_values,
    choose_nearest,
    choose_neighbours,
    generalize,
    is_apart,
    jaccard,
    loss,
    merge,
    next_due,
    only_union,
    persons_within,
    release_chosen,
    rough_distances,
)
from shoal.compiled import inlined, kernel


# `blocks.state` explains the arguments of all kernels below.
@kernel
def run(s, batch, closing):
    """Algorithm 1, IDEA."""
    while next_due(s, batch, closing):
        publish(s)


@inlined
def publish(s):
    """Algorithm 2, publishTuple; the cover is looked up first, since every branch may need it."""
    domain, w, g, scratch, k = s.domain, s.window, s.groups, s.scratch, s.rule.k
    t = w.clock.due
    chosen = scratch.chosen
    chosen[0] = t
    size = 1
    row = best_cover(s, t)  # Alg. 2, line 7; Alg. 3, line 1; Alg. 5, line 1
    how = REUSE if row >= 0 else SUPPRESSED
    members = 0
    if w.persons.size[0] >= k:  # Alg. 2, lines 2 and 4
        persons = persons_within(w, scratch, w.partition[t])
        if persons >= k or s.exits.promise.match != EXTENDED:
            _widen(w, t, k, persons, scratch)
            rough_distances(domain, w, t, by_values(1.0), scratch)
            only_union(w, scratch)
            members = choose_nearest(s, t, 1.0)  # Alg. 3, line 2; Alg. 5, line 6
        else:
            members = choose_neighbours(s, t, 1.0, ANY)
    failed, members = members < 0, abs(members)
    if members > 0 and not (failed and row >= 0):
        new = generalize(s, chosen[:members])
        if row < 0 or not loss(domain, g, row, w.pattern[t]) < loss(domain, g, new, w.pattern[t]):  # Alg. 3, line 3; 5, line 7
            how, row, size = CLUSTER, new, members
    release_chosen(s, size, row, how, True, failed)  # Alg. 2, lines 8-13; Alg. 3, lines 4-9; Alg. 4; Alg. 5, lines 8-14


@inlined
def _widen(w, t, k, persons, scratch):
    """Alg. 5, lines 2-5: all partitions at the smallest attribute distance join at once, until k persons are there."""
    if persons >= k:
        return
    pattern, key, apart = w.pattern[t], w.partitions.key, 0
    similarity, others = scratch.similarity, scratch.first  # of the partitions outside the union, and which they are
    for p in range(w.partitions.peak[0]):
        if is_apart(w, scratch, p):
            similarity[apart], others[apart] = jaccard(pattern, key[p, 0]), p
            apart += 1
    order = similarity.view(np.int64)  # the bits of these numbers have the same order
    while persons < k:
        closest, left = np.int64(-1), 0
        for i in range(apart):
            closest = max(closest, order[i])
        for i in range(apart):
            p = others[i]
            order[left], others[left] = order[i], p
            if order[i] == closest:
                persons += merge(w, scratch, p)
            else:
                left += 1
        apart = left
