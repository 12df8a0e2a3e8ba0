"""The ring of an item: its entries in order of time, in a block of the common store, whose size is a power of two.

Entries are numbered without end; `head` is the number of the first, and `length` how many there are. A user that exposes the
item again gets a new entry at the end. Of several entries of a user the newest counts; the others stay until
`distinct_users` drops them. `algorithms.zanon.exposures` explains the arguments.
"""

from __future__ import annotations

import numpy as np

from shoal.compiled import inlined, inner, prefetch

NONE = -1
LEAST = 4
"""Entries of the smallest block."""

_SMALL = 16  # entries; in a smaller ring, repeated entries of a user are not dropped to save room


@inlined
def place(x, i, number):
    """The index of an entry in the store."""
    return np.uint64(np.int64(x.items[i].base) + (number & (np.int64(x.items[i].size) - 1)))


@inlined
def append(x, i, user0, user1, time):
    """Add an entry at the end. There must be a place for it."""
    item = x.items[i]
    _write(x, place(x, i, item.head + item.length), user0, user1, time)
    item.length += 1
    x.counters.held += 1


@inlined
def insert(x, i, number, user0, user1, time):
    """Insert an entry with this number; the entries from there on move up. There must be a place for it."""
    item = x.items[i]
    for n in range(item.head + item.length - 1, number - 1, -1):
        _copy(x, place(x, i, n), place(x, i, n + 1))
    _write(x, place(x, i, number), user0, user1, time)
    item.length += 1
    x.counters.held += 1


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
        x.counters.held -= 1


@inlined
def hashed(low, high, key):
    """A hash of 64 bits of two words, to spread them over a table; no result depends on it."""
    h = (low ^ key[0]) * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(32)) ^ high) * np.uint64(0xD6E8FEB86659FD93)
    h = (h ^ (h >> np.uint64(32)) ^ key[1]) * np.uint64(0xD6E8FEB86659FD93)
    return h ^ (h >> np.uint64(32))


@inlined
def clear_seen(x, most):
    """Clear the table of seen users, as far as `most` users need it; the last index of this part."""
    size = 1
    while size < 2 * most:
        size *= 2
    for at in range(size):
        x.seen[at] = NONE
    return np.uint64(size - 1)


@inlined
def is_new(x, at, stays, last):
    """Whether the user of entry `at` was not seen before; if so, it is marked as seen, with its entry at `stays`."""
    user0, user1 = x.entries[at].user0, x.entries[at].user1
    spot = hashed(user0, user1, x.key) & last
    while x.seen[spot] >= 0:
        other = x.entries[x.seen[spot]]
        if other.user0 == user0 and other.user1 == user1:
            return False
        spot = (spot + np.uint64(1)) & last
    x.seen[spot] = stays
    return True


@inner
def distinct_users(x, i, wanted):
    """Look for `wanted` different users, from the newest entry back, and drop their older entries; how many were found.

    The last entries of the ring are then one entry for each of these users.
    """
    item = x.items[i]
    last = clear_seen(x, min(wanted, np.int64(item.length)))
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
        x.counters.held -= twice
    return end - kept


@inlined
def drop_previous(x, i):
    """Drop the previous entry of the newest entry's user, if there is one."""
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
        x.counters.held -= 1


@inlined
def has_place(x, i, limit):
    """Make a place for one more entry, by dropping old and repeated ones, or by a larger block; whether there is one."""
    item = x.items[i]
    if item.length < item.size:
        return True
    forget(x, i, limit)
    if item.length < item.size:
        return True
    if item.size >= _SMALL and 2 * distinct_users(x, i, np.int64(item.length)) <= item.size:
        return True
    return _resized(x, i, max(LEAST, 2 * np.int64(item.size)))


@inlined
def shrink(x, i):
    """Move a ring that uses less than a quarter of its block to one of half the size."""
    size = np.int64(x.items[i].size)
    if size > LEAST and 4 * np.int64(x.items[i].length) < size:
        _resized(x, i, size // 2)


@inlined
def _resized(x, i, size):
    """Move the entries to a block of this size, if there is one and `x.seen` is large enough; whether they were moved."""
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
    """The index of the first entry of a block; NONE if there is no room."""
    found = _class(size)
    base = x.blocks[found]
    if base >= 0:
        x.blocks[found] = np.int64(x.entries[base].user0)
        prefetch(x.entries, max(x.blocks[found], 0))
        return base
    if x.counters.fresh + size > len(x.entries):
        return np.int64(NONE)
    x.counters.fresh += size
    return np.int64(x.counters.fresh - size)


@inlined
def give_back(x, i):
    """Put the block of an item into the list of free ones."""
    item = x.items[i]
    if item.size > 0:
        found = _class(np.int64(item.size))
        x.entries[item.base].user0 = np.uint64(x.blocks[found])
        x.blocks[found] = item.base
        item.size = 0
