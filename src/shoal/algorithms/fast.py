"""FAST: FADS in rounds of delta tuples, with a look ahead at the deadline.

A round takes the next delta tuples of the source and lets the first of them leave as FADS does: with its k-1 nearest
neighbours among these tuples, or by reuse. Every other tuple goes back to the head of the source if it can afford one
more round, and is suppressed at once if not. The length of a round is estimated by the longest one so far.

Parameters
----------
round (delta; the smaller of 6*k and the deadline)
    Tuples per round; k <= round <= deadline. With several workers the default is the smaller of 6*k and half a worker's share
    of the deadline, k at least. Under `time`, where the deadline in seconds is a number below k, it is 6*k.
deadline (T_e; the window's length)
    The longest a tuple waits: arrivals under `count` and `buffer`, seconds under `time`.
reuse_age (T_kc; 20*delta arrivals, to be given under `time`)
    From this age on, a generalization that was not used again is no longer reused.
workers (1)
    Rounds that run at the same time, each on a thread of its own.
reuse_limit (1,000), reuse_loss (unbounded)
    The most generalizations kept for reuse, and the loss below which a new group is kept.

Examples
--------
>>> from shoal import Anonymizer, Policy
>>> policy = Policy.parse('''
... person: pid
... attributes: {age: {quasi: numeric, range: [0, 100]}}
... privacy: {k: 2}
... window: {count: 9}
... algorithm: {name: fast, round: 3}
... ''')
>>> anonymizer = Anonymizer(policy)
>>> for pid, age in enumerate([30, 60, 32, 61, 31, 90, 66]):
...     for published in anonymizer.push({"pid": pid, "age": age}):
...         print(published)
{'age': [30, 32]}
{'age': [30, 32]}
{'age': [60, 61]}
{'age': [60, 61]}
{'age': [30, 32]}

The first round reads 30, 60 and 32, and hands 60 back. In the third round 31 leaves by reuse.

Decisions
---------
- Algorithm 3 chooses k-1 "unique tuples"; k counts persons. With fewer than k persons in a round: the best cover,
  else t is suppressed; the paper leaves it open.
- A cover must be strictly better for t, as in FADS. A reused entry's time is renewed, in the suppress step too; age,
  ties and the choice of the oldest then go by the renewed time, after that by insertion.
- The estimate is the longest round so far, the current one included. The paper averages, and a mean lets tuples miss
  T_e.
- The length of a round is how far the clock moved while it read, not how long it computed: so runs are reproducible. The
  clock is the number of tuples first read, or under `time` the newest time read.
- Under `time` the first round lasts from its first to its last tuple.
- A tick starts no round and does not move FAST's own clock, since it reads no tuple. So under `time` tuples wait for a
  full round however long that takes, and FAST promises no deadline in seconds.
- Under `time` the default round is 6*k, since tuples and seconds cannot be compared.
- A tuple that cannot wait is suppressed without trying a cover, and published at once, after the round's own
  release. This holds after a suppress step too.
- `released` in the trace is the number of the newest arrival, under `time` the newest time read.
- The window gives only the clock's unit and the default of the deadline; under `buffer` no wait is promised.
- At the end of the stream rounds go on with what is left, however few.
- With several workers, each worker reads again at once what its own round handed back, so that no tuple is in two rounds.
  New tuples are distributed: first one round to each worker, then one tuple to each in turn. A worker's clock is the
  stream's clock, as far as this worker has processed the stream; a tuple may reuse what any worker had published by then on
  that clock. Workers wait for each other every few thousand arrivals.
- With several workers the estimate is the mean, as in the paper, and a tuple that becomes due nevertheless starts a round
  at once. So the deadline holds however wrong the estimate is, and a tick starts rounds, too. At the end of the stream all
  tuples leave from one worker.
- With several lanes, a tuple that is due starts a round, too, so that nothing has to be estimated: of the tuples after the
  first of a round, only those that are due are suppressed. The clock is the stream's; the rounds of each lane have delta
  tuples. A lane has one worker.

Guarantee
---------
Each group counts at least k persons at the moment it leaves, and a tuple that reuses it later lies inside it. A
missing value stays missing. Under `count` no tuple waits longer than the deadline; under `time` that holds only while
rounds fill. With several workers all this holds in every interleaving; which tuples leave together differs from run to run.

References
----------
E. Mohammadian, M. Noferesti, R. Jalili: FAST: Fast anonymization of big data streams. International Conference on Big
Data Science and Computing (2014), article 23.

K. Guo, Q. Zhang: Fast clustering-based anonymization approaches with time constraints for data streams.
Knowledge-Based Systems 46 (2013), 95-108.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.blocks import (
    ANY,
    CLUSTER,
    REUSE,
    SUPPRESSED,
    TIME,
    Core,
    Groups,
    acquire,
    best_cover,
    call_release_chosen,
    choose_neighbours,
    core,
    domain,
    free,
    generalize,
    groups,
    hand_over,
    is_open,
    lock,
    loss,
    release_chosen,
    renew,
    take_in,
)
from shoal.compiled import inlined, kernel, spelled_out
from shoal.policy import Policy

PARAMETERS = ("round", "deadline", "workers")


class Memory(NamedTuple):
    read: NDArray[np.float64]  # the clock at the end of the last round: how many tuples, or the newest time, were read
    longest: NDArray[np.float64]  # the longest round so far
    spent: NDArray[np.float64]  # all rounds together
    rounds: NDArray[np.int64]
    played: NDArray[np.int64]  # 1: nothing arrived since the last round; the next round waits for an arrival
    lock: NDArray[np.int64]  # of the reuse set and the door, where several workers share them
    draft: Groups  # where a group is generalized before other workers may see it


def memory(policy: Policy) -> Memory:
    draft = groups(len(policy.quasi), len(policy.requirements), int(domain(policy).word[-1]), 1)
    return Memory(np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1, np.int64), np.zeros(1, np.int64), lock(), draft)


def shared(memory: Memory, other: Memory) -> Memory:
    """Workers that share a door share its lock."""
    return memory._replace(lock=other.lock)


def deadline(policy: Policy, stretch: float) -> float:
    """Only arrivals start a round, so in seconds nothing can be promised: the next arrival may take long."""
    longest: float = policy.algorithm.deadline  # type: ignore[assignment]
    return longest * stretch if policy.window.kind == "count" else math.inf


# `blocks.state` explains the arguments of all kernels below.
@kernel
def run(s, batch, closing):
    """Algorithm 1, FAST: a round as soon as the source holds enough tuples, or at its end."""
    c = s.window.clock
    while True:
        hand_over(s)
        at_end = closing and not is_open(c) and c.held > 0
        due = c.laned and c.held > 0 and c.now - s.window.since[c.oldest] >= s.rule.deadline
        if at_end or due or (c.held >= s.rule.round and s.memory.played[0] == 0):
            publish(s, at_end)
        elif is_open(c):
            s.memory.played[0] *= take_in(s, batch) < 0
        else:
            break


@inlined
def publish(s, at_end):
    """Algorithm 3, PublishData, on all tuples that are held: those handed back and the new ones."""
    domain, w, g, chosen, k = s.domain, s.window, s.groups, s.scratch.chosen, s.rule.k
    c, m = w.clock, s.memory
    seen = c.now
    now = w.since[c.newest] if c.kind == TIME else np.float64(c.arrivals)
    if c.laned:
        now = c.now
    elif c.kind == TIME:
        now = max(now, m.read[0]) if m.rounds[0] > 0 else now
        c.now = now  # the newest time that was read; a tick reads nothing
    lasted = now - (m.read[0] if m.rounds[0] > 0 else w.since[c.oldest])
    m.longest[0] = max(m.longest[0], lasted)
    m.spent[0] += lasted
    m.read[0] = now
    m.rounds[0] += 1
    t = c.oldest
    chosen[0] = t
    size = 1
    members = choose_neighbours(drafting(s), t, 1.0, ANY) if w.persons.size[0] >= k else 0
    failed, members = members < 0, abs(members)
    own_loss = np.inf
    if members > 0 and not failed:  # C_new and g_cnew
        own_loss = loss(domain, m.draft, generalize(drafting(s), chosen[:members]), w.pattern[t])
    acquire(m.lock)  # "Synchronized": the door and what was published
    row = best_cover(s, t)
    how = REUSE if row >= 0 else SUPPRESSED
    if members > 0 and (row < 0 or not loss(domain, g, row, w.pattern[t]) < own_loss):
        how, row, size = CLUSTER, generalize(s, chosen[:members]), members
    patient = w.persons.size[0] < k and how == SUPPRESSED and not at_end and c.stretched > c.length
    bound = s.rule.deadline * (c.stretched / c.length if patient else 1.0)
    if not (patient and now - w.since[t] + m.longest[0] < bound):
        if how == REUSE:
            renew(s.reuse, g, row, c.now)  # "update C_k-best publish time"
        release_chosen(s, size, row, how, True, failed)
    free(m.lock)
    estimate = m.longest[0]
    if c.laned:  # a tuple that is due starts a round
        estimate = m.spent[0] / m.rounds[0] if s.rule.workers > 1 else 0.0
    urgent = 0
    for slot in range(c.held):
        if not now - w.since[slot] + estimate < bound:  # equation 6
            chosen[urgent] = slot
            urgent += 1
    if urgent > 0:
        acquire(m.lock)
        call_release_chosen(core(s), urgent, -1, SUPPRESSED, False)
        free(m.lock)
    m.played[0] = 1
    c.now = seen


@spelled_out
def drafting(s):
    """What all algorithms have in common, with `draft` as the groups."""
    return Core(s.domain, s.window, s.memory.draft, s.reuse, s.exits, s.scratch, s.handover)
