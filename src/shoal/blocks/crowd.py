"""The steps of counting who exposed what: an item is found, a user enters its ring, those who are too old leave it.

`x` is `Exposures` throughout. Keys are compared word by word, so that no hash ever decides who is who.
"""

from __future__ import annotations

import numpy as np

from shoal.blocks.ring import NONE, copy_mark, find, forget, give_back, insert, number_at, place, write
from shoal.blocks.slots import put, word
from shoal.compiled import inlined

EMPTY = -np.inf  # the newest time of an item that nobody exposed


@inlined
def mixed(low, high, key):
    """64 bits that spread two words over the slots; they decide nothing."""
    h = (low ^ key[0]) * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(32)) ^ high) * np.uint64(0xD6E8FEB86659FD93)
    h = (h ^ (h >> np.uint64(32)) ^ key[1]) * np.uint64(0xD6E8FEB86659FD93)
    return h ^ (h >> np.uint64(32))


@inlined
def paired(user_hash, item_hash):
    """What an entry is found by; never 0."""
    h = (user_hash ^ (np.uint64(item_hash) * np.uint64(0x9E3779B97F4A7C15))) * np.uint64(0xD6E8FEB86659FD93)
    return np.uint32(h >> np.uint64(32)) | np.uint32(1 << 31)


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
        return i
    x.book.fresh_item += 1
    return np.int64(x.book.fresh_item - 1)


@inlined
def clear_item(x, i, low, high, hash, parent):
    item = x.items[i]
    item.key0, item.key1, item.hash, item.parent = low, high, hash, parent
    item.newest, item.head, item.length, item.size, item.count = EMPTY, 0, 0, 0, 0
    item.chain = NONE
    x.book.items += 1


@inlined
def expose(x, i, user0, user1, hash, time, window):
    """(users, place): how many users exposed item i in [t-Δt, t], now that this one does too; (0, none) if t is too old.

    There must be a place for one more entry.
    """
    item = x.items[i]
    if time < item.newest - window:
        return np.int64(0), np.int64(NONE)
    at = find(x, i, user0, user1, hash)
    number, later = item.head + item.length, 0
    if time >= item.newest:
        item.newest = time
    else:
        while number > item.head and x.entries[place(x, i, number - 1)].time > time:
            number -= 1
            later += x.entries[place(x, i, number)].live
    if at < 0:
        insert(x, i, number)
        write(x, i, number, user0, user1, time, hash)
        put(x.slots, word(hash, number))
        x.book.held += 1
        item.count += 1
    else:
        before = number_at(x, i, at)
        if before >= number:  # seen later already
            number, later = before, later - 1
        elif before == number - 1:
            number = before
            x.entries[place(x, i, number)].time = time
        else:
            _renew(x, i, at, before, number, time)
    forget(x, i, item.newest - window)
    return np.int64(item.count) - later, np.int64(place(x, i, number))


@inlined
def _renew(x, i, at, before, number, time):
    """The user at a slot comes again: a new entry, and the old one is dead."""
    insert(x, i, number)
    old = x.entries[place(x, i, before)]
    old.live = 0
    write(x, i, number, old.user0, old.user1, time, old.hash)
    if len(x.marks):
        copy_mark(x, place(x, i, before), place(x, i, number))
    x.slots[np.uint64(at)] = word(old.hash, number)


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
    x.items[i].count = NONE
    x.items[i].chain = x.book.spare_item
    x.book.spare_item = i
    x.book.items -= 1
