"""TIDE placeholder docstring."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.blocks.groups import generalize
from shoal.blocks.growth import cheapest_candidate, grow, standing
from shoal.blocks.outcome import let_go
from shoal.blocks.release import CLUSTER, REUSE, SUPPRESSED
from shoal.blocks.repair import dissolve, enter, found, improve, settle
from shoal.blocks.reuse import best_cover, row_of
from shoal.blocks.wave import LARGEST, draw_up, rounded
from shoal.blocks.window import BUFFER, TIME, is_due, is_open, take_in
from shoal.compiled import inlined, kernel
from shoal.policy import Policy

EFFORT = {"quick": (2, 1), "thorough": (4, 3)}  # seeds for every k tuples, rounds of repair
SLACK = 32  # a wave is closed when this share of the window is left
PORTION = 16  # tuples that are covered, settled or improved in one step

OPEN, COVER, SEED, GROUP, SETTLE, DISSOLVE, IMPROVE, DONE = range(8)


class Memory(NamedTuple):
    closed: NDArray[np.int64]  # how many of the oldest are in the wave; 0: it is still open
    moment: NDArray[np.float64]  # when it was closed


def memory(policy: Policy) -> Memory:
    return Memory(np.zeros(1, np.int64), np.zeros(1))


def effort(policy: Policy) -> tuple[int, int]:
    return EFFORT[policy.algorithm.effort]  # type: ignore[attr-defined]


@kernel
def run(s, batch, closing):
    c, m = s.window.clock, s.memory
    while True:
        at_end = closing and not is_open(c) and c.held > 0
        if at_end or is_due(s.window):
            if at_end or m.closed[0] == 0:
                _close(s)
            _depart(s)
        elif is_open(c):
            take_in(s, batch)
            _keep_pace(s)
        else:
            _keep_pace(s)
            break


@inlined
def _keep_pace(s):
    """Close the wave in time, and do as much of its work as time has passed since."""
    w, m, work = s.window, s.memory, s.wave.work
    c = w.clock
    if c.held == 0:
        return
    slack = c.length / SLACK if c.kind == TIME else np.floor(c.length / SLACK)
    used = np.float64(c.held) if c.kind == BUFFER else c.now - w.since[c.oldest]
    late = used - (c.length - slack)
    if m.closed[0] == 0 and late >= 0 and w.persons.size[0] >= s.rule.k:
        _close(s)
    if m.closed[0] > 0:
        while work.stage != DONE and _progress(work) * slack < late:
            _step(s)


@inlined
def _close(s):
    """The wave is what is held, or the oldest of it if that is too much."""
    c = s.window.clock
    s.memory.closed[0] = c.held if c.held <= 2 * LARGEST else LARGEST
    s.memory.moment[0] = c.now
    s.wave.work.stage = OPEN


@inlined
def _progress(work):
    """How much of the work is done, roughly: 0 to 1."""
    if work.stage == COVER:
        return 0.1 * work.next / work.tuples
    if work.stage == SEED:
        return 0.1 + 0.3 * work.next / work.seeds
    if work.stage == GROUP:
        return 0.7 - 0.3 * work.free / work.persons
    if work.stage == SETTLE:
        return 0.7
    if work.stage == DISSOLVE or work.stage == IMPROVE:
        return 0.7 + 0.3 * (work.round + 0.5 * (work.stage == IMPROVE)) / work.rounds
    return 0.0


@inlined
def _step(s):
    """One step of the partitioning."""
    domain, v, work, k = s.domain, s.wave, s.wave.work, s.rule.k
    stage = work.stage
    start = work.next
    stop = min(start + PORTION, work.tuples)
    if stage == OPEN:
        draw_up(domain, s.window, v, s.scratch, s.memory.closed[0])
        work.stage, work.next = COVER if work.persons >= k else DONE, 0
        work.seeds = min(work.tuples, -(-work.seeds_each * work.tuples // k))
    elif stage == COVER:
        for t in range(start, stop):
            _find_cover(s, t)
        _go_on(work, stop, work.tuples)
    elif stage == SEED:
        v.member[start, 0] = (2 * start + 1) * work.tuples // (2 * work.seeds)
        v.price[start] = grow(domain, v, k, start, 1)
        _go_on(work, start + 1, work.seeds)
    elif stage == GROUP:
        if work.free < k:
            work.stage, work.next = SETTLE, 0
        else:
            _take_cheapest(s)
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
    elif stage == IMPROVE:
        for t in range(start, stop):
            work.changes += improve(domain, v, t, k)
        _go_on(work, stop, work.tuples)
        if work.stage == DONE:
            work.round += 1
            if work.round < work.rounds and work.changes > 0:
                work.stage, work.changes = DISSOLVE, 0


@inlined
def _go_on(work, reached, end):
    """Note how far a stage has come; after its end comes the next."""
    work.next = reached
    if reached == end:
        work.stage += 1
        work.next = 0


@inlined
def _find_cover(s, t):
    """The best cover of a tuple at the moment when the wave was closed, and what it costs."""
    w, g, v = s.window, s.groups, s.wave
    slot, now = v.slot[t], w.clock.now
    w.clock.now = s.memory.moment[0]
    row = best_cover(s.reuse, g, w, slot)
    w.clock.now = now
    v.cover[t], v.alone[t] = -1, np.inf
    if row >= 0:
        v.cover[t], v.alone[t] = g.number[row], 0.0
        for q in range(len(v.place)):
            if v.place[q, t] >= 0:
                v.alone[t] += v.weight[t] * rounded(g.loss[row, q])


@inlined
def _take_cheapest(s):
    """The cheapest candidate becomes a group, or grows again if it has lost members to another."""
    domain, v, work, k = s.domain, s.wave, s.wave.work, s.rule.k
    candidate, size = cheapest_candidate(v), 0
    if candidate < 0:
        while v.group[work.oldest] >= 0:
            work.oldest += 1
        candidate, size = 0, 1
        v.member[0, 0] = work.oldest
    else:
        size = standing(v, k, candidate)
    if size == k and v.price[candidate] < np.inf:
        found(v, work.groups)
        for i in range(k):
            t = v.member[candidate, i]
            enter(domain, v, t, work.groups)
            v.busy[t] = 1
            v.tuples[v.person[t]] -= 1
            work.free -= v.tuples[v.person[t]] == 0
        work.groups += 1
        v.price[candidate] = np.inf
    elif size == 0:
        v.price[candidate] = np.inf
    else:
        v.price[candidate] = grow(domain, v, k, candidate, size)


@inlined
def _depart(s):
    """All of the wave leave: first those without a group, one by one, then the group of the oldest, again and again.

    With fewer than k persons in the wave only the oldest leaves.
    """
    domain, w, g, v, m, chosen = s.domain, s.window, s.groups, s.wave, s.memory, s.scratch.chosen
    c, work = w.clock, v.work
    while work.stage != DONE:
        _step(s)
    few = work.persons < s.rule.k
    if few:
        _find_cover(s, 0)
        m.closed[0] = 1
    else:
        for t in range(work.tuples):
            w.home[v.slot[t]] = v.group[t]
    slot, t = c.oldest, 0
    while m.closed[0] > 0:
        while t < work.tuples and w.home[slot] >= 0:
            slot = w.newer[slot]
            t += 1
        size, row, how = 1, -1, SUPPRESSED
        following = -1
        if t < work.tuples:
            chosen[0] = slot
            following = w.newer[slot]
            row = row_of(s.reuse, v.cover[t])
            how = REUSE if row >= 0 else SUPPRESSED
            t += 1
        else:
            size, how = 0, CLUSTER
            group = w.home[c.oldest]
            for j in range(c.held):
                if w.home[j] == group:
                    chosen[size] = j
                    size += 1
            row = generalize(domain, w, chosen[:size], g)
        if following != c.held - 1:  # the last tuple moves into the freed slot
            slot = following
        let_go(s, size, row, how)
        m.closed[0] -= size
    work.stage = OPEN
