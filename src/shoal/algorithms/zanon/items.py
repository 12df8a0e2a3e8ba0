"""Items: an item is found by its key, a user is added to its ring, and the answer is whether z users have exposed it.

Users are not counted one by one. Once the z users of the newest entries were found, it is enough to store the time of the
oldest of them (`enough_since`): until that time leaves the window, the item has z users. Keys are compared word by word, so
that no hash decides whether two are the same. `algorithms.zanon.exposures` explains the arguments.
"""

from __future__ import annotations

import numpy as np

from shoal.algorithms.zanon.ring import (
    NONE,
    append,
    clear_seen,
    distinct_users,
    drop_previous,
    forget,
    give_back,
    insert,
    is_new,
    place,
)
from shoal.compiled import inlined, inner, prefetch

EMPTY = -np.inf  # the newest time of an item that no user exposed


@inlined
def find_item(x, low, high, hash):
    """The index of an item; NONE if it is not there."""
    i = np.int64(x.item_chains[hash & np.uint32(len(x.item_chains) - 1)])
    while i >= 0 and not (x.items[i].key0 == low and x.items[i].key1 == high):
        i = np.int64(x.items[i].chain)
    return i


@inlined
def has_items(x, more):
    """Whether there is room for `more` items."""
    return x.counters.items + more <= len(x.items)


@inlined
def find_or_add_item(x, low, high, hash):
    """The index of an item, which may be new."""
    i = find_item(x, low, high, hash)
    return i if i >= 0 else new_item(x, low, high, hash, np.int64(x.counters.any_item))


@inlined
def new_item(x, low, high, hash, parent):
    """Give this key to a spare item; its index."""
    i = spare_item(x)
    clear_item(x, i, low, high, hash, parent)
    chain = hash & np.uint32(len(x.item_chains) - 1)
    x.items[i].chain = x.item_chains[chain]
    x.item_chains[chain] = i
    return i


@inlined
def spare_item(x):
    i = np.int64(x.counters.spare_item)
    if i >= 0:
        x.counters.spare_item = x.items[i].chain
        prefetch(x.items, max(x.counters.spare_item, 0))
        return i
    x.counters.fresh_item += 1
    return np.int64(x.counters.fresh_item - 1)


@inlined
def clear_item(x, i, low, high, hash, parent):
    item = x.items[i]
    item.key0, item.key1, item.hash, item.parent = low, high, hash, parent
    item.newest, item.enough_since, item.head, item.length, item.size = EMPTY, EMPTY, 0, 0, 0
    item.chain = NONE
    x.counters.items += 1


@inlined
def expose(x, i, user0, user1, time, window, z):
    """Add an entry; whether z users exposed item i in [t-Δt, t], this one included; False if t is too old.

    There must be a place for one more entry.
    """
    item = x.items[i]
    if time < item.newest:
        return _expose_late(x, i, user0, user1, time, window, z)
    item.newest = time
    append(x, i, user0, user1, time)
    return item.enough_since >= time - window or _has_enough(x, i, time - window, z)


@inlined
def _has_enough(x, i, limit, z):
    """Whether z users exposed an item since the limit; if so, `enough_since` is updated."""
    item = x.items[i]
    if item.length < z:
        return False
    forget(x, i, limit)
    if item.length == z:
        drop_previous(x, i)  # while an item stays below z users, a repeated user is most likely the newest one
    if item.length < z or distinct_users(x, i, z) < z:
        return False
    item.enough_since = x.entries[place(x, i, item.head + item.length - z)].time
    return True


@inner
def _expose_late(x, i, user0, user1, time, window, z):
    """As `expose`, if the item has a newer entry: a user with an entry after t does not count, except this user."""
    item = x.items[i]
    limit = item.newest - window
    if time < limit:
        return False
    end = item.head + item.length
    number = end
    while number > item.head and x.entries[place(x, i, number - 1)].time > time:
        number -= 1
    last = clear_seen(x, min(end - number + z, np.int64(item.length)))
    users, n = 1, end
    while n > number or (users < z and n > item.head and x.entries[place(x, i, n - 1)].time >= limit):
        n -= 1
        at = place(x, i, n)
        is_own = x.entries[at].user0 == user0 and x.entries[at].user1 == user1
        users += is_new(x, at, at, last) and not is_own and n < number
    insert(x, i, number, user0, user1, time)
    return users >= z


@inlined
def drop_item(x, i):
    chain = x.items[i].hash & np.uint32(len(x.item_chains) - 1)
    at = np.int64(x.item_chains[chain])
    if at == i:
        x.item_chains[chain] = x.items[i].chain
    else:
        while x.items[at].chain != i:
            at = np.int64(x.items[at].chain)
        x.items[at].chain = x.items[i].chain
    give_back(x, i)
    x.items[i].length = NONE
    x.items[i].chain = x.counters.spare_item
    x.counters.spare_item = i
    x.counters.items -= 1


@inlined
def prefetch_chain(x, item_hash):
    """Load memory that will be needed soon, as the next two functions do, since waiting for memory is most of the cost."""
    prefetch(x.item_chains, np.int64(item_hash & np.uint32(len(x.item_chains) - 1)))


@inlined
def prefetch_item(x, item_hash):
    """The first item of its chain."""
    prefetch(x.items, max(np.int64(x.item_chains[item_hash & np.uint32(len(x.item_chains) - 1)]), 0))


@inlined
def prefetch_ring(x, i):
    """The end of its ring; where the ring is full, that is its head too."""
    prefetch(x.entries, np.int64(place(x, i, x.items[i].head + x.items[i].length)))
