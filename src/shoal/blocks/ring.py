"""The entries of an item, in order of time: a ring in a block of the common store, whose size is a power of two.

Entries bear numbers that go on for ever; `head` is that of the first, and `length` how many there are. A user who comes again
gets a new entry at the end; of several the newest counts, and the others stay until somebody looks back. `x` is `Exposures`,
and i an item, throughout.
"""

from __future__ import annotations

import numpy as np

from shoal.compiled import inlined, inner, prefetch

NONE = -1
LEAST = 4
"""Entries of the smallest block."""

_SMALL = 16  # entries: in a ring that is smaller, nobody looks for users who stand there twice to save room


@inlined
def place(x, i, number):
    """Where an entry lies."""
    return np.uint64(np.int64(x.items[i].base) + (number & (np.int64(x.items[i].size) - 1)))


@inlined
def append(x, i, user0, user1, time):
    """A new entry at the end. There must be a place for it."""
    item = x.items[i]
    _write(x, place(x, i, item.head + item.length), user0, user1, time)
    item.length += 1
    x.book.held += 1


@inlined
def insert(x, i, number, user0, user1, time):
    """A new entry with this number; those from there on move up. There must be a place for it."""
    item = x.items[i]
    for n in range(item.head + item.length - 1, number - 1, -1):
        _copy(x, place(x, i, n), place(x, i, n + 1))
    _write(x, place(x, i, number), user0, user1, time)
    item.length += 1
    x.book.held += 1


@inlined
def _write(x, at, user0, user1, time):
    entry = x.entries[at]
    entry.user0, entry.user1, entry.time = user0, user1, time


@inlined
def _copy(x, source, target):
    old = x.entries[source]
    _write(x, target, old.user0, old.user1, old.time)


@inlined
def forget(x, i, limit):
    """Drop the entries from before the limit."""
    item = x.items[i]
    while item.length > 0 and x.entries[place(x, i, item.head)].time < limit:
        item.head += 1
        item.length -= 1
        x.book.held -= 1


@inlined
def mixed(low, high, key):
    """64 bits that spread two words over a table; they decide nothing."""
    h = (low ^ key[0]) * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(32)) ^ high) * np.uint64(0xD6E8FEB86659FD93)
    h = (h ^ (h >> np.uint64(32)) ^ key[1]) * np.uint64(0xD6E8FEB86659FD93)
    return h ^ (h >> np.uint64(32))


@inlined
def start_to_see(x, most):
    """Have seen nobody yet; the last place of the table that so many users need."""
    size = 1
    while size < 2 * most:
        size *= 2
    for at in range(size):
        x.seen[at] = NONE
    return np.uint64(size - 1)


@inlined
def is_new(x, at, stays, last):
    """Whether the user of the entry at a place was not seen before; it is now, and will stand at the place `stays`."""
    user0, user1 = x.entries[at].user0, x.entries[at].user1
    spot = mixed(user0, user1, x.key) & last
    while x.seen[spot] >= 0:
        other = x.entries[x.seen[spot]]
        if other.user0 == user0 and other.user1 == user1:
            return False
        spot = (spot + np.uint64(1)) & last
    x.seen[spot] = stays
    return True


@inner
def look_back(x, i, wanted):
    """Look for so many users, from the newest entry back, and drop what stands for one of them twice; how many were found.

    They are those of the last entries then.
    """
    item = x.items[i]
    last = start_to_see(x, min(wanted, np.int64(item.length)))
    end = item.head + item.length
    at = kept = end
    while at > item.head and end - kept < wanted:
        at -= 1
        if is_new(x, place(x, i, at), place(x, i, kept - 1), last):
            kept -= 1
            if kept != at:
                _copy(x, place(x, i, at), place(x, i, kept))
    twice = kept - at
    if twice > 0:
        for n in range(kept, end):
            _copy(x, place(x, i, n), place(x, i, n - twice))
        item.length -= twice
        x.book.held -= twice
    return end - kept


@inlined
def only_newest(x, i):
    """Drop the entry before the last one that is of the same user, if there is one."""
    item = x.items[i]
    last = item.head + item.length - 1
    newest = x.entries[place(x, i, last)]
    n = last - 1
    while n >= item.head:
        entry = x.entries[place(x, i, n)]
        if entry.user0 == newest.user0 and entry.user1 == newest.user1:
            break
        n -= 1
    if n >= item.head:
        for m in range(n, last):
            _copy(x, place(x, i, m + 1), place(x, i, m))
        item.length -= 1
        x.book.held -= 1


@inlined
def has_place(x, i, limit):
    """Whether there is a place for one more entry, now that old ones and doubles have made way or a larger block was found."""
    item = x.items[i]
    if item.length < item.size:
        return True
    forget(x, i, limit)
    if item.length < item.size:
        return True
    if item.size >= _SMALL and 2 * look_back(x, i, np.int64(item.length)) <= item.size:
        return True
    return _resized(x, i, max(LEAST, 2 * np.int64(item.size)))


@inlined
def shrink(x, i):
    """Leave a block three quarters of which are empty for one of half its size: rings do not keep what they once needed."""
    size = np.int64(x.items[i].size)
    if size > LEAST and 4 * np.int64(x.items[i].length) < size:
        _resized(x, i, size // 2)


@inlined
def _resized(x, i, size):
    """Whether a block of this size was found, in which all users can be told apart, and the entries moved there."""
    item = x.items[i]
    base = np.int64(NONE) if 2 * size > len(x.seen) else take_block(x, size)
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
        prefetch(x.entries, max(x.blocks[found], 0))
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
