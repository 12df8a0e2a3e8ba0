"""A compiled algorithm that lies: a number of times it asks the door for what it must not have, then it is honest again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal import Anonymizer
from shoal.blocks.arrival import is_due, is_open, take_in
from shoal.blocks.groups import generalize
from shoal.blocks.outcome import release_chosen
from shoal.blocks.release import CLUSTER, REUSE, SUPPRESSED, release
from shoal.blocks.reuse import admit, best_cover
from shoal.compiled import inlined, kernel
from shoal.conformance.streams import Stream, policy_of

LIES = (
    "none",
    "k - 1 persons", "k tuples of fewer persons", "nobody",
    "low end too high", "high end too low", "category too narrow", "quasi-identifier missing",
    "a tuple twice in a full group", "a tuple twice in place of a person", "slots that hold nothing",
    "reuse of a row never published", "reuse of a negative row", "reuse of a row far out", "reuse that does not cover",
    "reuse of a candidate let into the reuse set", "suppressed with a row", "turn set back",
    "a person twice", "reuse by a member", "reuse at another time",
    "a value left out of a set", "a lone value in a set",
    "newest instead of oldest", "held past the deadline",
)  # fmt: skip
(
    NONE,
    SMALL, ONE_PERSON, NOBODY,
    LOW, HIGH, CATEGORY, PATTERN,
    TWICE, TWICE_SHORT, NOWHERE,
    UNPUBLISHED, NEGATIVE, FAR, UNCOVERED,
    ADMITTED, SUPPRESSED_ROW, TURN,
    CROWDED, BY_MEMBER, OUT_OF_TIME,
    LEFT_OUT, LONE,
    NEWEST, HOLD,
) = range(len(LIES))  # fmt: skip


def liar(stream: Stream, lie: str, times: int, after: int = 0) -> tuple[Anonymizer, NDArray[np.int64]]:
    """A real anonymizer with the lying algorithm inside, and a cell that counts down the lies that are left."""
    anonymizer = Anonymizer(policy_of("fads", stream))
    plan = np.array([LIES.index(lie), times, after], np.int64)
    anonymizer._engine._lane.kernel = lambda s, batch, closing: run(s, batch, closing, plan)
    return anonymizer, plan[1:2]


@kernel
def run(s, batch, closing, plan):
    """`plan` (int64[3]): which lie, how many times, and after how many honest groups."""
    c = s.window.clock
    while True:
        lie = plan[0] if plan[1] > 0 and s.exits.tally.groups >= plan[2] else NONE
        is_patient = lie in (NEWEST, HOLD)
        if closing and not is_open(c) and c.held > 0:
            plan[1] -= publish(s, NONE if is_patient else lie)
        elif is_due(s) and not is_patient:
            plan[1] -= publish(s, lie)
        elif is_open(c):
            if c.announced and is_due(s):
                plan[1] -= publish(s, lie) if lie == NEWEST else 1
            take_in(s, batch)
        else:
            break


@inlined
def publish(s, lie):
    """One step; 1 if it lied."""
    w, g, k, chosen = s.window, s.groups, s.rule.k, s.scratch.chosen
    size = _neighbours(w, k, chosen, lie == NEWEST)
    if size < k or lie == NONE or len(chosen) < k + 4:
        _honest(s, size)
        return 0
    if lie == SMALL:
        size = k - 1
    elif lie == NOBODY:
        size = 0
    elif lie == CROWDED:
        size = _with_second(w, k, chosen)
    elif lie == ONE_PERSON:
        size = _same_person(w, k, chosen)
        if size < k:
            _honest(s, _neighbours(w, k, chosen, False))
            return 0
    row = generalize(s, chosen[:size])
    how = CLUSTER
    if lie == LOW:
        g.low[row, 0] = max(g.low[row, 0], -1.7e308)
        g.low[row, 0] += _next(g.low[row, 0])
    elif lie == HIGH:
        g.high[row, 0] -= _next(g.high[row, 0])
    elif lie == CATEGORY:
        g.high[row, 1] = g.low[row, 1]
    elif lie == LEFT_OUT and g.nodes.shape[1] > 0:
        g.nodes[row, 0] &= g.nodes[row, 0] - np.uint64(1)
    elif lie == LONE and g.nodes.shape[1] > 0:
        g.nodes[row, 0] |= np.uint64(1) << np.uint64(w.values[chosen[0], 1])
    elif lie == PATTERN:
        g.pattern[row] &= ~np.uint64(2)
    elif lie in (TWICE, TWICE_SHORT):
        chosen[k if lie == TWICE else k - 1] = chosen[0]
        size = k + (lie == TWICE)
    elif lie == NOWHERE:
        chosen[k], chosen[k + 1], chosen[k + 2], chosen[k + 3] = -1, w.clock.held, -(2**62), 2**62
        size = k + 4
    elif lie == TURN:
        s.scratch.turn[0] -= 3
    elif lie == SUPPRESSED_ROW:
        how, size = SUPPRESSED, 1
    elif lie in (BY_MEMBER, OUT_OF_TIME):
        how, size, row = REUSE, 1, 0
    elif lie >= UNPUBLISHED and lie <= ADMITTED:
        how, size = REUSE, 1
        if lie == NEGATIVE:
            row = -1
        elif lie == FAR:
            row = 2**40
        elif lie == UNCOVERED:
            row = 0
        elif lie == ADMITTED:
            g.published[row] = w.clock.now
            admit(s.reuse, g, row, w.clock.now)
            row = best_cover(s, chosen[0])
    release(s, chosen[:size], row, how)
    return 1


@inlined
def _next(value):
    """A step to a number next to this one, without a call of the C library, which code from the cache cannot make."""
    return max(abs(value), 1e-300) * 2.0**-52


@inlined
def _honest(s, size):
    if size < s.rule.k:
        s.scratch.chosen[0] = s.window.clock.oldest
        release_chosen(s, 1, -1, SUPPRESSED)
    else:
        release_chosen(s, size, generalize(s, s.scratch.chosen[:size]), CLUSTER)


@inlined
def _neighbours(w, k, chosen, newest):
    """The k oldest (or newest) tuples of different persons; how many were found."""
    size = 0
    slot = w.clock.newest if newest else w.clock.oldest
    while slot >= 0 and size < k:
        new = True
        for i in range(size):
            new = new and w.person[chosen[i]] != w.person[slot]
        if new:
            chosen[size] = slot
            size += 1
        slot = w.older[slot] if newest else w.newer[slot]
    return size


@inlined
def _with_second(w, k, chosen):
    """The chosen k and one more tuple of the oldest one's person, if there is one; how many they are."""
    slot = w.newer[w.clock.oldest]
    while slot >= 0:
        if w.person[slot] == w.person[chosen[0]]:
            chosen[k] = slot
            return k + 1
        slot = w.newer[slot]
    return k


@inlined
def _same_person(w, k, chosen):
    """The k oldest tuples of the oldest tuple's person; how many were found."""
    size = 0
    slot = w.clock.oldest
    person = w.person[slot]
    while slot >= 0 and size < k:
        if w.person[slot] == person:
            chosen[size] = slot
            size += 1
        slot = w.newer[slot]
    return size
