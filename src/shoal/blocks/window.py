"""The window: the tuples that wait, in arrays without gaps, and the clock that says which of them is due.

A tuple is in a slot below `clock.held`. When a tuple leaves, the one in the last slot moves into its slot, so that a scan reads
only tuples that wait; a doubly linked list keeps the order of arrival. `blocks.state` explains the arguments.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.blocks.batch import HANDED_OVER
from shoal.blocks.domain import MISSING
from shoal.blocks.roster import Roster, join, leave, roster
from shoal.compiled import ENTRIES, inlined, kernel, prefetch

COUNT, TIME, BUFFER = 0, 1, 2
STRIDE = ENTRIES  # scans run over whole strides, past the last tuple, so that no vector is left half full
_FEW = 128
_LINE = 8  # values of a quasi-identifier in a cache line
_AHEAD = 4  # lines that are loaded before they are needed
KINDS = {"count": COUNT, "time": TIME, "buffer": BUFFER}

CLOCK = np.dtype([
    ("kind", np.int64), ("length", np.float64),
    ("stretched", np.float64),  # the length while the window holds fewer than k persons
    ("arrivals", np.int64),  # how many tuples ever arrived
    ("now", np.float64),  # the newest time seen; under count and buffer the number of the newest arrival
    ("before", np.float64),  # the last time that differed from now
    ("room", np.int64),  # slots
    ("held", np.int64), ("oldest", np.int64), ("newest", np.int64),  # how many wait, and the slots at both ends
    ("pocket", np.int64), ("front", np.int64),  # how many tuples are in the pocket, and the slot of the oldest other tuple
    ("laned", np.bool_),  # whether `arrivals` includes those in other lanes
    ("half", np.float64),  # the wait after which a lane with fewer than k persons hands a tuple over; infinite: never
    ("young", np.int64),  # the slot of the oldest tuple that has not waited for `half`
    ("due", np.int64),  # the slot that must leave
    ("asked", np.int64), ("groups", np.int64),  # arrivals before `asked` had no cover when there were `groups` groups
    ("row", np.int64), ("stop", np.int64),  # the next row of the batch to take in, and where it ends
    ("announced", np.bool_),  # whether the clock has already moved to that row
])  # fmt: skip


class Window(NamedTuple):
    values: NDArray[np.float64]  # one row per tuple; NaN is missing, and fills the row to whole vectors
    code: NDArray[np.uint16]  # one row per quasi-identifier: the value in units, or the leaf, for rough distances
    pattern: NDArray[np.uint64]
    person: NDArray[np.int64]  # number in `persons`
    partition: NDArray[np.int64]  # number in `partitions`
    arrival: NDArray[np.int64]
    since: NDArray[np.float64]  # when it arrived, on the window's clock
    moment: NDArray[np.float64]  # its own time, which may run backwards
    pocketed: NDArray[np.float64]  # when X-BAND put it into the pocket; infinite if it is not there
    cluster: NDArray[np.int64]  # the cluster in which the algorithm put it; -1: none
    payload: NDArray[np.int64]  # the row of the payload buffer, outside the kernels, with the fields that are passed through
    sensitive: NDArray[np.uint64]  # one row per tuple: fingerprints of values on which there are demands; 0 is missing
    older: NDArray[np.int64]  # slots in order of arrival; -1 at the ends
    newer: NDArray[np.int64]
    persons: Roster
    partitions: Roster
    clock: np.record


def even(slots: int) -> int:
    """A length rounded up to whole strides, for arrays that are scanned."""
    return -(-slots // STRIDE) * STRIDE


def padded(quasi: int) -> int:
    """A length rounded up to whole vectors, for rows of values."""
    return -(-quasi // 8) * 8


def window(kind: int, length: float, stretch: float, quasi: int, sensitive: int, capacity: int) -> Window:
    clock = np.zeros(1, CLOCK).view(np.recarray)[0]
    clock.kind, clock.length, clock.stretched = kind, length, length * stretch
    clock.now = clock.before = -np.inf
    clock.oldest = clock.newest = clock.front = clock.young = -1
    clock.half, clock.room = np.inf, capacity
    row = even(capacity)
    if row * 2 % 4096 == 0:
        row += STRIDE  # columns that start a multiple of 4 KiB apart would share the cache's sets
    person, partition, arrival, cluster, payload, older, newer = (np.zeros(capacity, np.int64) for _ in range(7))
    return Window(
        values=np.full((capacity, padded(quasi)), np.nan), code=np.zeros((quasi, row), np.uint16),
        pattern=np.zeros(row, np.uint64), person=person, partition=partition, arrival=arrival,
        since=np.zeros(capacity), moment=np.zeros(capacity), pocketed=np.zeros(capacity), cluster=cluster, payload=payload,
        sensitive=np.zeros((capacity, sensitive), np.uint64), older=older, newer=newer,
        persons=roster(capacity), partitions=roster(capacity), clock=clock,
    )  # fmt: skip


@inlined
def arrive(clock, time):
    """Move the clock to an arrival; time never runs backwards."""
    now = time if clock.kind == TIME else np.float64(clock.arrivals)
    advance(clock, now)
    clock.arrivals += 1


@kernel
def tick(clock, now):
    """Move the clock on while nothing arrives."""
    advance(clock, now)


@inlined
def advance(clock, now):
    if now > clock.now:
        clock.before = clock.now
        clock.now = now


@inlined
def insert(domain, w, batch):
    """Put the next row of the batch into the last slot; that slot.

    Either the clock has just moved to its arrival, or another lane handed it over: then its arrival and time are in the batch.
    """
    c = w.clock
    row, slot = c.row, c.held
    c.row += 1
    c.held += 1
    if row % _LINE == 0:
        for q in range(len(batch.values)):
            prefetch(batch.values[q], row + _AHEAD * _LINE)
        prefetch(batch.pattern, row + _AHEAD * _LINE)
    for q in range(len(batch.values)):
        value = batch.values[q, row]
        w.values[slot, q] = value
        units = (value - domain.low[q]) * domain.scale[q] + 0.5
        w.code[q, slot] = np.int64(units if units < MISSING else MISSING)  # of NaN too
    w.pattern[slot] = batch.pattern[row]
    w.person[slot] = join(w.persons, batch.person[row, 0], batch.person[row, 1])
    w.partition[slot] = join(w.partitions, batch.pattern[row], np.uint64(0))
    is_older = batch.kind[row] == HANDED_OVER
    w.arrival[slot] = batch.arrival[row] if is_older else c.arrivals - 1
    w.since[slot] = batch.time[row] if is_older else c.now
    w.moment[slot] = batch.moment[row]
    w.pocketed[slot] = np.inf
    w.cluster[slot] = -1
    w.payload[slot] = batch.payload[row]
    for a in range(w.sensitive.shape[1]):
        w.sensitive[slot, a] = batch.sensitive[row, a]
    older = c.newest
    while older >= 0 and w.arrival[older] > w.arrival[slot] and w.pocketed[older] == np.inf:
        older = w.older[older]
    newer = w.newer[older] if older >= 0 else c.oldest
    w.older[slot] = older
    w.newer[slot] = newer
    _link(w, older, newer, slot, slot)
    if c.front < 0 or c.front == newer:
        c.front = slot
    if c.young < 0 or c.young == newer:
        c.young = slot
    return slot


@inlined
def _link(w, older, newer, follows, precedes):
    """In order of arrival, let `follows` come right after slot `older`, and `precedes` right before slot `newer`."""
    if older >= 0:
        w.newer[older] = follows
    else:
        w.clock.oldest = follows
    if newer >= 0:
        w.older[newer] = precedes
    else:
        w.clock.newest = precedes


@inlined
def remove(w, slots):
    """Remove the tuples in `slots`. Tuples in the last slots move into the freed ones, so slots read earlier are invalid."""
    c = w.clock
    for slot in slots:
        leave(w.persons, w.person[slot])
        leave(w.partitions, w.partition[slot])
        older, newer = w.older[slot], w.newer[slot]
        _link(w, older, newer, newer, older)
        if slot == c.young:
            c.young = newer
        if slot == c.front:
            c.front = newer
        elif w.pocketed[slot] < np.inf:
            c.pocket -= 1
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
    for q in range(w.values.shape[1]):
        w.values[target, q] = w.values[source, q]
    for q in range(len(w.code)):
        w.code[q, target] = w.code[q, source]
    w.pattern[target] = w.pattern[source]
    w.person[target] = w.person[source]
    w.partition[target] = w.partition[source]
    w.arrival[target] = w.arrival[source]
    w.since[target] = w.since[source]
    w.moment[target] = w.moment[source]
    w.pocketed[target] = w.pocketed[source]
    w.cluster[target] = w.cluster[source]
    w.payload[target] = w.payload[source]
    for a in range(w.sensitive.shape[1]):
        w.sensitive[target, a] = w.sensitive[source, a]
    older, newer = w.older[source], w.newer[source]
    w.older[target] = older
    w.newer[target] = newer
    _link(w, older, newer, target, target)
    if w.clock.front == source:
        w.clock.front = target
    if w.clock.young == source:
        w.clock.young = target


@inlined
def in_order(w, slots, scratch):
    """Sort slots by arrival, in place. A few slots are sorted by rank: the rank of a slot is the number of older ones."""
    size = len(slots)
    if size > _FEW:
        _shell_sort(w, slots)
        return
    key, rank = scratch.key[:size], scratch.rank[:size]
    for i in range(size):
        key[i] = w.arrival[slots[i]]
        rank[i] = 0
    for j in range(size):
        older = key[j]
        for i in range(size):
            rank[i] += key[i] > older
    for i in range(size):
        key[rank[i]] = slots[i]
    for i in range(size):
        slots[i] = key[i]


@inlined
def _shell_sort(w, slots):
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
