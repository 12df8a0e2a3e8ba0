"""IoT Anonymization: K-VARP's predecessor, which imputes what is missing in merged groups.

As K-VARP, the oldest tuple leaves with its nearest neighbours in its own partition, or in several that are merged.
But a merged group is imputed: every member shows every quasi-identifier that any member has. So a value is invented
for tuples that had none; the pair (of, had) beside it says how many members the group has and how many had a value.
It is here so that the papers' comparisons can be repeated. Prefer K-VARP or IDEA for data that someone will use. Nothing is
imputed unless nulls match any value (`maybe`).

Parameters
----------
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
... algorithm: {name: iot}
... ''')
>>> anonymizer = Anonymizer(policy)
>>> stream = [{"age": 30, "pulse": 70}, {"age": 34}, {"pulse": 90}, {"age": 32}]
>>> for pid, values in enumerate(stream):
...     for published in anonymizer.push({"pid": pid, **values}):
...         print(published)
{'age': {'value': [30, 34], 'of': 2, 'had': 2}, 'pulse': {'value': [70, 70], 'of': 2, 'had': 1}}
{'age': {'value': [30, 34], 'of': 2, 'had': 2}, 'pulse': {'value': [70, 70], 'of': 2, 'had': 1}}

The second tuple never had a pulse.

Decisions
---------
- It is reconstructed from what the K-VARP paper says about it (sections 1, 4.1 and 4.2, Table 4); where that says
  nothing, it follows K-VARP.
- Merge order: the highest Jaccard to Q_t, then more tuples, then the older first tuple. The paper draws at random
  among the most similar; a fixed choice keeps runs reproducible.
- The "first tuple" of a partition is the oldest one that is still held.
- Table 4 prints the pair only where a value is missing. Here every value of a merged group has it, also where all
  members had a value, so that the form does not depend on the data; values of an in-partition group never have it.
- Only groups formed inside one partition are reused, and only by tuples with exactly that set of quasi-identifiers.
- A cover serves if loss(t, cover) <= loss(t, G(C)); in a merge it is taken at once. Both as K-VARP.
- An imputed value has loss 1, and the loss of a tuple is the mean over all that its group shows.
- A suppressed tuple shows the roots without a pair.

Guarantee
---------
Each group counts at least k persons at the moment it leaves, and a tuple that reuses it later lies inside it. Under
`count` and `time` no tuple waits longer than the window. Under `maybe` it does not keep the promise that a missing
value stays missing.

References
----------
A. Otgonbayar, Z. Pervez, K. Dahal: Toward anonymizing IoT data streams via partitioning. IEEE 13th International
Conference on Mobile Ad Hoc and Sensor Systems (2016), 331-336.

A. Otgonbayar, Z. Pervez, K. Dahal, S. Eager: K-VARP: K-anonymity for varied data streams via partitioning.
Information Sciences 467 (2018), 238-255.
"""

from __future__ import annotations

from shoal.blocks import (
    ANY,
    CLUSTER,
    EXTENDED,
    MAYBE,
    REUSE,
    SUPPRESSED,
    best_cover,
    by_values,
    choose_nearest,
    choose_neighbours,
    generalize,
    impute,
    loss,
    measure_partitions,
    merge_similar,
    next_due,
    only_union,
    persons_within,
    release_chosen,
    rough_distances,
)
from shoal.compiled import inlined, kernel

SAME_PATTERN = True  # see Decisions


# `blocks.state` explains the arguments of all kernels below.
@kernel
def run(s, batch, closing):
    while next_due(s, batch, closing):
        publish(s)


@inlined
def publish(s):
    """As K-VARP, with another merge order, imputed merged groups, and reuse only within one set."""
    domain, w, g, scratch, k, match = s.domain, s.window, s.groups, s.scratch, s.rule.k, s.exits.promise.match
    t = w.clock.due
    chosen = scratch.chosen
    chosen[0] = t
    size = 1
    row = best_cover(s, t)
    how = REUSE if row >= 0 else SUPPRESSED
    persons = persons_within(w, scratch, w.partition[t])
    in_partition = persons >= k
    members = 0
    if in_partition or (row < 0 and w.persons.size[0] >= k):
        if in_partition or match != EXTENDED:
            if not in_partition:
                measure_partitions(w, t, scratch)
                merge_similar(w, k, persons, scratch)
            rough_distances(domain, w, t, by_values(1.0), scratch)
            only_union(w, scratch)
            members = choose_nearest(s, t, 1.0)
        else:
            members = choose_neighbours(s, t, 1.0, ANY)
    failed, members = members < 0, abs(members)
    if members > 0 and not (failed and row >= 0):
        new = generalize(s, chosen[:members])
        if not in_partition and match == MAYBE:
            impute(w, chosen[:members], g, new)
        if row < 0 or not loss(domain, g, row, w.pattern[t]) <= loss(domain, g, new, w.pattern[t]):
            how, row, size = CLUSTER, new, members
    release_chosen(s, size, row, how, in_partition, failed)
