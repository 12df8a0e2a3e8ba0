"""The loop of tide: when a wave closes, which step of its work is next, and how it leaves.

`v` is the `Wave`, `work` its record `v.work`, and t the index of a tuple in it (`algorithms.tide.wave`); `blocks.state`
explains all other arguments.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.tide.growth import grow
from shoal.algorithms.tide.repair import dissolve, improve, settle, take_cheapest
from shoal.algorithms.tide.wave import LARGEST, Wave, fill_wave, rounded, wave
from shoal.blocks import (
    BUFFER,
    CLUSTER,
    EXTENDED,
    REUSE,
    SUPPRESSED,
    TIME,
    State,
    by_shared,
    by_values,
    call_best_cover,
    call_release_chosen,
    can_serve,
    core,
    count_persons,
    count_shown,
    distance,
    domain,
    generalize,
    hand_over,
    is_at_end,
    is_diverse,
    is_due,
    is_open,
    measure_from,
    nearest_helper,
    row_of,
    take_in,
    unmet,
)
from shoal.compiled import inlined, inner, kernel
from shoal.policy import Policy

EFFORT = {"quick": (2, 1), "thorough": (8, 3)}  # seeds for every k tuples, rounds of repair

_SLACK = 32
_PORTION = 16  # tuples that are covered, settled or improved in one step

OPEN, COVER, SEED, GROUP, SETTLE, DISSOLVE, IMPROVE, DONE = range(8)


class Memory(NamedTuple):
    closed: NDArray[np.int64]  # how many of the oldest tuples are in the wave; 0: it is still open
    moment: NDArray[np.float64]  # when it was closed
    wave: Wave  # work arrays: after a restore from a snapshot the work is done again


def memory(policy: Policy) -> Memory:
    seeds, rounds = EFFORT[policy.algorithm.effort]
    strict = policy.privacy.nulls_match != "maybe"
    return Memory(np.zeros(1, np.int64), np.zeros(1), wave(domain(policy), policy.privacy.k, seeds, rounds, strict, 1))


def grown(memory: Memory, s: State, slots: int) -> Memory:
    """The same with room for the largest wave of a window with `slots` slots; the work on the wave starts again."""
    work, clock = memory.wave.work, s.window.clock
    most = int(min(slots if clock.kind == TIME else clock.stretched, 2 * LARGEST))
    parameters = int(s.rule.k), int(work.seeds_each), int(work.rounds), bool(work.strict)
    return memory._replace(wave=wave(s.domain, *parameters, most))


@kernel
def run(s, batch, closing):
    w, m, k = s.window, s.memory, s.rule.k
    c = w.clock
    while True:
        hand_over(s)  # no tuple of a closed wave is handed over, since it holds k persons
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
            _release_wave(s)
        elif is_open(c):
            slot = take_in(s, batch)
            if slot >= 0 and w.newer[slot] >= 0:  # another lane handed a tuple over into the wave: it closes again
                m.closed[0] = 0
        else:
            break


@inlined
def _part_of_slack(c, since):
    """Which part of the time between closing and leaving has passed, from 0 to 1; negative before closing."""
    if c.held == 0:
        return -np.inf
    slack = c.length / _SLACK if c.kind == TIME else np.floor(c.length / _SLACK)
    used = np.float64(c.held) if c.kind == BUFFER else c.now - since[c.oldest]
    return (used - (c.length - slack)) / slack


@inlined
def _progress(work):
    """Roughly which part of the work is done, from 0 to 1."""
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
    """Do steps of the partitioning until this part of it is done."""
    domain, v, work, k = s.domain, s.memory.wave, s.memory.wave.work, s.rule.k
    while work.stage != DONE and _progress(work) < part:
        stage, start = work.stage, work.next
        stop = min(start + _PORTION, work.tuples)
        if stage == OPEN:
            fill_wave(domain, s.window, v, s.scratch, s.memory.closed[0])
            work.stage, work.next = COVER if work.persons >= k else DONE, 0
            work.seeds = min(work.tuples, -(-work.seeds_each * work.tuples // k))
        elif stage == COVER:
            for t in range(start, stop):
                _find_cover(s, v, s.memory.moment[0], t)
            _advance(work, stop, work.tuples)
        elif stage == SEED:
            v.member[start, 0] = (2 * start + 1) * work.tuples // (2 * work.seeds)
            v.price[start] = grow(domain, v, k, start, 1)
            _advance(work, start + 1, work.seeds)
        elif stage == GROUP:
            if work.free < k:
                work.stage, work.next = SETTLE, 0
            else:
                take_cheapest(domain, v, k)
        elif stage == SETTLE:
            for t in range(start, stop):
                if v.group[t] < 0:
                    settle(domain, v, t)
            _advance(work, stop, work.tuples)
        elif stage == DISSOLVE:
            group = work.groups - 1 - start
            if v.first[group] >= 0:
                work.changes += dissolve(domain, v, group)
            _advance(work, start + 1, work.groups)
        else:
            for t in range(start, stop):
                work.changes += improve(domain, v, t, k)
            _advance(work, stop, work.tuples)
            if work.stage == DONE:
                work.done += 1
                if work.done < work.rounds and work.changes > 0:
                    work.stage, work.changes = DISSOLVE, 0


@inlined
def _advance(work, reached, end):
    """Store how far a stage has come; at its end the next stage begins."""
    work.next = reached
    if reached == end:
        work.stage += 1
        work.next = 0


@inlined
def _find_cover(s, v, moment, t):
    c, g = s.window.clock, s.groups
    now = c.now
    c.now = moment
    row = call_best_cover(core(s), v.slot[t])
    c.now = now
    v.cover[t], v.cover_cost[t] = -1, np.inf
    if row >= 0:
        v.cover[t], v.cover_cost[t] = g.number[row], 0.0
        for q in range(len(v.place)):
            if v.place[q, t] >= 0:
                v.cover_cost[t] += v.weight[t] * rounded(v, q, g.loss[row, q])


@inlined
def _release_wave(s):
    """The wave leaves: first the tuples in no group, one by one, then the group of the oldest tuple, until none is left.

    With fewer than k persons only the oldest leaves.
    """
    w, g, m, chosen = s.window, s.groups, s.memory, s.scratch.chosen
    c, v = w.clock, m.wave
    slot, t, tuples = c.oldest, 0, v.work.tuples
    grouped = w.persons.size[0] >= s.rule.k and v.work.persons >= s.rule.k
    if grouped:
        for j in range(tuples):
            w.cluster[v.slot[j]] = v.group[j]
    else:
        m.closed[0] = tuples = 1
        slot = c.due
        row = call_best_cover(core(s), slot)
        v.cover[0] = g.number[row] if row >= 0 else -1
        w.cluster[slot] = -1
    newest = w.arrival[slot] if tuples == 1 else w.arrival[v.slot[tuples - 1]]
    while m.closed[0] > 0:
        while t < tuples and w.cluster[slot] >= 0:
            slot = w.newer[slot]
            t += 1
        if t < tuples:
            row = row_of(s.reuse, v.cover[t])
            if grouped and not (row >= 0 and c.now - g.published[row] < s.reuse.rule.age and can_serve(s, row, slot)):
                row = call_best_cover(core(s), slot)
                w.cluster[slot] = -1 if row >= 0 else _nearest_group(core(s), slot)
                if w.cluster[slot] >= 0:
                    continue
            size, how = 1, REUSE if row >= 0 else SUPPRESSED
            chosen[0] = slot
            if w.newer[slot] != c.held - 1:  # or else the next tuple moves into this slot
                slot = w.newer[slot]
            t += 1
        else:
            size, how = _complete(s, w.cluster[c.oldest]), CLUSTER
            if size == 0:
                m.closed[0] -= _release_singly(s, w.cluster[c.oldest])
                continue
            row = generalize(s, chosen[:size])
        for i in range(size):
            m.closed[0] -= w.arrival[chosen[i]] <= newest
        call_release_chosen(core(s), size, row, how)
    m.closed[0], v.work.stage = 0, OPEN


@inlined
def _members(w, group, chosen):
    size = 0
    for j in range(w.clock.held):
        if w.cluster[j] == group:
            chosen[size] = j
            size += 1
    return size


@inlined
def _complete(s, group):
    """Choose the members of a group, and tuples that make it diverse enough; how many they are, 0 if that is impossible."""
    size = _members(s.window, group, s.scratch.chosen)
    if len(s.exits.diversity.kind) == 0 or is_diverse(s.exits.diversity, s.window, s.scratch.chosen[:size], s.scratch):
        return size
    return _extend(core(s), group, size)


@inner
def _extend(s, group, size):
    """Add the nearest tuples that help to the chosen; a tuple that its own group cannot spare brings that whole group."""
    w, scratch, k = s.window, s.scratch, s.exits.promise.k
    chosen, came_from, members = scratch.chosen, scratch.best_alike, size
    measure_from(s, w.clock.oldest, chosen[:size], 1.0)
    count_persons(w, chosen[:size], scratch)
    turn = scratch.turn[0]  # marks the persons of the chosen
    while True:
        demand = unmet(s.exits.diversity, scratch)
        if demand < 0:
            return size
        helper = nearest_helper(s, demand, turn)
        if helper < 0:
            for i in range(members, size):
                w.cluster[chosen[i]] = came_from[i]
            return 0
        cluster = w.cluster[helper]
        first = size
        if cluster < 0 or _persons_without(w, cluster, helper, scratch) >= k:
            chosen[size] = helper
            size += 1
        else:
            size += _members(w, cluster, chosen[size:])
        for i in range(first, size):
            came_from[i] = cluster
            w.cluster[chosen[i]] = group
            scratch.seen[w.person[chosen[i]]] = turn
            count_shown(w, chosen[i], scratch)


@inlined
def _persons_without(w, cluster, slot, scratch):
    """How many persons a group counts without one of its tuples."""
    found, persons = scratch.rank, 0
    for j in range(w.clock.held):
        if w.cluster[j] == cluster and j != slot:
            known = False
            for i in range(persons):
                known |= found[i] == w.person[j]
            if not known:
                found[persons] = w.person[j]
                persons += 1
    return persons


@inlined
def _release_singly(s, group):
    """Release the members of a group that cannot be published one by one, the oldest first; how many they were."""
    w = s.window
    members = _members(w, group, s.scratch.chosen)
    for _ in range(members):
        slot = w.clock.oldest
        while w.cluster[slot] != group:
            slot = w.newer[slot]
        s.scratch.chosen[0] = slot
        row = call_best_cover(core(s), slot)
        call_release_chosen(core(s), 1, row, REUSE if row >= 0 else SUPPRESSED)
    return members


@inner
def _nearest_group(s, t):
    """The group of the nearest tuple that is in a group, the older on a tie; -1 if no tuple is."""
    w = s.window
    metric = by_shared(1.0, w.pattern[t]) if s.exits.promise.match == EXTENDED else by_values(1.0)
    best, least = -1, np.inf
    for j in range(w.clock.held):
        if w.cluster[j] >= 0:
            far = distance(s.domain, w, t, j, metric)
            if best < 0 or far < least or (far == least and w.arrival[j] < w.arrival[best]):
                best, least = j, far
    return w.cluster[best] if best >= 0 else -1
