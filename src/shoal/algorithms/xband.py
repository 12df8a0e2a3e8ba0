"""X-BAND: of the few oldest tuples, the one that makes the best group leads it.

When the oldest tuple is due, each tuple of the band (the few oldest tuples) is tried as the seed of a group, and the group
with the smallest loss leaves. Band tuples that are older than the newest one published go into a pocket: they still
serve as neighbours of later groups, and after omega they leave by reuse or suppressed. The distance weighs how far
the values are apart against how different the sets of quasi-identifiers are.

Parameters
----------
band (Gamma; 4)
    How many of the oldest tuples are tried as seeds.
alpha (alpha; 1.0)
    The weight of the values; beta, the weight of the missing patterns, is 1 - alpha.
reuse_age (omega; the window's length)
    The longest stay in the pocket, and the age from which a generalization is no longer reused.
reuse_limit (1,000), reuse_loss (unbounded)
    The most generalizations kept for reuse, and the loss below which a new group is kept.

Examples
--------
>>> from shoal import Anonymizer, Policy
>>> policy = Policy.parse('''
... person: pid
... attributes: {age: {quasi: numeric, range: [0, 100]}}
... privacy: {k: 2}
... window: {count: 4}
... algorithm: {name: xband, band: 2, reuse_age: 3}
... ''')
>>> anonymizer = Anonymizer(policy)
>>> for pid, age in enumerate([10, 50, 52, 90, 91]):
...     for published in anonymizer.push({"pid": pid, "age": age}):
...         print(published)
{'age': [50, 52]}
{'age': [50, 52]}

10 was due, but 50 made the better group; 10 is in the pocket now, and leaves three arrivals later.

>>> for pid, age in enumerate([33, 12, 35], 5):
...     for published in anonymizer.push({"pid": pid, "age": age}):
...         print(published)
{'age': [0, 100]}
{'age': [90, 91]}
{'age': [90, 91]}

Decisions
---------
- The thresholds K and K + Gamma (Algorithm 2, lines 2 and 6) count tuples of the buffer without the pocket, as
  printed; a group, as everywhere, needs k persons. With fewer than k persons in buffer and pocket together, or fewer
  than k tuples in the buffer: suppress step on the oldest.
- Between K and K + Gamma the band is max(1, |buffer| - k): the text says |S_t| - K, which would be 0 at K.
- Algorithm 2's first branch forgets to publish; both branches publish (lines 10-13).
- C_t, P_t and P_g are the same set, the pocket; S_p in Algorithm 1, line 11 is S_t.
- Seeds may take neighbours from buffer and pocket; ties between groups go to the older seed.
- No cover is looked for while a group can be formed; reuse happens in the suppress step only (Algorithm 3).
- After a publication every band tuple older than the newest published band tuple moves to the pocket, oldest first. A
  member that was in the pocket does not count as a band tuple.
- The stay in the pocket is bounded by omega, counted from when a tuple went in. (The paper prints delta.) It is
  tested before each arrival is inserted, at each tick and after each publication, each time for all tuples that are due.
- At a tick, and before an arrival, the pocket goes before the window; at the end of the stream the window before the
  pocket, oldest first.
- Under `buffer: n` the pocket does not count into n; memory is bounded by about n + omega.
- The paper also retries pocket tuples by reuse in each round, and widens numeric ranges as values arrive. Neither is
  done here: the range is the policy's, since a range learned from the stream would publish its extreme values.

Guarantee
---------
Each group counts at least k persons at the moment it leaves, and a tuple that reuses it later lies inside it. A
missing value stays missing. Under `count` and `time` no tuple waits longer than the window and omega together.

References
----------
A. Otgonbayar, Z. Pervez, K. Dahal: X-BAND: Expiration band for anonymizing varied data streams. IEEE Internet of
Things Journal 7 (2020), 1438-1450.
"""

from __future__ import annotations

import math

import numpy as np

