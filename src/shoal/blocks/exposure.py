"""Who exposed what within the last Δt: an entry for each user of each item, in arrays.

The entries of an item form a list ordered by time, so that those that are too old stand at its head and the newest at its
tail; all entries hang in the chains of one hash table, by item and user. In order of time every step takes constant time.
Keys are compared word by word, so that no hash ever decides who is who.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.compiled import inlined, kernel, prefetch

Arrays = dict[str, NDArray[Any]]

NONE = -1
NEVER = np.int64(-(1 << 63))  # no period
EMPTY = -np.inf  # the newest time of an item that nobody exposed

ROOM = 65_536
"""Entries that there is room for at first; so many are never swept."""

_KEPT_ITEM = ("key0", "key1", "newest", "count")
_KEPT_ENTRY = ("user0", "user1", "time", "period", "mark")
_LINE = 64  # bytes that memory gives at a time
_ITEMS = 1024

ENTRY = np.dtype(
    {
        "names": ["user0", "user1", "time", "period", "mark", "hash", "item", "before", "after", "chain"],
        "formats": ["u8", "u8", "f8", "i8", "u8", "u4", "i4", "i4", "i4", "i4"],
        "itemsize": _LINE,
    }
)
ITEM = np.dtype(
    {
        "names": ["key0", "key1", "newest", "hash", "first", "last", "count", "parent", "chain"],
        "formats": ["u8", "u8", "f8", "u4", "i4", "i4", "i4", "i4", "i4"],
        "itemsize": _LINE,
    }
)
BOOK = np.dtype(
    [
        ("newest", "f8"),  # of all times
        ("held", "i8"),  # entries
        ("room", "i8"),
        ("items", "i8"),
        ("fixed", "i8"),  # items that stay: the nodes of a hierarchy, and everyone
        ("everyone", "i8"),  # the item that stands for all of them, or none
        ("deepest", "i8"),  # entries that one observation can add
        ("spare", "i8"),  # the first of the chains of entries and items that are free
        ("spare_item", "i8"),
    ]
)


class Exposures(NamedTuple):
    book: np.record
    entries: NDArray[np.void]
    chains: NDArray[np.int32]
    items: NDArray[np.void]
    item_chains: NDArray[np.int32]
    key: NDArray[np.uint64]


def exposures(
    keys: NDArray[np.uint64], parents: NDArray[np.int64], deepest: int, everyone: bool, key: NDArray[np.uint64], room: int = ROOM
) -> Exposures:
    """Nothing exposed yet. `keys` and `parents` are those of a hierarchy's nodes, `deepest` the longest way to its root."""
    book = np.zeros(1, BOOK).view(np.recarray)[0]
    book.newest, book.room, book.everyone = EMPTY, room, len(keys) if everyone else NONE
    book.fixed, book.deepest = len(keys) + everyone, deepest + everyone
    book.spare = book.spare_item = NONE
    x = Exposures(book, _entries(room), _chains(room), _items(max(_ITEMS, 2 * len(keys))), _chains(_ITEMS), key)
    x = x._replace(item_chains=_chains(len(x.items)))
    _free_entries(x, 0)
    _free_items(x, 0)
    _plant(x, keys, np.where(parents < 0, book.everyone, parents))
    return x


def _entries(room: int) -> NDArray[np.void]:
    return np.empty(room, ENTRY)


def _items(room: int) -> NDArray[np.void]:
    return np.empty(room, ITEM)


def _chains(room: int) -> NDArray[np.int32]:
    """Twice as many as there can be links, so that chains are short."""
    return np.full(1 << (2 * room - 1).bit_length(), NONE, np.int32)


def with_room(x: Exposures, window: float) -> Exposures:
    """The same with room for one more observation: what is older than two windows goes first, then there is more room."""
    sweep(x, x.book.newest - 2 * window)
    room, held = int(x.book.room), int(x.book.held) + int(x.book.deepest)
    if held > 3 * room // 4:
        while held > 3 * room // 4:
            room *= 2
        x = _with_entries(x, room)
    return x


def _with_entries(x: Exposures, room: int) -> Exposures:
    before = len(x.entries)
    entries = _entries(room)
    entries[:before] = x.entries
    x.book.room = room
    x = x._replace(entries=entries, chains=_chains(room))
    _free_entries(x, before)
    _chain_again(x)
    return x


def with_items(x: Exposures) -> Exposures:
    """The same with room for twice as many items."""
    before = len(x.items)
    items = _items(2 * before)
    items[:before] = x.items
    x = x._replace(items=items, item_chains=_chains(2 * before))
    _free_items(x, before)
    _chain_items_again(x)
    return x


def saved(x: Exposures) -> Arrays:
    """Everything that a snapshot keeps: items with their newest time, and their entries in order of time."""
    items = np.flatnonzero(x.items["count"] >= 0)
    order = np.empty(int(x.book.held), np.int64)
    _in_order(x, items, order)
    kept = {"item.number": items, **{f"item.{name}": x.items[name][items] for name in _KEPT_ITEM}}
    entries = {f"entry.{name}": x.entries[name][order] for name in _KEPT_ENTRY}
    return {**kept, **entries, "newest": np.array(x.book.newest), "room": np.array(x.book.room)}


