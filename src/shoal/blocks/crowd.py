"""The steps of counting who exposed what: an item is found, a user enters its ring, and it is told whether z users are in it.

Nobody is counted one by one. Once z different users were found, those who are newest, it is enough to know since when they are
there: until that moment is out of the window, whoever comes finds z users. `x` is `Exposures` throughout. Keys are compared
word by word, so that no hash ever decides who is who.
"""

from __future__ import annotations

import numpy as np

from shoal.blocks.ring import NONE, append, forget, give_back, insert, is_new, look_back, only_newest, place, start_to_see
from shoal.compiled import inlined, inner, prefetch

EMPTY = -np.inf  # the newest time of an item that nobody exposed


@inlined
def find_item(x, low, high, hash):
    """The number of an item, or none."""
    i = np.int64(x.item_chains[hash & np.uint32(len(x.item_chains) - 1)])
    while i >= 0 and not (x.items[i].key0 == low and x.items[i].key1 == high):
        i = np.int64(x.items[i].chain)
    return i


@inlined
def has_items(x, more):
    """Whether there is room for so many more."""
    return x.book.items + more <= len(x.items)


@inlined
def enlisted(x, low, high, hash):
    """The number of an item, which may be new."""
    i = find_item(x, low, high, hash)
    return i if i >= 0 else new_item(x, low, high, hash, np.int64(x.book.everyone))


@inlined
def new_item(x, low, high, hash, parent):
    """A spare item's number, now that of this key."""
    i = spare_item(x)
    clear_item(x, i, low, high, hash, parent)
    chain = hash & np.uint32(len(x.item_chains) - 1)
    x.items[i].chain = x.item_chains[chain]
    x.item_chains[chain] = i
    return i


@inlined
def spare_item(x):
    i = np.int64(x.book.spare_item)
    if i >= 0:
        x.book.spare_item = x.items[i].chain
        prefetch(x.items, max(x.book.spare_item, 0))
        return i
    x.book.fresh_item += 1
    return np.int64(x.book.fresh_item - 1)


@inlined
def clear_item(x, i, low, high, hash, parent):
    item = x.items[i]
    item.key0, item.key1, item.hash, item.parent = low, high, hash, parent
    item.newest, item.backed, item.head, item.length, item.size = EMPTY, EMPTY, 0, 0, 0
    item.chain = NONE
    x.book.items += 1


@inlined
def expose(x, i, user0, user1, time, window, z):
    """Whether z users exposed item i in [t-Δt, t], now that this one does too; they did not if t is too old.

    There must be a place for one more entry.
    """
    item = x.items[i]
    if time < item.newest:
        return _expose_late(x, i, user0, user1, time, window, z)
    item.newest = time
    append(x, i, user0, user1, time)
    return item.backed >= time - window or _is_backed(x, i, time - window, z)


@inlined
def _is_backed(x, i, limit, z):
    """Whether z users exposed an item since the limit; it notes since when."""
    item = x.items[i]
    if item.length < z:
        return False
    forget(x, i, limit)
    if item.length == z:
        only_newest(x, i)  # the last to come is most likely who is there twice, where z are not reached for long
    if item.length < z or look_back(x, i, z) < z:
        return False
    item.backed = x.entries[place(x, i, item.head + item.length - z)].time
    return True


@inner
def _expose_late(x, i, user0, user1, time, window, z):
    """The same where a newer one has come before: who was seen after it, too, does not count, but for the user at hand."""
    item = x.items[i]
    limit = item.newest - window
    if time < limit:
        return False
    end = item.head + item.length
    number = end
    while number > item.head and x.entries[place(x, i, number - 1)].time > time:
        number -= 1
    last = start_to_see(x, min(end - number + z, np.int64(item.length)))
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
    x.items[i].chain = x.book.spare_item
    x.book.spare_item = i
    x.book.items -= 1
