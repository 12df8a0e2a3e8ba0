"""The loop of tide: when a wave closes, which step of its work is next, and how it leaves.

`v` is the `Wave`, `work` its record `v.work`, and t the index of a tuple in it (`algorithms.tide.wave`); `blocks.state`
explains all other arguments.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.tide.completion import complete_wave
from shoal.algorithms.tide.groups import close
from shoal.algorithms.tide.growth import grow, whole
from shoal.algorithms.tide.parts import cut
from shoal.algorithms.tide.repair import dissolve, improve, settle, take_cheapest
from shoal.algorithms.tide.shortlist import fill_columns
from shoal.algorithms.tide.wave import LARGEST, Wave, fill_wave, link_persons, rounded, wave
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
    distance,
    domain,
    generalize,
    hand_over,
    hide_row,
    is_at_end,
    is_diverse,
    is_due,
    is_open,
    row_of,
    show_row,
    take_in,
)
from shoal.compiled import ENTRIES, first_one, inlined, inner, kernel, up_to
from shoal.policy import Policy

EFFORT = {"quick": (2, 1), "thorough": (8, 3)}  # seeds for every k tuples, rounds of repair

_SLACK = 32
_PORTION = 16  # tuples that are covered, settled or improved in one step

OPEN, COVER, PART, SEED, GROUP, SETTLE, DISSOLVE, IMPROVE, DONE = range(9)


class Memory(NamedTuple):
    closed: NDArray[np.int64]  # how many of the oldest tuples are in the wave; 0: it is still open
    moment: NDArray[np.float64]  # when it was closed
    wave: Wave  # work arrays: after a restore from a snapshot the work is done again


def memory(policy: Policy) -> Memory:
    seeds, rounds = EFFORT[policy.algorithm.effort]
    match = policy.privacy.nulls_match
    strict, blurred = match in ("extended", "root"), match == "blurred"
    empty = wave(domain(policy), policy.privacy.k, seeds, rounds, strict, blurred, policy.one_in_k, 1)
    return Memory(np.zeros(1, np.int64), np.zeros(1), empty)


def grown(memory: Memory, s: State, slots: int) -> Memory:
    """The same with room for the largest wave of a window with `slots` slots; the work on the wave starts again."""
    work, clock = memory.wave.work, s.window.clock
    most = int(min(slots if clock.kind == TIME else clock.stretched, 2 * LARGEST))
    parameters = int(s.rule.k), int(work.seeds_each), int(work.rounds)
    reading = bool(work.strict), bool(work.blurred), bool(work.single)
    return memory._replace(wave=wave(s.domain, *parameters, *reading, most))


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
    if work.stage <= COVER:
        return 0.1 * work.next / work.tuples if work.stage == COVER else 0.0
    own = 0.0
    if work.stage == SEED:
        own = 0.35 * work.next / work.seeds
    elif work.stage == GROUP:
        own = 0.7 - 0.35 * work.free / work.members
    elif work.stage >= SETTLE:
        own = 0.7 + 0.3 * (work.done + 0.5 * (work.stage == IMPROVE)) / work.rounds
    done = work.stop if work.stage == PART else work.start + own * (work.stop - work.start)
    return 0.1 + 0.9 * done / work.tuples


@inner
def _work(s, part):
    """Do steps of the partitioning until this part of it is done."""
    domain, v, work, k = s.domain, s.memory.wave, s.memory.wave.work, s.rule.k
    while work.stage != DONE and _progress(work) < part:
        stage, start = work.stage, work.next
        if stage == OPEN:
            fill_wave(domain, s.window, v, s.scratch, s.memory.closed[0])
            work.stage, work.next = COVER if work.persons >= k else DONE, 0
            for group in range(len(v.boxes.first)):
                close(v.boxes, group)
        elif stage == COVER:
            stop = min(start + _PORTION, work.tuples)
            for t in range(start, stop):
                _find_cover(s, v, s.memory.moment[0], t)
            _advance(work, stop, work.tuples)
        elif stage == PART:
            _cut_or_begin(domain, v, s.scratch, k)
        elif stage == SEED:
            tuples = work.stop - work.start
            v.growth.member[start, 0] = v.order[work.start + (2 * start + 1) * tuples // (2 * work.seeds)]
            v.growth.price[start] = grow(domain, v, k, start, 1)
            _advance(work, start + 1, work.seeds)
        elif stage == GROUP:
            if work.free < k:
                work.stage, work.next = SETTLE, work.start
            else:
                take_cheapest(domain, v, k)
        elif stage == DISSOLVE:
            group = work.groups - 1 - start
            if v.boxes.first[group] >= 0:
                work.changes += dissolve(domain, v, group)
            _advance(work, start + 1, work.groups - work.first)
            work.next = work.start if work.stage == IMPROVE else work.next
        else:
            stop = min(start + _PORTION, work.stop)
            for j in range(start, stop):
                t = v.order[j]
                if stage == IMPROVE:
                    work.changes += improve(domain, v, t, k)
                elif v.tuples.group[t] < 0:
                    settle(domain, v, t)
            _advance(work, stop, work.stop)
            if work.stage == DONE:
                work.done += 1
                again = work.done < work.rounds and work.changes > 0
                work.stage = DISSOLVE if again else PART if work.stop < work.tuples else DONE
                work.changes = 0


@inlined
def _cut_or_begin(domain, v, scratch, k):
    """Cut the next part in two if it is large, or begin to partition it."""
    work = v.work
    start, stop = work.stop, v.ends[work.parts - 1]
    if stop - start > work.most:
        middle = cut(domain, v, scratch, k, start, stop)
        if middle > start:
            v.ends[work.parts] = middle
            work.parts += 1
            return
    work.parts -= 1
    work.start, work.stop, work.oldest, work.first = start, stop, start, work.groups
    work.seeds = min(stop - start, -(-work.seeds_each * (stop - start) // k))
    for c in range(whole(work.seeds)):
        v.growth.price[c] = np.inf
    link_persons(v, scratch)
    fill_columns(domain, v)
    work.stage, work.next, work.done, work.changes = SEED, 0, 0, 0


@inlined
def _advance(work, reached, end):
    """Store how far a stage has come; at its end the next stage begins."""
    work.next = reached
    if reached == end:
        work.stage += 1
        work.next = 0


@inlined
def _find_cover(s, v, moment, t):
    c, g, p = s.window.clock, s.groups, v.tuples
    now = c.now
    c.now = moment
    _let_kin_leave(s, v, t)
    row = call_best_cover(core(s), p.slot[t])
    _let_kin_return(s, v, t)
    c.now = now
    p.cover[t], p.cover_cost[t] = -1, np.inf
    if row >= 0:
        p.cover[t], p.cover_cost[t] = g.number[row], 0.0
        for q in range(len(v.scale.width)):
            if p.pattern[t] >> np.uint64(q) & np.uint64(1):
                p.cover_cost[t] += p.weight[t] * rounded(v, q, g.loss[row, q])
            p.cover_cost[t] += v.scale.doubt[q] if g.doubt[row] >> np.uint64(q) & np.uint64(1) else 0.0


@inlined
def _let_kin_leave(s, v, t):
    """Under `one_in_k`, count the older tuples of the same person as if they had left by their covers."""
    p = v.tuples
    u = p.kin[t] if v.work.single else np.int64(-1)
    while u >= 0:
        row = row_of(s.reuse, p.cover[u]) if p.cover[u] >= 0 else np.int64(-1)
        if row >= 0:
            show_row(s.groups, row, s.window, p.slot[u])
        u = p.kin[u]


@inlined
def _let_kin_return(s, v, t):
    """Count them no more."""
    p = v.tuples
    u = p.kin[t] if v.work.single else np.int64(-1)
    while u >= 0:
        row = row_of(s.reuse, p.cover[u]) if p.cover[u] >= 0 else np.int64(-1)
        if row >= 0:
            hide_row(s.groups, row)
        u = p.kin[u]


@inlined
def _release_wave(s):
    """The wave leaves: first the tuples in no group, one by one, then the group of the oldest tuple, until none is left.

    Before the first group leaves, those that are not diverse enough are joined with others; one that fails nevertheless
    withholds what does not hold. With fewer than k persons only the oldest leaves.
    """
    w, g, m, chosen = s.window, s.groups, s.memory, s.scratch.chosen
    c, v, p = w.clock, m.wave, m.wave.tuples
    slot, t, tuples = c.oldest, 0, v.work.tuples
    grouped = w.persons.size[0] >= s.rule.k and v.work.persons >= s.rule.k
    if grouped:
        for j in range(tuples):
            w.cluster[p.slot[j]] = p.group[j]
    else:
        tuples = 1
        slot = c.due
        row = call_best_cover(core(s), slot)
        p.cover[0] = g.number[row] if row >= 0 else -1
        w.cluster[slot] = -1
    asked, completed, failed = grouped and len(s.exits.diversity.kind) > 0, False, False
    while True:
        while t < tuples and w.cluster[slot] >= 0:
            slot = w.newer[slot]
            t += 1
        if t < tuples:
            row = row_of(s.reuse, p.cover[t])
            if grouped and not (row >= 0 and c.now - g.published[row] < s.reuse.rule.age and can_serve(s, row, slot)):
                row = call_best_cover(core(s), slot)
                w.cluster[slot] = -1 if row >= 0 else _nearest_group(core(s), slot)
                if w.cluster[slot] >= 0:
                    continue
                if row < 0 and v.work.single:  # it stays for the next wave, which follows at once if the oldest is due
                    slot = w.newer[slot]
                    t += 1
                    continue
            size, how = 1, REUSE if row >= 0 else SUPPRESSED
            chosen[0] = slot
            if w.newer[slot] != c.held - 1:  # or else the next tuple moves into this slot
                slot = w.newer[slot]
            t += 1
        else:
            if asked and not completed:
                complete_wave(core(s), v.work.groups)
                completed = True
            oldest = c.oldest
            while oldest >= 0 and w.cluster[oldest] < 0:
                oldest = w.newer[oldest]
            if oldest < 0:
                break
            size, how = _members(w, w.cluster[oldest], chosen), CLUSTER
            row = generalize(s, chosen[:size])
            failed = asked and not is_diverse(s.exits.diversity, w, chosen[:size], s.scratch)
        call_release_chosen(core(s), size, row, how, failed)
    m.closed[0], v.work.stage = 0, OPEN


@inlined
def _members(w, group, chosen):
    """Choose the tuples of a group; how many they are."""
    size, whole = 0, w.clock.held // ENTRIES * ENTRIES
    for start in range(0, whole, ENTRIES):
        found = up_to(w.cluster, start, group) & ~up_to(w.cluster, start, group - 1)
        while found != 0:
            chosen[size] = start + first_one(found)
            size += 1
            found &= found - np.uint64(1)
    for j in range(whole, w.clock.held):
        if w.cluster[j] == group:
            chosen[size] = j
            size += 1
    return size


@inner
def _nearest_group(s, t):
    """The group of the nearest tuple that is in a group, the older on a tie; -1 if no tuple is.

    Under `one_in_k` groups that hold the person of `t` do not count.
    """
    w = s.window
    metric = by_shared(1.0, w.pattern[t]) if s.exits.promise.match == EXTENDED else by_values(1.0)
    best, least = -1, np.inf
    for j in range(w.clock.held):
        if w.cluster[j] >= 0:
            far = distance(s.domain, w, t, j, metric)
            closer = best < 0 or far < least or (far == least and w.arrival[j] < w.arrival[best])
            if closer and not (s.exits.promise.one_in_k and _holds(w, w.cluster[j], w.person[t])):
                best, least = j, far
    return w.cluster[best] if best >= 0 else -1


@inlined
def _holds(w, group, person):
    held = False
    for j in range(w.clock.held):
        held |= w.cluster[j] == group and w.person[j] == person
    return held
