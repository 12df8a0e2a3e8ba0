"""Tide: the whole window leaves at once, in groups that are chosen together, the tightest first.

The other algorithms build one group at a time around the tuple that is due. Tide waits until the oldest tuple is due,
and then partitions everything that is held: candidates grow from seeds all over the window, each by the tuple with
which it costs least; the cheapest becomes a group, and so on; then tuples change places between the groups wherever
that lowers the cost of all. A tuple that an earlier group hides better leaves by reuse. All of them leave in one
wave.

Parameters
----------
effort (quick)
    How much work is put into a wave. `quick`: 2 seeds for every k tuples and one round of repair. `thorough`: 8 seeds and
    up to 3 rounds.
reuse_age (twice the window's length)
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
... window: {count: 4}
... algorithm: {name: tide}
... ''')
>>> anonymizer = Anonymizer(policy)
>>> for pid, age in enumerate([30, 60, 34, 61, 31]):
...     for published in anonymizer.push({"pid": pid, "age": age}):
...         print(published)
{'age': [30, 34]}
{'age': [30, 34]}
{'age': [60, 61]}
{'age': [60, 61]}

31 came too late for the first wave. At the end of the stream it finds no second person, but the first group covers it.

>>> anonymizer.to_records(anonymizer.flush())
[{'age': [30, 34]}]

Decisions
---------
n is the number of tuples in the wave. "Older" is earlier in order of arrival; groups and candidates are numbered in
the order in which they came to be.

- Closing. A wave is closed when the oldest has used up all but a 32nd of the window and k persons are held; at the
  latest when the oldest is due. Used up are arrivals, tuples held under `buffer`, or seconds; the 32nd is rounded
  down but for seconds. It is looked at when the clock has moved, before the arrival that moved it is inserted, and
  again after that. What is held then is the wave, or the oldest 8,192 where more than 16,384 are held; who comes
  later waits for the next one. It leaves when the oldest is due. At the end of the stream a wave that has not left is
  closed anew, over all that is held.
- Between closing and leaving the work is done in steps, so that no arrival waits for all of it. When a step is done
  changes nothing: the outcome depends on the wave, and on the reuse set and the clock at the moment of closing.
- All this is under `nulls_match: maybe`. docs/stronger.md tells what other readings, weights and demands of diversity change.
- Units. What decides is counted in whole numbers. A numeric value is at place floor((v - low) / width * 65,536 +
  1/2), in float64; the loss of a box is the difference of its outermost places. The loss of a node is floor(loss *
  65,536 + 1/2). What no member has loses nothing. A tuple weighs floor(4,096 / |Q_t| + 1/2), or nothing if Q_t is
  empty. The cost of a group is the sum, over its members t and over Q_t, of the weight of t times the loss of the
  box.
- Cover. The best cover of t at the moment of closing, as for FADS; it costs the weight of t times the sum over Q_t of
  floor(loss * 65,536 + 1/2). Without a cover that cost is infinite.
- Seeds. There are m = min(n, ceil(e * n / k)), e being 2 or 8: the tuples number floor((2i + 1) * n / 2m) of the
  wave, i and the numbers from 0. Each is the first member of a candidate, which grows at once.
- Growth. The shortlist: of the tuples in no group, whose persons the candidate has not, those 2k that add least to
  the sum of the box's losses, ties the older. What the tuple or every member lacks adds nothing. Of the shortlist
  that tuple joins with which the candidate costs least, ties the older; it and all tuples of its person are struck
  off. An empty shortlist is drawn again. With k persons the candidate is done; its price is its cost.
- Groups. While k persons have tuples in no group, the candidate with the lowest price, ties the lower number, is
  looked at. If no member is in a group, it becomes one. If all are, it is dropped. Else those that are not grow again
  to k persons, from a new shortlist, and it has a new price. When no candidate is left, the oldest tuple in no group
  is the seed of one more.
- Settling. The tuples that are left, the oldest first, each join the group whose cost they raise least, ties the
  lower number; or none, if their cover costs less than that.
- Repair. A round dissolves, then exchanges; `quick` makes one, `thorough` up to three, until one changes nothing.
- Dissolving, the last group first. Of each member the smaller is taken of what its cover costs and of the least by
  which it would raise the cost of another group. If their sum is below the cost of the group, the members settle
  elsewhere, one after the other, the oldest first. If that costs less than the group did, so be it; if not, all is as
  before.
- Exchanging, every tuple that is in a group then, the oldest first. Its gain is what its group would cost less
  without it; its least is the least by which it would raise the cost of another group, ties the lower number. If its
  group counts k persons without it, it goes to the other group, or to its cover if that costs less than the least;
  but only if either costs less than the gain. If its group does not, and the least is below the gain, it changes
  places with a member of the other group: the one with which both groups together cost least, ties the older, if that
  is less than they cost now. Its person must not be in the other group, nor that member's person in its own.
- Leaving. First the tuples in no group, the oldest first, by their covers; then the group of the oldest that is left,
  until none is. New groups enter the reuse set as they leave.
- With fewer than k persons in the window, or in the wave, the oldest alone leaves, by its best cover or suppressed.
- The window may be `count`, `time` or `buffer`.

Guarantee
---------
Each group counts at least k persons at the moment it leaves, and whoever wears it later lies inside it. A missing value stays
missing. Under `count` and `time` no tuple waits longer than the window. A tuple is suppressed only when fewer than k
persons are there and no earlier group covers it.

References
----------
None: it was made here. It was built on what FADS, CASTLE and IDEA taught; docs/algorithms/tide.md tells what was tried.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.blocks.arrival import is_at_end, is_due, is_open, take_in
from shoal.blocks.company import measure_from, nearest_helper
from shoal.blocks.core import core
from shoal.blocks.distance import by_shared, by_values, distance
from shoal.blocks.diversity import is_diverse, show, unmet
from shoal.blocks.domain import domain
from shoal.blocks.groups import EXTENDED, generalize
from shoal.blocks.growth import grow
from shoal.blocks.handover import hand_over
from shoal.blocks.nearest import count_persons
from shoal.blocks.outcome import see_off
from shoal.blocks.release import CLUSTER, REUSE, SUPPRESSED
from shoal.blocks.repair import dissolve, improve, settle, take_cheapest
from shoal.blocks.reuse import can_serve, cover_of, row_of
from shoal.blocks.wave import LARGEST, Wave, draw_up, rounded, wave
from shoal.blocks.window import BUFFER, TIME
from shoal.compiled import inlined, inner, kernel
from shoal.policy import Policy

EFFORT = {"quick": (2, 1), "thorough": (8, 3)}  # seeds for every k tuples, rounds of repair

_SLACK = 32
_PORTION = 16  # tuples that are covered, settled or improved in one step

OPEN, COVER, SEED, GROUP, SETTLE, DISSOLVE, IMPROVE, DONE = range(8)


class Memory(NamedTuple):
    closed: NDArray[np.int64]  # how many of the oldest are in the wave; 0: it is still open
    moment: NDArray[np.float64]  # when it was closed
    wave: Wave


def memory(policy: Policy) -> Memory:
    seeds, rounds = EFFORT[policy.algorithm.effort]
    strict = policy.privacy.nulls_match != "maybe"
    return Memory(np.zeros(1, np.int64), np.zeros(1), wave(domain(policy), policy.privacy.k, seeds, rounds, strict, 1))


@kernel
def run(s, batch, closing):
    w, m, k = s.window, s.memory, s.rule.k
    c = w.clock
    while True:
        hand_over(s)  # of a closed wave nobody: it holds k persons
        at_end = is_at_end(c, closing)
        leaves = at_end or is_due(s)
        part = np.inf if leaves else _part_of_slack(c, w.since)
        if part >= 0 and (at_end or m.closed[0] == 0) and (leaves or w.persons.size[0] >= k):
            m.closed[0] = c.held if c.held <= 2 * LARGEST else LARGEST
            m.moment[0] = c.now
            m.wave.work.stage = OPEN
        if m.closed[0] > 0 and w.persons.size[0] >= k:
            _work(s, part)
        if leaves:
            _depart(s)
        elif is_open(c):
            slot = take_in(s, batch)
            if slot >= 0 and w.newer[slot] >= 0:  # from another lane, into the midst of a wave: it closes anew
                m.closed[0] = 0
        else:
            break


@inlined
def _part_of_slack(c, since):
    """How much of the time between closing and leaving has passed, from 0 to 1; negative before."""
    if c.held == 0:
        return -np.inf
    slack = c.length / _SLACK if c.kind == TIME else np.floor(c.length / _SLACK)
    used = np.float64(c.held) if c.kind == BUFFER else c.now - since[c.oldest]
    return (used - (c.length - slack)) / slack


@inlined
def _progress(work):
    """How much of the work is done, from 0 to 1; roughly."""
    if work.stage == COVER:
        return 0.1 * work.next / work.tuples
    if work.stage == SEED:
        return 0.1 + 0.3 * work.next / work.seeds
    if work.stage == GROUP:
        return 0.7 - 0.3 * work.free / work.persons
    if work.stage >= SETTLE:
        return 0.7 + 0.3 * (work.done + 0.5 * (work.stage == IMPROVE)) / work.rounds
    return 0.0


@inner
def _work(s, part):
    """Do steps of the partitioning until so large a part of it is done."""
    domain, v, work, k = s.domain, s.memory.wave, s.memory.wave.work, s.rule.k
    while work.stage != DONE and _progress(work) < part:
        stage, start = work.stage, work.next
        stop = min(start + _PORTION, work.tuples)
        if stage == OPEN:
            draw_up(domain, s.window, v, s.scratch, s.memory.closed[0])
            work.stage, work.next = COVER if work.persons >= k else DONE, 0
            work.seeds = min(work.tuples, -(-work.seeds_each * work.tuples // k))
        elif stage == COVER:
            for t in range(start, stop):
                _find_cover(s, v, s.memory.moment[0], t)
            _go_on(work, stop, work.tuples)
        elif stage == SEED:
            v.member[start, 0] = (2 * start + 1) * work.tuples // (2 * work.seeds)
            v.price[start] = grow(domain, v, k, start, 1)
            _go_on(work, start + 1, work.seeds)
        elif stage == GROUP:
            if work.free < k:
                work.stage, work.next = SETTLE, 0
            else:
                take_cheapest(domain, v, k)
        elif stage == SETTLE:
            for t in range(start, stop):
                if v.group[t] < 0:
                    settle(domain, v, t)
            _go_on(work, stop, work.tuples)
        elif stage == DISSOLVE:
            group = work.groups - 1 - start
            if v.first[group] >= 0:
                work.changes += dissolve(domain, v, group)
            _go_on(work, start + 1, work.groups)
        else:
            for t in range(start, stop):
                work.changes += improve(domain, v, t, k)
            _go_on(work, stop, work.tuples)
            if work.stage == DONE:
                work.done += 1
                if work.done < work.rounds and work.changes > 0:
                    work.stage, work.changes = DISSOLVE, 0


@inlined
def _go_on(work, reached, end):
    """Note how far a stage has come; after its end comes the next."""
    work.next = reached
    if reached == end:
        work.stage += 1
        work.next = 0


@inlined
def _find_cover(s, v, moment, t):
    c, g = s.window.clock, s.groups
    now = c.now
    c.now = moment
    row = cover_of(core(s), v.slot[t])
    c.now = now
    v.cover[t], v.alone[t] = -1, np.inf
    if row >= 0:
        v.cover[t], v.alone[t] = g.number[row], 0.0
        for q in range(len(v.place)):
            if v.place[q, t] >= 0:
                v.alone[t] += v.weight[t] * rounded(v, q, g.loss[row, q])


@inlined
def _depart(s):
    """The wave leaves: first those in no group, one by one, then the group of the oldest, again and again.

    With fewer than k persons only the oldest leaves.
    """
    w, g, m, chosen = s.window, s.groups, s.memory, s.scratch.chosen
    c, v = w.clock, m.wave
    slot, t, tuples = c.oldest, 0, v.work.tuples
    grouped = w.persons.size[0] >= s.rule.k and v.work.persons >= s.rule.k
    if grouped:
        for j in range(tuples):
            w.home[v.slot[j]] = v.group[j]
    else:
        m.closed[0] = tuples = 1
        slot = c.due
        row = cover_of(core(s), slot)
        v.cover[0] = g.number[row] if row >= 0 else -1
        w.home[slot] = -1
    newest = w.arrival[slot] if tuples == 1 else w.arrival[v.slot[tuples - 1]]
    while m.closed[0] > 0:
        while t < tuples and w.home[slot] >= 0:
            slot = w.newer[slot]
            t += 1
        if t < tuples:
            row = row_of(s.reuse, v.cover[t])
            if grouped and not (row >= 0 and c.now - g.published[row] < s.reuse.rule.age and can_serve(s, row, slot)):
                row = cover_of(core(s), slot)
                w.home[slot] = -1 if row >= 0 else _nearest_group(core(s), slot)
                if w.home[slot] >= 0:
                    continue
            size, how = 1, REUSE if row >= 0 else SUPPRESSED
            chosen[0] = slot
            if w.newer[slot] != c.held - 1:  # or else the next one moves into this slot
                slot = w.newer[slot]
            t += 1
        else:
            size, how = _complete(s, w.home[c.oldest]), CLUSTER
            if size == 0:
                m.closed[0] -= _dismiss(s, w.home[c.oldest])
                continue
            row = generalize(s, chosen[:size])
        for i in range(size):
            m.closed[0] -= w.arrival[chosen[i]] <= newest
        see_off(core(s), size, row, how)
    m.closed[0], v.work.stage = 0, OPEN


@inlined
def _members(w, group, chosen):
    size = 0
    for j in range(w.clock.held):
        if w.home[j] == group:
            chosen[size] = j
            size += 1
    return size


@inlined
def _complete(s, group):
    """Choose the members of a group, and those who must join it so that it is diverse enough; how many, 0 if it cannot be."""
    size = _members(s.window, group, s.scratch.chosen)
    if len(s.exits.diversity.kind) == 0 or is_diverse(s.exits.diversity, s.window, s.scratch.chosen[:size], s.scratch):
        return size
    return _extend(core(s), group, size)


@inner
def _extend(s, group, size):
    """Let the nearest that help join the chosen members; one whose own group needs it brings the whole group along."""
    w, scratch, k = s.window, s.scratch, s.exits.promise.k
    chosen, came_from, members = scratch.chosen, scratch.kin, size
    measure_from(s, w.clock.oldest, chosen[:size], 1.0)
    count_persons(w, chosen[:size], scratch)
    turn = scratch.turn[0]  # which marks their persons
    while True:
        demand = unmet(s.exits.diversity, scratch)
        if demand < 0:
            return size
        helper = nearest_helper(s, demand, turn)
        if helper < 0:
            for i in range(members, size):
                w.home[chosen[i]] = came_from[i]
            return 0
        home = w.home[helper]
        first = size
        if home < 0 or _persons_without(w, home, helper, scratch) >= k:
            chosen[size] = helper
            size += 1
        else:
            size += _members(w, home, chosen[size:])
        for i in range(first, size):
            came_from[i] = home
            w.home[chosen[i]] = group
            scratch.seen[w.person[chosen[i]]] = turn
            show(w, chosen[i], scratch)


@inlined
def _persons_without(w, home, slot, scratch):
    """How many persons a group counts without one of its tuples."""
    found, persons = scratch.rank, 0
    for j in range(w.clock.held):
        if w.home[j] == home and j != slot:
            known = False
            for i in range(persons):
                known |= found[i] == w.person[j]
            if not known:
                found[persons] = w.person[j]
                persons += 1
    return persons


@inlined
def _dismiss(s, group):
    """The members of a group that cannot be published leave alone, the oldest first; how many they were."""
    w = s.window
    members = _members(w, group, s.scratch.chosen)
    for _ in range(members):
        slot = w.clock.oldest
        while w.home[slot] != group:
            slot = w.newer[slot]
        s.scratch.chosen[0] = slot
        row = cover_of(core(s), slot)
        see_off(core(s), 1, row, REUSE if row >= 0 else SUPPRESSED)
    return members


@inner
def _nearest_group(s, t):
    """The group of the nearest tuple that is in one, the older on a tie; -1 if none is."""
    w = s.window
    yard = by_shared(1.0, w.pattern[t]) if s.exits.promise.match == EXTENDED else by_values(1.0)
    best, least = -1, np.inf
    for j in range(w.clock.held):
        if w.home[j] >= 0:
            far = distance(s.domain, w, t, j, yard)
            if best < 0 or far < least or (far == least and w.arrival[j] < w.arrival[best]):
                best, least = j, far
    return w.home[best] if best >= 0 else -1
