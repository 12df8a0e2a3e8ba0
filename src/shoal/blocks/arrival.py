"""Arrivals: the batch is taken in until the oldest must leave."""

from __future__ import annotations

from shoal.blocks.core import core
from shoal.blocks.diversity import count_in
from shoal.blocks.reuse import cover_of
from shoal.blocks.window import BUFFER, arrive, insert
from shoal.compiled import inlined


@inlined
def is_due(s):
    """Whether the oldest must leave: it has waited as long as it may, or as many are held as may be (buffer).

    While fewer than k persons are there and nothing covers it, it may wait longer if the policy says so.
    """
    c = s.window.clock
    if c.front < 0:
        return False
    used = c.held - c.pocket if c.kind == BUFFER else c.now - s.window.since[c.front]
    if used < c.length:
        return False
    return used >= c.stretched or s.window.persons.size[0] >= s.rule.k or cover_of(core(s), c.front) >= 0


@inlined
def is_open(clock):
    """Whether there are rows to take in."""
    return clock.row < clock.stop


@inlined
def next_due(s, batch, closing):
    """Take in the batch until the oldest must leave; False once the batch is in and nothing has to leave.

    The clock moves to an arrival before it is inserted, so that what it makes due leaves first.
    """
    c = s.window.clock
    while True:
        if is_due(s) or (closing and not is_open(c) and c.front >= 0):
            return True
        if not is_open(c):
            return False
        take_in(s, batch)


@inlined
def take_in(s, batch):
    """Half a step of an arrival: first the clock moves to it, then it is inserted. Its slot, or -1 after the first half."""
    c = s.window.clock
    if c.announced:
        c.announced = False
        slot = insert(s.domain, s.window, batch)
        count_in(s.exits.diversity, s.window, slot)
        return slot
    arrive(c, batch.time[c.row])
    c.announced = True
    return -1
