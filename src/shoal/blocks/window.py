"""The window: the tuples that wait, in arrays without holes, and the clock that says which of them is due.

A tuple lives in a slot below `clock.held`. Slots are dense, so that a scan reads nothing in vain; the tuple in the last
slot moves into a freed one, and a doubly linked list keeps the order of arrival.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.blocks.roster import Roster, join, leave, roster
from shoal.compiled import inlined

COUNT, TIME, BUFFER = 0, 1, 2
KINDS = {"count": COUNT, "time": TIME, "buffer": BUFFER}

CLOCK = np.dtype([
    ("kind", np.int64), ("length", np.float64),
    ("arrivals", np.int64),  # how many tuples ever arrived
    ("now", np.float64),  # the newest time seen; under count and buffer the number of the newest arrival
    ("before", np.float64),  # the last time that differed from now
    ("held", np.int64), ("oldest", np.int64), ("newest", np.int64),  # how many wait, and the slots at both ends
])  # fmt: skip


class Window(NamedTuple):
    values: NDArray[np.float64]  # a row a tuple; NaN is missing
    scaled: NDArray[np.float32]  # a row a quasi-identifier: the same on a scale for rough and fast distances
    pattern: NDArray[np.uint64]
    person: NDArray[np.int64]  # number in `persons`
    partition: NDArray[np.int64]  # number in `partitions`
    arrival: NDArray[np.int64]
    since: NDArray[np.float64]
    seat: NDArray[np.int64]  # where what is passed through waits, outside the engine
    older: NDArray[np.int64]  # slots in order of arrival; -1 at the ends
    newer: NDArray[np.int64]
    persons: Roster
    partitions: Roster
    clock: np.record


def window(kind: int, length: float, quasi: int, capacity: int) -> Window:
    clock = np.zeros(1, CLOCK).view(np.recarray)[0]
    clock.kind, clock.length = kind, length
    clock.now = clock.before = -np.inf
    clock.oldest = clock.newest = -1
    row = capacity + (-capacity % 16) + 16
    if row * 4 % 4096 == 0:
        row += 16  # columns that start a multiple of 4 KiB apart would share the cache's sets
    whole = [np.zeros(capacity, np.int64) for _ in range(6)]
    person, partition, arrival, seat, older, newer = whole
    return Window(np.zeros((capacity, quasi)), np.zeros((quasi, row), np.float32), np.zeros(capacity, np.uint64), person, partition, arrival, np.zeros(capacity),
                  seat, older, newer, roster(capacity), roster(capacity), clock)


@inlined
def arrive(clock, time):
    """Move the clock to an arrival; time never runs backwards."""
    now = time if clock.kind == TIME else np.float64(clock.arrivals)
    advance(clock, now)
    clock.arrivals += 1


@inlined
def advance(clock, now):
    if now > clock.now:
        clock.before = clock.now
        clock.now = now


@inlined
def is_due(w):
    """Whether the oldest must leave: it has waited as long as it may, or as many are held as may be (buffer)."""
    c = w.clock
    if c.kind == BUFFER:
        return c.held >= c.length
    return c.held > 0 and c.now - w.since[c.oldest] >= c.length


@inlined
def insert(domain, w, batch, row, seat):
    """Take in the tuple whose arrival the clock has just seen; its slot."""
    c = w.clock
    slot = c.held
    c.held += 1
    for q in range(len(batch.values)):
        value = batch.values[q, row]
        w.values[slot, q] = value
        w.scaled[q, slot] = (value - domain.low[q]) * domain.scale[q]
    w.pattern[slot] = batch.pattern[row]
    w.person[slot] = join(w.persons, batch.person[row, 0], batch.person[row, 1])
    w.partition[slot] = join(w.partitions, batch.pattern[row], np.uint64(0))
    w.arrival[slot] = c.arrivals - 1
    w.since[slot] = c.now
    w.seat[slot] = seat
    w.older[slot] = c.newest
    w.newer[slot] = -1
    if c.newest >= 0:
        w.newer[c.newest] = slot
    else:
        c.oldest = slot
    c.newest = slot
    return slot


@inlined
def remove(w, slots):
    """Take the tuples in `slots` out; the last ones move into the freed slots, so any slot may hold another tuple now."""
    c = w.clock
    for slot in slots:
        leave(w.persons, w.person[slot])
        leave(w.partitions, w.partition[slot])
        older, newer = w.older[slot], w.newer[slot]
        if older >= 0:
            w.newer[older] = newer
        else:
            c.oldest = newer
        if newer >= 0:
            w.older[newer] = older
        else:
            c.newest = older
        w.arrival[slot] = -1
    last = c.held - 1
    c.held -= len(slots)
    for slot in slots:
        if slot < c.held:
            while w.arrival[last] < 0:
                last -= 1
            _move(w, last, slot)
            last -= 1


@inlined
def _move(w, source, target):
    for q in range(len(w.scaled)):
        w.values[target, q] = w.values[source, q]
        w.scaled[q, target] = w.scaled[q, source]
    w.pattern[target] = w.pattern[source]
    w.person[target] = w.person[source]
    w.partition[target] = w.partition[source]
    w.arrival[target] = w.arrival[source]
    w.since[target] = w.since[source]
    w.seat[target] = w.seat[source]
    older, newer = w.older[source], w.newer[source]
    w.older[target] = older
    w.newer[target] = newer
    if older >= 0:
        w.newer[older] = target
    else:
        w.clock.oldest = target
    if newer >= 0:
        w.older[newer] = target
    else:
        w.clock.newest = target


@inlined
def in_order(w, slots):
    """Sort slots by arrival, in place (Shell's sort)."""
    gap = len(slots) // 2
    while gap > 0:
        for i in range(gap, len(slots)):
            slot = slots[i]
            arrival = w.arrival[slot]
            j = i
            while j >= gap and w.arrival[slots[j - gap]] > arrival:
                slots[j] = slots[j - gap]
                j -= gap
            slots[j] = slot
        gap //= 2
