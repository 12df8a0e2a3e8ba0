"""K-VARP: partitions by missing pattern, merged by likeness when one is too small.

Tuples that have the same quasi-identifiers make up a partition. The oldest tuple leaves with its k-1 nearest
neighbours in its own partition if that holds k persons. If not, the partitions most similar in what they have
(Jaccard) and, among these, with the most tuples near t (R-likeness) are merged into it until k persons are there.
Nothing is imputed, and any published group that covers a later tuple may be reused, whatever its own set of
quasi-identifiers.

Parameters
----------
radius (R; 0.2)
    The distance within which a tuple of another partition counts as alike.
reuse_age (omega; the window's length)
    From this age on, a published generalization is no longer reused; 0 disables reuse.
reuse_limit (1,000), reuse_loss (unbounded)
    The most generalizations kept for reuse, and the loss below which a new group is kept.

Examples
--------
>>> from shoal import Anonymizer, Policy
>>> policy = Policy.parse('''
... person: pid
... attributes: {age: {quasi: numeric, range: [0, 100]}, pulse: {quasi: numeric, range: [40, 200]}}
... privacy: {k: 2, nulls_match: maybe}
... window: {count: 3}
... algorithm: {name: kvarp}
... ''')
>>> anonymizer = Anonymizer(policy)
>>> stream = [{"age": 30, "pulse": 70}, {"age": 34}, {"pulse": 90}, {"age": 32}]
>>> for pid, values in enumerate(stream):
...     for published in anonymizer.push({"pid": pid, **values}):
...         print(published)
{'age': [30, 34], 'pulse': [70, 70]}
{'age': [30, 34], 'pulse': None}

The first tuple was alone in its partition, so the partition of the tuples with only an age was merged. What was
missing stays missing.

Decisions
---------
- Every |P| >= K of the pseudo-code counts persons: the definitions say distinct identities.
- Algorithm 2 lacks an `else`: as printed, an in-partition tuple would be merged too. The three branches exclude each
  other.
- Algorithm 3, line 4: a cover serves if loss(t, cover) <= loss(t, G(C)); a tie goes to the cover. Line 2 says the
  cover is "defined by P'"; reuse is flexible everywhere (section 4.2), so any covering entry may serve.
- Algorithm 4, line 1 "Find K-1 cluster": the best cover. It is taken at once, without a comparison.
- Algorithm 4, line 7 misprints >=; the loop runs while persons(P') < k.
- Algorithm 4, line 8 "most similar": the highest Jaccard to Q_t, then the highest R-likeness to t, then more tuples,
  then the older first tuple. A partition is merged whole. After merges, Jaccard is still measured to Q_t, and
  R-likeness to t.
- R-likeness counts all tuples of a partition within R, also those of t's own person.
- The "first tuple" of a partition is the oldest one that is still held.
- Algorithm 4 forgets to keep the merged cluster for reuse; section 4.2 says that it is kept, and it is.
- Tuples left over after a merge need not be moved back: a union only marks partitions, so line 14 has nothing to do.
- The worked example (section 4) drops the "-1" of equation 5; we follow the equation.
- Two tuples that share nothing are at distance 1; the paper leaves it open.

Guarantee
---------
Each group counts at least k persons at the moment it leaves, and a tuple that reuses it later lies inside it. Under
`count` and `time` no tuple waits longer than the window. A missing value stays missing.

References
----------
A. Otgonbayar, Z. Pervez, K. Dahal, S. Eager: K-VARP: K-anonymity for varied data streams via partitioning.
Information Sciences 467 (2018), 238-255.
"""

from __future__ import annotations

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
    loss,
    measure_likeness,
    measure_partitions,
    merge_similar,
    next_due,
    only_union,
    persons_within,
    release_chosen,
    rough_distances,
)
from shoal.compiled import inlined, kernel

PARAMETERS = ("radius",)


# `blocks.state` explains the arguments of all kernels below.
@kernel
def run(s, batch, closing):
    """Algorithm 1, K-VARP."""
    while next_due(s, batch, closing):
        publish(s)


@inlined
def publish(s):
    """Algorithm 2, TriggerPublish; the cover is looked up first, since every branch needs it."""
    domain, w, g, scratch, k = s.domain, s.window, s.groups, s.scratch, s.rule.k
    t = w.clock.due
    chosen = scratch.chosen
    chosen[0] = t
    size = 1
    row = best_cover(s, t)  # Alg. 3, line 2; Alg. 4, line 1; Alg. 5, line 1
    how = REUSE if row >= 0 else SUPPRESSED
    persons = persons_within(w, scratch, w.partition[t])
    in_partition = persons >= k  # Alg. 2, line 3
    members = 0
    if in_partition or (row < 0 and w.persons.size[0] >= k):  # else Alg. 4, lines 2-6, or Alg. 5
        if in_partition or s.exits.promise.match != EXTENDED:
            rough_distances(domain, w, t, by_values(1.0), scratch)
            if not in_partition:
                measure_partitions(w, t, scratch)
                measure_likeness(domain, w, t, s.rule.radius, scratch)
                merge_similar(w, k, persons, scratch)  # Alg. 4, lines 7-10
            only_union(w, scratch)
            members = choose_nearest(s, t, 1.0)  # Alg. 3, line 1; Alg. 4, line 11
        else:
            members = choose_neighbours(s, t, 1.0, ANY)
    failed, members = members < 0, abs(members)
    if members > 0 and not (failed and row >= 0):
        new = generalize(s, chosen[:members])
        if row < 0 or not loss(domain, g, row, w.pattern[t]) <= loss(domain, g, new, w.pattern[t]):  # Alg. 3, line 4
            how, row, size = CLUSTER, new, members
    # Alg. 3, lines 5-6 and 10-11; Alg. 4, lines 3-4 and 12-13; Alg. 5, lines 2-7
    release_chosen(s, size, row, how, True, failed)