def restored(x: Exposures, arrays: Mapping[str, NDArray[Any]]) -> Exposures:
    """A new `x` brought to where `saved` left it."""
    if arrays["room"] > x.book.room:
        x = _with_entries(x, int(arrays["room"]))
    while len(x.items) < int(x.book.fixed) + len(arrays["item.number"]):
        x = with_items(x)
    x.book.newest = arrays["newest"][()]
    _refill(x, *(arrays[f"item.{name}"] for name in ("number", *_KEPT_ITEM)), *(arrays[f"entry.{name}"] for name in _KEPT_ENTRY))
    return x


@kernel
def _in_order(x, items, order):
    at = 0
    for i in items:
        e = np.int64(x.items[i].first)
        while e >= 0:
            order[at] = e
            at += 1
            e = np.int64(x.entries[e].after)


@kernel
def _refill(x, number, key0, key1, newest, count, user0, user1, time, period, mark):
    at = 0
    for n in range(len(number)):
        i = np.int64(number[n])
        if i >= x.book.fixed:
            i = new_item(x, key0[n], key1[n], np.uint32(mixed(key0[n], key1[n], x.key)), x.book.everyone)
        x.items[i].newest = newest[n]
        for _ in range(count[n]):
            hash = paired(mixed(user0[at], user1[at], x.key), x.items[i].hash)
            e = _new_entry(x, i, user0[at], user1[at], hash)
            _link(x, i, e, np.int64(x.items[i].last))
            x.entries[e].time, x.entries[e].period, x.entries[e].mark = time[at], period[at], mark[at]
            at += 1


@kernel
def _free_entries(x, start):
    """Hand entries from `start` on to the spare ones, so that they are taken in order."""
    for e in range(len(x.entries) - 1, start - 1, -1):
        x.entries[e].item = NONE
        x.entries[e].chain = x.book.spare
        x.book.spare = e


@kernel
def _free_items(x, start):
    for i in range(len(x.items) - 1, start - 1, -1):
        x.items[i].count = NONE
        x.items[i].chain = x.book.spare_item
        x.book.spare_item = i


@kernel
def _plant(x, keys, parents):
    """The nodes of a hierarchy, which bear the first numbers, and then everyone."""
    for i in range(len(keys)):
        new_item(x, keys[i, 0], keys[i, 1], np.uint32(mixed(keys[i, 0], keys[i, 1], x.key)), parents[i])
    if x.book.everyone >= 0:
        i = x.book.spare_item
        x.book.spare_item = x.items[i].chain
        _clear(x, i, np.uint64(0), np.uint64(0), np.uint32(0), np.int64(NONE))


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
def near(x, item_hash, pair_hash):
    """Ask for the two chains."""
    prefetch(x.item_chains, np.int64(item_hash & np.uint32(len(x.item_chains) - 1)))
    prefetch(x.chains, np.int64(pair_hash & np.uint32(len(x.chains) - 1)))


@inlined
def nearer(x, item_hash, pair_hash):
    """Ask for the first item and the first entry in them."""
    prefetch(x.items, max(np.int64(x.item_chains[item_hash & np.uint32(len(x.item_chains) - 1)]), 0))
    prefetch(x.entries, max(np.int64(x.chains[pair_hash & np.uint32(len(x.chains) - 1)]), 0))


@inlined
def nearest(x, item_hash):
    """Ask for both ends of that item's list."""
    i = np.int64(x.item_chains[item_hash & np.uint32(len(x.item_chains) - 1)])
    if i >= 0:
        prefetch(x.entries, max(np.int64(x.items[i].first), 0))
        prefetch(x.entries, max(np.int64(x.items[i].last), 0))


@inlined
def find_item(x, low, high, hash):
    """The number of an item, or none."""
    i = np.int64(x.item_chains[hash & np.uint32(len(x.item_chains) - 1)])
    while i >= 0 and not (x.items[i].key0 == low and x.items[i].key1 == high):
        i = np.int64(x.items[i].chain)
    return i


@inlined
def new_item(x, low, high, hash, parent):
    """A spare item's number, now that of this key."""
    i = np.int64(x.book.spare_item)
    x.book.spare_item = x.items[i].chain
    _clear(x, i, low, high, hash, parent)
    chain = hash & np.uint32(len(x.item_chains) - 1)
    x.items[i].chain = x.item_chains[chain]
    x.item_chains[chain] = i
    return i


@inlined
def _clear(x, i, low, high, hash, parent):
    item = x.items[i]
    item.key0, item.key1, item.hash, item.parent = low, high, hash, parent
    item.newest, item.first, item.last, item.count = EMPTY, NONE, NONE, 0
    item.chain = NONE
    x.book.items += 1