from shoal.blocks import (
    ANY,
    CLUSTER,
    REUSE,
    SUPPRESSED,
    best_cover,
    choose_neighbours,
    generalize,
    group_loss,
    hand_over,
    in_order,
    is_at_end,
    is_due,
    is_open,
    release_chosen,
    take_in,
)
from shoal.compiled import inlined, kernel
from shoal.policy import Policy

PARAMETERS = ("band", "alpha")


def deadline(policy: Policy, stretch: float) -> float:
    """The window, and then the pocket."""
    return math.inf if policy.window.kind == "buffer" else policy.window.length * stretch + policy.reuse.age


# `blocks.state` explains the arguments of all kernels below.
@kernel
def run(s, batch, closing):
    """Algorithm 1, X-BAND: the pocket goes before the window, and at the end the window before the pocket."""
    c = s.window.clock
    while True:
        hand_over(s)
        ending = closing and not is_open(c)
        pocket = c.pocket > 0 and c.now - s.window.pocketed[c.oldest] >= s.reuse.rule.age  # Alg. 2, line 17
        if pocket or is_at_end(c, closing) or is_due(s) or (ending and c.held > 0):
            publish(s, pocket or c.front < 0)
        elif is_open(c):
            take_in(s, batch)
        else:
            break


@inlined
def publish(s, from_pocket):
    """Algorithm 2, TriggerPublish, on the front of the window; or Algorithm 3 on the oldest in the pocket."""
    w, chosen, k = s.window, s.scratch.chosen, s.rule.k
    c = w.clock
    alone = c.oldest if from_pocket else c.due
    size, newest, failed = 0, -1, False
    if not from_pocket and c.held - c.pocket >= k and w.persons.size[0] >= k:
        size, newest, failed = _best_of_band(s)  # Alg. 2, lines 2-10
    row = best_cover(s, alone) if size == 0 or failed else -1  # Alg. 3, line 1
    if size > 0 and row < 0:
        how = CLUSTER
        row = generalize(s, chosen[:size])
    else:  # Alg. 2, lines 15 and 18
        size, newest = 1, -1
        chosen[0] = alone
        how = REUSE if row >= 0 else SUPPRESSED
    release_chosen(s, size, row, how, True, failed)  # Alg. 2, lines 11-12; Alg. 3, lines 2-7
    while c.front >= 0 and w.arrival[c.front] < newest:  # Alg. 2, line 13
        w.pocketed[c.front] = c.now
        c.pocket += 1
        c.front = w.newer[c.front]


@inlined
def _best_of_band(s):
    """Choose, of the groups around each tuple of the band, the one with the smallest loss; the older seed on a tie.

    A group that is diverse enough, or can be made so, goes before one that failed. Returns how many tuples the group has, the
    arrival of the newest tuple of the band that is in it, and whether it failed.
    """
    w, g, k, chosen, best = s.window, s.groups, s.rule.k, s.scratch.chosen, s.scratch.best_group
    waiting = w.clock.held - w.clock.pocket
    band = np.int64(s.rule.band) if waiting >= k + s.rule.band else max(1, waiting - k)
    smallest, size, failed = np.inf, 0, True
    seed = last = w.clock.front
    for _ in range(band):
        last = seed
        members = choose_neighbours(s, seed, s.rule.alpha, ANY)
        fails, members = members < 0, abs(members)
        if failed or not fails:
            in_order(w, chosen[:members], s.scratch)
            loss = group_loss(s.domain, g, generalize(s, chosen[:members]), w, chosen[:members])
            if loss < smallest or (failed and not fails):  # Alg. 2, line 10
                smallest, size, failed = loss, members, fails
                for i in range(size):
                    best[i] = chosen[i]
        seed = w.newer[seed]
    newest = -1
    for i in range(size):
        chosen[i] = best[i]
        if w.arrival[best[i]] <= w.arrival[last] and w.pocketed[best[i]] == np.inf:
            newest = max(newest, w.arrival[best[i]])
    return size, newest, failed
