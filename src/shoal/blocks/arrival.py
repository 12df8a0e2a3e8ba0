"""Arrivals: rows of the batch enter the window until a tuple must leave. `blocks.state` explains the arguments."""

from __future__ import annotations

from shoal.blocks.batch import ANNOUNCED, ARRIVAL, HANDED_OVER
from shoal.blocks.core import core
from shoal.blocks.diversity import count_in
from shoal.blocks.handover import hand_over
from shoal.blocks.reuse import best_cover
from shoal.blocks.window import BUFFER, arrive, insert
from shoal.compiled import inlined, inner


@inlined
def is_due(s):
    """Whether a tuple must leave now; `clock.due` is then its slot.

    The oldest tuple must leave once it has waited as long as it may, or once a buffer is full. While the window holds fewer
    than k persons, the policy may let tuples wait longer. Then the oldest of these that a published group covers must leave.
    """
    c = s.window.clock
    if c.front < 0:
        return False
    used = c.held - c.pocket if c.kind == BUFFER else c.now - s.window.since[c.front]
    if used < c.length:
        return False
    c.due = c.front
    if used < c.stretched and s.window.persons.size[0] < s.rule.k:
        c.due = _first_covered(core(s))
    return c.due >= 0


@inner
def _first_covered(s):
    """The oldest tuple that would be due and that a group covers; -1 if there is none.

    A tuple without a cover is not tried again until there is a new group. Under `one_in_k` and with demands of diversity it is,
    since a cover then also depends on what other tuples show.
    """
    w, c = s.window, s.window.clock
    fixed = len(s.exits.diversity.kind) == 0 and not s.exits.promise.one_in_k
    known = fixed and c.groups == s.exits.tally.groups
    slot, waiting = c.front, c.held - c.pocket
    while slot >= 0 and (waiting if c.kind == BUFFER else c.now - w.since[slot]) >= c.length:
        if not (known and w.arrival[slot] < c.asked) and best_cover(s, slot) >= 0:
            return slot
        slot = w.newer[slot]
        waiting -= 1
    c.asked = w.arrival[slot] if slot >= 0 else c.arrivals
    c.groups = s.exits.tally.groups
    return -1


@inlined
def is_open(clock):
    """Whether there are rows to take in, and a slot for the next."""
    return clock.row < clock.stop and clock.held < clock.room


@inlined
def is_at_end(c, closing):
    """Whether the stream has ended and tuples still wait in the window: then the oldest of them must leave."""
    c.due = c.front
    return closing and not is_open(c) and c.front >= 0


@inlined
def next_due(s, batch, closing):
    """Take in rows of the batch until a tuple must leave, and return True.

    False if no tuple must leave, and either all rows were taken in or no slot is free.

    The clock moves to an arrival before the arrival is inserted, so that a tuple that falls due at that moment leaves first.
    """
    c = s.window.clock
    while True:
        hand_over(s)
        if is_at_end(c, closing) or is_due(s):
            return True
        if not is_open(c):
            return False
        take_in(s, batch)


@inlined
def take_in(s, batch):
    """Do one half of an arrival: the first call moves the clock, the second inserts the tuple; its slot, -1 after the first.

    An arrival in another lane moves the clock and counts in the reference distribution of sensitive values; it is not inserted.
    A tuple that was handed over is only inserted: it was counted when it arrived.
    """
    c, row = s.window.clock, s.window.clock.row
    kind = batch.kind[row]
    if kind == HANDED_OVER:
        return insert(s.domain, s.window, batch)
    if not c.announced:
        arrive(c, batch.time[row])
        c.announced = True
        c.row += kind == ANNOUNCED
        return -1
    c.announced = False
    count_in(s.exits.diversity, batch, row)
    if kind == ARRIVAL:
        return insert(s.domain, s.window, batch)
    c.row += 1
    return -1
