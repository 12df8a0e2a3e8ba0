"""The entries of an item, in order of time: a ring in a block of the common store, whose size is a power of two.

Entries bear numbers that go on for ever; `head` is that of the first, and `length` how many there are. A user who comes again
gets a new entry at the end, and the old one is dead. `x` is `Exposures`, and i an item, throughout.
"""

from __future__ import annotations

import numpy as np

from shoal.blocks.slots import FREE, first_line, hash_of, is_full, next_line, slot_of, steps, take_out, with_hash, word
from shoal.compiled import first_one, inlined, prefetch

NONE = -1
NEVER = np.int64(-(1 << 63))  # no period
_SOON = 8  # entries from the head
DROPPED = 16  # words that are to be taken out: their slots are far away when entries are dropped, and near by then


@inlined
def place(x, i, number):
    """Where an entry lies."""
    return np.uint64(np.int64(x.items[i].base) + (number & (np.int64(x.items[i].size) - 1)))


@inlined
def find(x, i, user0, user1, hash):
    """The slot of a user's entry, or nowhere."""
    item, line = x.items[i], first_line(x.slots, hash)
    while True:
        found = with_hash(x.slots, line, hash)
        while found:
            at = line + np.uint64(first_one(found))
            offset = steps(x.slots[at], item.head)
            if offset < item.length:
                entry = x.entries[place(x, i, item.head + offset)]
                if entry.live and entry.user0 == user0 and entry.user1 == user1:
                    return np.int64(at)
            found &= found - np.uint64(1)
        if not is_full(x.slots, line):
            return np.int64(NONE)
        line = next_line(x.slots, line)


@inlined
def number_at(x, i, at):
    """The number of the entry that a slot tells of."""
    return x.items[i].head + steps(x.slots[np.uint64(at)], x.items[i].head)


@inlined
def write(x, i, number, user0, user1, time, hash):
    entry = x.entries[place(x, i, number)]
    entry.user0, entry.user1, entry.time, entry.hash, entry.live = user0, user1, time, hash, 1
    if len(x.marks):
        mark = x.marks[place(x, i, number)]
        mark.period, mark.mark = NEVER, np.uint64(0)


@inlined
def insert(x, i, number):
    """Make a gap: entries from this number on move up."""
    item = x.items[i]
    for n in range(item.head + item.length - 1, number - 1, -1):
        _move(x, i, n, n + 1)
    item.length += 1


@inlined
def _move(x, i, source, target):
    entry = x.entries[place(x, i, source)]
    if entry.live:
        x.slots[slot_of(x.slots, word(entry.hash, source))] = word(entry.hash, target)
    _copy(x, place(x, i, source), place(x, i, target))


@inlined
def _copy(x, source, target):
    old, new = x.entries[source], x.entries[target]
    new.user0, new.user1, new.time, new.hash, new.live = old.user0, old.user1, old.time, old.hash, old.live
    if len(x.marks):
        copy_mark(x, source, target)


@inlined
def copy_mark(x, source, target):
    x.marks[target].period, x.marks[target].mark = x.marks[source].period, x.marks[source].mark


@inlined
def forget(x, i, limit):
    """Drop the entries from before the limit, and those that are dead, from the head on."""
    item = x.items[i]
    while item.length > 0:
        entry = x.entries[place(x, i, item.head)]
        if entry.live:
            if entry.time >= limit:
                break
            prefetch(x.entries, np.int64(place(x, i, item.head + _SOON)))
            _drop(x, word(entry.hash, item.head))
            x.book.held -= 1
            item.count -= 1
        item.head += 1
        item.length -= 1


@inlined
def _drop(x, old):
    """Ask for the slot of a word, and take out the one that was dropped some time ago."""
    prefetch(x.slots, np.int64(first_line(x.slots, hash_of(old))))
    at = x.book.dropped & (DROPPED - 1)
    x.book.dropped += 1
    if x.dropped[at] != FREE:
        take_out(x.slots, x.dropped[at])
    x.dropped[at] = old


@inlined
def take_out_all(x):
    """Take out all words that were dropped."""
    for at in range(DROPPED):
        if x.dropped[at] != FREE:
            take_out(x.slots, x.dropped[at])
        x.dropped[at] = FREE


@inlined
def has_place(x, i):
    """Whether there is a place for one more entry, now that dead ones have made way or a larger block was found."""
    item = x.items[i]
    if item.length < item.size:
        return True
    if 2 * item.count < item.length:
        compact(x, i)
        return True
    return _resized(x, i, max(1, 2 * np.int64(item.size)))


@inlined
def shrink(x, i):
    """Leave a block three quarters of which are empty for one of half its size: rings do not keep what they once needed."""
    size = np.int64(x.items[i].size)
    if 4 * np.int64(x.items[i].length) < size:
        _resized(x, i, size // 2)


@inlined
def compact(x, i):
    """Close the gaps that dead entries leave."""
    item, last = x.items[i], x.items[i].head
    for n in range(item.head, item.head + item.length):
        if x.entries[place(x, i, n)].live:
            if n != last:
                _move(x, i, n, last)
            last += 1
    item.length = last - item.head


@inlined
def _resized(x, i, size):
    """Whether a block of this size was found, and the entries moved there."""
    item = x.items[i]
    base = take_block(x, size)
    if base < 0:
        return False
    for n in range(item.head, item.head + item.length):
        _copy(x, place(x, i, n), np.uint64(base + (n & (size - 1))))
    give_back(x, i)
    item.base, item.size = base, size
    return True


@inlined
def _class(size):
    """The binary logarithm of a block's size."""
    found = 0
    while size > 1:
        size >>= 1
        found += 1
    return found


@inlined
def take_block(x, size):
    """The first place of a block, or none."""
    found = _class(size)
    base = x.blocks[found]
    if base >= 0:
        x.blocks[found] = np.int64(x.entries[base].user0)
        return base
    if x.book.fresh + size > len(x.entries):
        return np.int64(NONE)
    x.book.fresh += size
    return np.int64(x.book.fresh - size)


@inlined
def give_back(x, i):
    """Leave the block of an item to others."""
    item = x.items[i]
    if item.size > 0:
        found = _class(np.int64(item.size))
        x.entries[item.base].user0 = np.uint64(x.blocks[found])
        x.blocks[found] = item.base
        item.size = 0
