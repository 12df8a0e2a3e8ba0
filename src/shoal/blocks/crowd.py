"""The steps of counting who exposed what: an item is found, a user enters its list, those who are too old leave it.

`x` is `Exposures` throughout. Keys are compared word by word, so that no hash ever decides who is who.
"""

from __future__ import annotations

import numpy as np

from shoal.compiled import inlined

NONE = -1
NEVER = np.int64(-(1 << 63))  # no period
EMPTY = -np.inf  # the newest time of an item that nobody exposed


@inlined
def mixed(low, high, key):
    """64 bits that spread two words over the chains; they decide nothing."""
    h = (low ^ key[0]) * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(32)) ^ high) * np.uint64(0xD6E8FEB86659FD93)
    h = (h ^ (h >> np.uint64(32)) ^ key[1]) * np.uint64(0xD6E8FEB86659FD93)
    return h ^ (h >> np.uint64(32))


@inlined
def paired(user_hash, item_hash):
    """What an entry's chain is found by."""
    h = (user_hash ^ (np.uint64(item_hash) * np.uint64(0x9E3779B97F4A7C15))) * np.uint64(0xD6E8FEB86659FD93)
    return np.uint32(h >> np.uint64(32))


@inlined
def find_item(x, low, high, hash):
    """The number of an item, or none."""
    i = np.int64(x.item_chains[hash & np.uint32(len(x.item_chains) - 1)])
    while i >= 0 and not (x.items[i].key0 == low and x.items[i].key1 == high):
        i = np.int64(x.items[i].chain)
    return i


@inlined
def is_full_of_items(x):
    return x.book.spare_item < 0 and x.book.fresh_item == len(x.items)


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
def _spare_entry(x):
    e = np.int64(x.book.spare)
    if e >= 0:
        x.book.spare = x.entries[e].chain
        return e
    x.book.fresh += 1
    return np.int64(x.book.fresh - 1)


@inlined
def clear_item(x, i, low, high, hash, parent):
    item = x.items[i]
    item.key0, item.key1, item.hash, item.parent = low, high, hash, parent
    item.newest, item.first, item.last, item.count = EMPTY, NONE, NONE, 0
    item.chain = NONE
    x.book.items += 1


@inlined
def expose(x, i, user0, user1, hash, time, window):
    """(users, entry): how many users exposed item i in [t-Δt, t], now that this one does too; (0, none) if t is too old."""
    item = x.items[i]
    if time >= item.newest:
        item.newest = time
        e = _find(x, i, user0, user1, hash)
        if e < 0:
            e = new_entry(x, i, user0, user1, hash)
            append(x, i, e)
        elif e != item.last:
            _unlink(x, i, e)
            append(x, i, e)
        x.links[e].time = time
        forget(x, i, time - window)
        return np.int64(item.count), e
    if time < item.newest - window:
        return np.int64(0), np.int64(NONE)
    e = _find(x, i, user0, user1, hash)
    later, place = 0, np.int64(item.last)
    while place >= 0 and x.links[place].time > time:
        later += place != e
        place = np.int64(x.links[place].before)
    if e < 0:
        e = new_entry(x, i, user0, user1, hash)
        _link(x, i, e, place)
        x.links[e].time = time
    elif x.links[e].time < time:
        if place != e:
            _unlink(x, i, e)
            _link(x, i, e, place)
        x.links[e].time = time
    return np.int64(item.count) - later, e


@inlined
def _find(x, i, user0, user1, hash):
    e = np.int64(x.chains[hash & np.uint32(len(x.chains) - 1)])
    while e >= 0 and not (x.entries[e].user0 == user0 and x.entries[e].user1 == user1 and x.entries[e].item == i):
        e = np.int64(x.entries[e].chain)
    return e


@inlined
def new_entry(x, i, user0, user1, hash):
    e = _spare_entry(x)
    x.book.held += 1
    x.items[i].count += 1
    entry = x.entries[e]
    entry.user0, entry.user1, entry.hash, entry.item = user0, user1, hash, i
    if len(x.marks):
        x.marks[e].period, x.marks[e].mark = NEVER, np.uint64(0)
    chain(x, e)
    return e


@inlined
def append(x, i, e):
    """Put entry e at the tail."""
    item, link = x.items[i], x.links[e]
    link.before, link.after = item.last, NONE
    if item.last < 0:
        item.first = e
    else:
        x.links[item.last].after = e
    item.last = e


@inlined
def _link(x, i, e, place):
    """Put entry e behind the one at `place`, or at the head."""
    item, link = x.items[i], x.links[e]
    after = np.int64(item.first) if place < 0 else np.int64(x.links[place].after)
    link.before, link.after = place, after
    if place < 0:
        item.first = e
    else:
        x.links[place].after = e
    if after < 0:
        item.last = e
    else:
        x.links[after].before = e


@inlined
def _unlink(x, i, e):
    item, before, after = x.items[i], x.links[e].before, x.links[e].after
    if before < 0:
        item.first = after
    else:
        x.links[before].after = after
    if after < 0:
        item.last = before
    else:
        x.links[after].before = before


@inlined
def forget(x, i, limit):
    """Drop the entries of an item from before the limit."""
    e = np.int64(x.items[i].first)
    while e >= 0 and x.links[e].time < limit:
        after = np.int64(x.links[e].after)
        _unchain(x, e)
        x.entries[e].item = NONE
        x.entries[e].chain = x.book.spare
        x.book.spare = e
        x.book.held -= 1
        x.items[i].count -= 1
        e = after
    x.items[i].first = e
    if e < 0:
        x.items[i].last = NONE
    else:
        x.links[e].before = NONE


@inlined
def chain(x, e):
    """Hang an entry at the head of its chain."""
    entry = x.entries[e]
    chain = entry.hash & np.uint32(len(x.chains) - 1)
    entry.chain, entry.above = x.chains[chain], NONE
    if entry.chain >= 0:
        x.entries[entry.chain].above = e
    x.chains[chain] = e


@inlined
def _unchain(x, e):
    entry = x.entries[e]
    if entry.above < 0:
        x.chains[entry.hash & np.uint32(len(x.chains) - 1)] = entry.chain
    else:
        x.entries[entry.above].chain = entry.chain
    if entry.chain >= 0:
        x.entries[entry.chain].above = entry.above


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
    x.items[i].count = NONE
    x.items[i].chain = x.book.spare_item
    x.book.spare_item = i
    x.book.items -= 1