@inlined
def expose(x, i, user0, user1, hash, time, window):
    """(users, entry): how many users exposed item i in [t-Δt, t], this one included, who now does; (0, none) if t is too old."""
    item = x.items[i]
    if time >= item.newest:
        item.newest = time
        e = _find(x, i, user0, user1, hash)
        if e < 0:
            e = _new_entry(x, i, user0, user1, hash)
            _link(x, i, e, np.int64(item.last))
        elif e != item.last:
            _unlink(x, i, e)
            _link(x, i, e, np.int64(item.last))
        x.entries[e].time = time
        _forget(x, i, time - window)
        return np.int64(item.count), e
    if time < item.newest - window:
        return np.int64(0), np.int64(NONE)
    e = _find(x, i, user0, user1, hash)
    later, place = 0, np.int64(item.last)
    while place >= 0 and x.entries[place].time > time:
        later += place != e
        place = np.int64(x.entries[place].before)
    if e < 0:
        e = _new_entry(x, i, user0, user1, hash)
        _link(x, i, e, place)
        x.entries[e].time = time
    elif x.entries[e].time < time:
        if place != e:
            _unlink(x, i, e)
            _link(x, i, e, place)
        x.entries[e].time = time
    return np.int64(item.count) - later, e


@inlined
def _find(x, i, user0, user1, hash):
    e = np.int64(x.chains[hash & np.uint32(len(x.chains) - 1)])
    while e >= 0 and not (x.entries[e].user0 == user0 and x.entries[e].user1 == user1 and x.entries[e].item == i):
        e = np.int64(x.entries[e].chain)
    return e


@inlined
def _new_entry(x, i, user0, user1, hash):
    e = np.int64(x.book.spare)
    x.book.spare = x.entries[e].chain
    x.book.held += 1
    x.items[i].count += 1
    entry = x.entries[e]
    entry.user0, entry.user1, entry.hash, entry.item = user0, user1, hash, i
    entry.period, entry.mark = NEVER, np.uint64(0)
    chain = hash & np.uint32(len(x.chains) - 1)
    entry.chain = x.chains[chain]
    x.chains[chain] = e
    return e


@inlined
def _link(x, i, e, place):
    """Put entry e behind the one at `place`, or at the head."""
    item, entry = x.items[i], x.entries[e]
    after = np.int64(item.first) if place < 0 else np.int64(x.entries[place].after)
    entry.before, entry.after = place, after
    if place < 0:
        item.first = e
    else:
        x.entries[place].after = e
    if after < 0:
        item.last = e
    else:
        x.entries[after].before = e


@inlined
def _unlink(x, i, e):
    item, before, after = x.items[i], x.entries[e].before, x.entries[e].after
    if before < 0:
        item.first = after
    else:
        x.entries[before].after = after
    if after < 0:
        item.last = before
    else:
        x.entries[after].before = before


@inlined
def _forget(x, i, limit):
    """Drop the entries of an item from before the limit."""
    e = np.int64(x.items[i].first)
    while e >= 0 and x.entries[e].time < limit:
        after = np.int64(x.entries[e].after)
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
        x.entries[e].before = NONE


@inlined
def _unchain(x, e):
    chain = x.entries[e].hash & np.uint32(len(x.chains) - 1)
    at = np.int64(x.chains[chain])
    if at == e:
        x.chains[chain] = x.entries[e].chain
    else:
        while x.entries[at].chain != e:
            at = np.int64(x.entries[at].chain)
        x.entries[at].chain = x.entries[e].chain


@kernel
def sweep(x, limit):
    """Drop every entry from before the limit, and the items that nobody is left of."""
    for i in range(len(x.items)):
        if x.items[i].count < 0:
            continue
        _forget(x, i, limit)
        if x.items[i].count == 0:
            x.items[i].newest = EMPTY
            if i >= x.book.fixed:
                _drop_item(x, i)


@inlined
def _drop_item(x, i):
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


@kernel
def _chain_again(x):
    for e in range(len(x.entries)):
        if x.entries[e].item >= 0:
            chain = x.entries[e].hash & np.uint32(len(x.chains) - 1)
            x.entries[e].chain = x.chains[chain]
            x.chains[chain] = e


@kernel
def _chain_items_again(x):
    for i in range(len(x.items)):
        if x.items[i].count >= 0 and i != x.book.everyone:
            chain = x.items[i].hash & np.uint32(len(x.item_chains) - 1)
            x.items[i].chain = x.item_chains[chain]
            x.item_chains[chain] = i


@kernel
def census(x, limit, users):
    """Write for each item how many users exposed it since the limit; how many exposed anything."""
    for i in range(len(x.items)):
        users[i] = 0
        if x.items[i].count > 0 and x.items[i].newest >= limit:
            users[i] = x.items[i].count
            e = np.int64(x.items[i].first)
            while x.entries[e].time < limit:
                users[i] -= 1
                e = np.int64(x.entries[e].after)
    everyone = users[x.book.everyone]
    users[x.book.everyone] = 0
    return everyone


@kernel
def marks(x, period, out):
    """Write for each user of a period what stands for all that was published of them; how many there are."""
    size, e = 0, np.int64(x.items[x.book.everyone].first)
    while e >= 0:
        if x.entries[e].period == period:
            out[size] = x.entries[e].mark
            size += 1
        e = np.int64(x.entries[e].after)
    return size
