"""CASTLE: tuples join clusters as they arrive, and a cluster leaves when its oldest must.

An arriving tuple joins the unpublished cluster that it enlarges least, as long as the cluster's loss stays within
tau, or opens a new one. When the oldest tuple is due, its cluster leaves if it holds k persons. If not, the tuple
leaves by reuse; or suppressed, if its cluster is an outlier; or other clusters are merged into its own. A large
cluster is split before it leaves. tau is the mean loss of the groups published last, so that the clusters follow the
stream.

Parameters
----------
clusters (beta; 50)
    The most unpublished clusters.
recent (mu; 100)
    How many of the last published groups tau averages over.
reuse_limit (200)
    The most generalizations kept for reuse; beyond that, the oldest is dropped.
reuse_age (unbounded), reuse_loss (unbounded)
    The age from which a generalization is no longer reused, and the loss below which a new group is kept.

Examples
--------
>>> from shoal import Anonymizer, Policy
>>> policy = Policy.parse('''
... person: pid
... attributes: {age: {quasi: numeric, range: [0, 100]}}
... privacy: {k: 2}
... window: {count: 4}
... algorithm: {name: castle, clusters: 2}
... ''')
>>> anonymizer = Anonymizer(policy)
>>> for pid, age in enumerate([30, 60, 32, 61, 31]):
...     for published in anonymizer.push({"pid": pid, "age": age}):
...         print(published)
{'age': [30, 32]}
{'age': [30, 32]}

30 and 60 opened a cluster each, which are as many as allowed. 32 and 61 each joined the one that it enlarges least.

Decisions
---------
- Where the paper draws at random, this takes the oldest or the nearest, so that runs are reproducible.
- Best selection: among the clusters whose loss with t stays <= tau, the least enlargement, then fewer tuples, then
  the cluster opened earlier, even if its first tuple has left; an emptied cluster vanishes. If none qualifies, a new
  cluster while there are fewer than beta; else the least enlargement regardless of tau.
- Enlargement is loss(C with t) - loss(C), and the loss of a cluster is the mean over its tuples of what each has, so
  that missing values need no rule of their own.
- tau is 0 before any publication. After each it is the mean loss of the last mu groups, this one included, summed
  anew left to right.
- A cluster of k persons leaves without looking for a cover; a smaller one tries reuse first.
- Outlier: more than half of all unpublished clusters, C itself in the count, have more tuples than C. The same
  happens when all clusters together hold fewer than k persons. Then only t is suppressed; the rest of its cluster stays.
- Merge: one cluster at a time, the one that enlarges C least, with the same ties, until persons(C) >= k.
- Split: while the remaining tuples count 2k persons, the oldest of them and its k-1 nearest neighbours among them leave;
  the tuples that are then left are the last group.
- A group enters the reuse set after tau was updated with it, and must pass both loss <= tau and loss < reuse_loss.
- The paper's l-diverse form is `privacy: {l: ...}`, which every algorithm supports.
- Sums over a cluster go by quasi-identifier first (fast); where rounding could change a comparison, a sum over the
  tuples in order of arrival decides.

Guarantee
---------
Each group counts at least k persons at the moment it leaves, and a tuple that reuses it later lies inside it. A
missing value stays missing. Under `count` and `time` no tuple waits longer than the window.

References
----------
J. Cao, B. Carminati, E. Ferrari, K.-L. Tan: CASTLE: Continuously anonymizing data streams. IEEE Transactions on
Dependable and Secure Computing 8 (2011), 337-352.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.blocks import (
    CLUSTER,
    REUSE,
    SUPPRESSED,
    bit_of,
    call_best_cover,
    call_release_chosen,
    choose_neighbours,
    common_ancestor,
    completed,
    core,
    domain,
    generalize,
    group_loss,
    hand_over,
    in_order,
    is_at_end,
    is_due,
    is_open,
    keep_for_reuse,
    mean_loss,
    one_of_each,
    release,
    set_loss,
    shows_any,
    take_in,
    weight_of,
    withhold_unmet,
)
from shoal.compiled import inlined, inner, kernel, popcount
from shoal.policy import Policy

PARAMETERS = ("clusters", "recent")

ROUGH_ERROR = 1e-9  # far above the rounding by which a rough loss, summed in another order, differs from the exact one


class Memory(NamedTuple):
    """The unpublished clusters, one row each, and one row more for the tuple that arrives; and the losses that make up tau."""

    members: NDArray[np.int64]  # tuples in it; 0: the row is free
    opened: NDArray[np.int64]  # when it was opened, as a number in order
    low: NDArray[np.float64]  # one column per quasi-identifier; infinite where no member has it
    high: NDArray[np.float64]
    weight: NDArray[np.float64]  # the sum, over the members that have it, of its share in what they have: 1/|Q_t|
    common: NDArray[np.uint64]  # what all members have
    values: NDArray[np.uint64]  # the different values of the members, where a group shows them as a set
    enlargement: NDArray[np.float64]  # a work array
    recent: NDArray[np.float64]  # the losses of the last published groups, as a ring
    openings: NDArray[np.int64]
    published: NDArray[np.int64]
    tau: NDArray[np.float64]


def memory(policy: Policy) -> Memory:
    rows, quasi, words = policy.algorithm.clusters + 1, len(policy.quasi), int(domain(policy).word[-1])
    members, opened = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    low, high, weight = (np.zeros((rows, quasi)) for _ in range(3))
    return Memory(
        members=members, opened=opened, low=low, high=high, weight=weight, common=np.zeros(rows, np.uint64),
        values=np.zeros((rows, words), np.uint64),
        enlargement=np.zeros(rows), recent=np.zeros(policy.algorithm.recent), openings=np.zeros(1, np.int64),
        published=np.zeros(1, np.int64), tau=np.zeros(1),
    )  # fmt: skip


# `blocks.state` explains the arguments of all kernels below.
@kernel
def run(s, batch, closing):
    c = s.window.clock
    if c.held == 0:  # all tuples may have gone to another lane
        _measure_all(s)
    while True:
        if hand_over(s):
            _measure_all(s)
        if is_at_end(c, closing) or is_due(s):
            expire(s)
        elif is_open(c):
            slot = take_in(s, batch)
            if slot >= 0:
                join(s, slot)
        else:
            break


@inlined
def join(s, t):
    """Best selection: the new tuple joins the cluster that it enlarges least, or opens one."""
    w, m = s.window, s.memory
    newcomer = len(m.members) - 1
    w.cluster[t] = newcomer
    _measure(s, newcomer, t, t + 1)
    best = _least_enlargement(s, newcomer, False, m.tau[0])
    if best < 0:
        best = _opened(m)
    if best < 0:
        best = _least_enlargement(s, newcomer, False, np.inf)
    _merge(w, m, best, newcomer)


@inlined
def expire(s):
    """Delay constraint: the oldest tuple leaves, with its cluster if that is or can be made large enough."""
    w, m, k = s.window, s.memory, s.rule.k
    t = w.clock.due
    own = w.cluster[t]
    row, how = -1, CLUSTER
    persons = _persons(s, own)
    if persons < k:
        row = call_best_cover(core(s), t)
        if row >= 0:
            how = REUSE
        elif _is_outlier(m, own) or w.persons.size[0] < k:
            how = SUPPRESSED
        while how == CLUSTER and persons < k:
            _merge(w, m, own, _least_enlargement(s, own, True, np.inf))
            persons = _persons(s, own)
    if how == CLUSTER:
        _output(s, own, persons)
    else:
        s.scratch.chosen[0] = t
        call_release_chosen(core(s), 1, row, how, False)
        _measure(s, own, 0, w.clock.held)


@inlined
def _output(s, own, persons):
    """Publish a cluster in groups of k persons or more."""
    w, g, k, chosen = s.window, s.groups, s.rule.k, s.scratch.chosen
    last = joined = False
    while not last:
        t = _oldest_of(w, own)
        size = _all_of(s, own, t) if persons < 2 * k else choose_neighbours(s, t, 1.0, own)
        failed, size = size < 0, abs(size)
        in_order(w, chosen[:size], s.scratch)
        for i in range(size):
            joined |= w.cluster[chosen[i]] != own
        row = generalize(s, chosen[:size])
        loss = group_loss(s.domain, g, row, w, chosen[:size])
        if failed:
            withhold_unmet(s.exits.diversity, g, row, w, chosen[:size], s.scratch)
        if release(s, chosen[:size], row, CLUSTER):
            _remember(s, row, loss)
        persons = _persons(s, own)
        last = persons < k
    for cluster in range(len(s.memory.members) - 1):
        if cluster == own or (joined and s.memory.members[cluster] > 0):
            _measure(s, cluster, 0, w.clock.held)


@inlined
def _is_outlier(m, own):
    """Whether more than half of the unpublished clusters have more tuples."""
    clusters = larger = 0
    for c in range(len(m.members) - 1):
        clusters += m.members[c] > 0
        larger += m.members[c] > m.members[own]
    return 2 * larger > clusters


@inlined
def _oldest_of(w, cluster):
    t = w.clock.oldest
    while w.cluster[t] != cluster:
        t = w.newer[t]
    return t


@inlined
def _all_of(s, cluster, t):
    """Choose all tuples of a cluster, of which `t` is the oldest, and cells; how many, negative if they fail.

    Under `one_in_k` only the oldest tuple of each person is chosen; the others stay in the cluster.
    """
    size, chosen = 0, s.scratch.chosen
    for j in range(s.window.clock.held):
        if s.window.cluster[j] == cluster:
            chosen[size] = j
            size += 1
    if s.exits.promise.one_in_k:
        in_order(s.window, chosen[:size], s.scratch)
        size = one_of_each(s.window, chosen[:size], s.scratch)
    return completed(s, t, size, 1.0)


@inlined
def _remember(s, row, loss):
    """tau is the mean loss of the last published groups; a group no worse than that may be reused."""
    m = s.memory
    size = len(m.recent)
    m.recent[m.published[0] % size] = loss
    m.published[0] += 1
    first = max(0, m.published[0] - size)
    total = 0.0
    for i in range(first, m.published[0]):
        total += m.recent[i % size]
    m.tau[0] = total / (m.published[0] - first)
    if loss <= m.tau[0] and loss < s.reuse.rule.loss:
        keep_for_reuse(s, row)


@inlined
def _opened(m):
    """A new empty cluster, or -1 if there are as many as allowed."""
    for c in range(len(m.members) - 1):
        if m.members[c] == 0:
            m.opened[c] = m.openings[0]
            m.openings[0] += 1
            _clear(m, c)
            return c
    return -1


@inlined
def _clear(m, cluster):
    for q in range(m.low.shape[1]):
        m.low[cluster, q] = np.inf
        m.high[cluster, q] = -np.inf
        m.weight[cluster, q] = 0.0
    m.common[cluster] = ~np.uint64(0)
    for word in range(m.values.shape[1]):
        m.values[cluster, word] = 0


@inlined
def _merge(w, m, cluster, other):
    """Take all tuples of `other` into `cluster`."""
    for j in range(w.clock.held):
        if w.cluster[j] == other:
            w.cluster[j] = cluster
    for q in range(m.low.shape[1]):
        m.low[cluster, q] = min(m.low[cluster, q], m.low[other, q])
        m.high[cluster, q] = max(m.high[cluster, q], m.high[other, q])
        m.weight[cluster, q] += m.weight[other, q]
    m.common[cluster] &= m.common[other]
    for word in range(m.values.shape[1]):
        m.values[cluster, word] |= m.values[other, word]
    m.members[cluster] += m.members[other]
    m.members[other] = 0


@inlined
def _measure(s, cluster, first, last):
    """Find the size, the box and the weights of a cluster whose tuples are in the slots from `first` to `last`."""
    domain, w, m = s.domain, s.window, s.memory
    m.members[cluster] = 0
    _clear(m, cluster)
    for j in range(first, last):
        if w.cluster[j] == cluster:
            m.members[cluster] += 1
            m.common[cluster] &= w.pattern[j]
            whole = weight_of(domain, w.pattern[j])
            for q in range(m.low.shape[1]):
                value = w.values[j, q]
                if value == value:
                    m.low[cluster, q] = min(m.low[cluster, q], value)
                    m.high[cluster, q] = max(m.high[cluster, q], value)
                    m.weight[cluster, q] += domain.weight[q] / whole
                    if domain.sets[q]:
                        m.values[cluster, domain.word[q] + (np.int64(value) >> 6)] |= bit_of(np.int64(value))


@inner
def _measure_all(s):
    for cluster in range(len(s.memory.members) - 1):
        if s.memory.members[cluster] > 0:
            _measure(s, cluster, 0, s.window.clock.held)


@inlined
def _persons(s, cluster):
    w, scratch = s.window, s.scratch
    scratch.turn[0] += 1
    persons = 0
    for j in range(w.clock.held):
        if w.cluster[j] == cluster and scratch.seen[w.person[j]] != scratch.turn[0]:
            scratch.seen[w.person[j]] = scratch.turn[0]
            persons += 1
    return persons


@inner
def _least_enlargement(s, x, merging, bound):
    """The cluster that cluster `x` enlarges least; when merging, the one that enlarges `x` least; -1 if all exceed `bound`.

    Ties: fewer tuples, then the one opened earlier. Rough losses decide unless they are too close.
    """
    m = s.memory
    newcomer = len(m.members) - 1
    least = np.inf
    for c in range(newcomer):
        m.enlargement[c] = np.inf
        if m.members[c] == 0 or c == x:
            continue
        a, b = (x, c) if merging else (c, x)
        union = _rough_loss(s, a, b)
        if abs(union - bound) <= ROUGH_ERROR:
            union = _exact_loss(s, a, b)
        if union <= bound:
            m.enlargement[c] = union - _rough_loss(s, a, a)
            least = min(least, m.enlargement[c])
    if least == np.inf:
        return -1
    best, close = -1, 0
    for c in range(newcomer):
        if m.enlargement[c] <= least + 2 * ROUGH_ERROR:
            best = c
            close += 1
    if close == 1:
        return best
    best, within = -1, least + 2 * ROUGH_ERROR
    for c in range(newcomer):
        if m.enlargement[c] <= within:
            a, b = (x, c) if merging else (c, x)
            exact = _exact_loss(s, a, b) - _exact_loss(s, a, a)
            if best < 0 or exact < least or (exact == least and _goes_first(m, c, best)):
                best = c
                least = exact
    return best


@inlined
def _goes_first(m, c, d):
    if m.members[c] != m.members[d]:
        return m.members[c] < m.members[d]
    return m.opened[c] < m.opened[d]


@inlined
def _attribute_loss(s, a, b, q):
    """The loss of quasi-identifier q in the box around two clusters; 1 if a group would not show it."""
    domain, m = s.domain, s.memory
    low, high = min(m.low[a, q], m.low[b, q]), max(m.high[a, q], m.high[b, q])
    if low > high:
        return 0.0
    if not shows_any(s.exits.promise.match) and not (m.common[a] & m.common[b]) >> np.uint64(q) & np.uint64(1):
        return 1.0
    if domain.sets[q]:
        values = 0
        for word in range(domain.word[q], domain.word[q + 1]):
            values += popcount(m.values[a, word] | m.values[b, word])
        return set_loss(domain, q, values, low, high)
    if domain.categorical[q]:
        return domain.node_loss[common_ancestor(domain, q, low, high)]
    return (high - low) / domain.width[q]


@inlined
def _rough_loss(s, a, b):
    """loss(A and B together), summed by quasi-identifier; of A alone if they are the same."""
    m = s.memory
    total = 0.0
    for q in range(len(s.domain.width)):
        weight = m.weight[a, q] if a == b else m.weight[a, q] + m.weight[b, q]
        total += _attribute_loss(s, a, b, q) * weight
    return total / (m.members[a] if a == b else m.members[a] + m.members[b])


@inlined
def _exact_loss(s, a, b):
    """The same, summed over the tuples in order of arrival."""
    w, g = s.window, s.groups
    row = g.rows[0]
    for q in range(len(s.domain.width)):
        g.loss[row, q] = _attribute_loss(s, a, b, q)
    total, members = 0.0, 0
    slot = w.clock.oldest
    while slot >= 0:
        if w.cluster[slot] == a or w.cluster[slot] == b:
            total += mean_loss(s.domain, g.loss, row, w.pattern[slot])
            members += 1
        slot = w.newer[slot]
    return total / members
