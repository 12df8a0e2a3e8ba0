"""FADS: the oldest tuple leaves with its k-1 nearest neighbours.

When the oldest tuple is due, its k-1 nearest neighbours of other persons are looked for in the whole window, and the
k tuples leave together as one group. If a group that was published before covers the tuple with less loss, the tuple
alone leaves with that group's generalization, and the neighbours stay for later. FADS is the simplest of the family
and what most of the others are measured against.

Parameters
----------
reuse_age (T_kc; the window's length)
    From this age on, a published generalization is no longer reused; 0 disables reuse.
reuse_limit (1,000), reuse_loss (unbounded)
    The most generalizations kept for reuse, and the loss below which a new group is kept.

Examples
--------
>>> from shoal import Anonymizer, Policy
>>> policy = Policy.parse('''
... person: pid
... attributes: {age: {quasi: numeric, range: [0, 100]}}
... privacy: {k: 2}
... window: {count: 3}
... algorithm: {name: fads}
... ''')
>>> anonymizer = Anonymizer(policy)
>>> for pid, age in enumerate([30, 60, 34, 61, 31, 90]):
...     for published in anonymizer.push({"pid": pid, "age": age}):
...         print(published)
{'age': [30, 34]}
{'age': [30, 34]}
{'age': [60, 61]}
{'age': [60, 61]}

At the end of the stream 31 leaves with the first group's generalization. For 90 there is neither a group nor a cover.

>>> anonymizer.to_records(anonymizer.flush())
[{'age': [30, 34]}, {'age': [0, 100]}]

Decisions
---------
- FADS knows no missing values. Here they are marginalised: a distance is a mean over the quasi-identifiers that both
  tuples have, and 1 if they share none. A tuple shows the group's generalization where it has a value, and null where
  it has none.
- k counts persons, not tuples: of the tuples of one person only the closest can be chosen, and none of t's own
  person.
- A cover serves only if it is strictly better for t itself: loss(t, cover) < loss(t, G(C)). On a tie the group
  leaves, since it frees k places.
- With fewer than k persons in the window: the best cover; if there is none, t is suppressed.
- Of equally distant tuples the older is chosen, of equally good covers the older group.
- The window may be `count`, `time` or `buffer`; the paper's own is a number of tuples.
- A weight of delay against loss (alpha in the comparisons of K-VARP and FAST) is not used.

Guarantee
---------
Each group counts at least k persons at the moment it leaves, and a tuple that reuses it later lies inside it. Under
`count` and `time` no tuple waits longer than the window.

References
----------
K. Guo, Q. Zhang: Fast clustering-based anonymization approaches with time constraints for data streams.
Knowledge-Based Systems 46 (2013), 95-108.
"""

from __future__ import annotations

from shoal.blocks import (
    ANY,
    CLUSTER,
    REUSE,
    SUPPRESSED,
    best_cover,
    choose_neighbours,
    generalize,
    loss,
    next_due,
    release_chosen,
)
from shoal.compiled import inlined, kernel


# `blocks.state` explains the arguments of all kernels below.
@kernel
def run(s, batch, closing):
    """FADS."""
    while next_due(s, batch, closing):
        publish(s)


@inlined
def publish(s):
    domain, w, g, chosen = s.domain, s.window, s.groups, s.scratch.chosen
    t = w.clock.due
    chosen[0] = t
    size = 1
    row = best_cover(s, t)
    how = REUSE if row >= 0 else SUPPRESSED
    members = choose_neighbours(s, t, 1.0, ANY) if w.persons.size[0] >= s.rule.k else 0
    failed, members = members < 0, abs(members)
    if members > 0 and not (failed and row >= 0):
        new = generalize(s, chosen[:members])
        if row < 0 or not loss(domain, g, row, w.pattern[t]) < loss(domain, g, new, w.pattern[t]):
            how, row, size = CLUSTER, new, members
    release_chosen(s, size, row, how, True, failed)
