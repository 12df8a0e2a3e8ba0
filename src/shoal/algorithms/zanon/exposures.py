"""Which users exposed which items within the last Δt: one entry for each time that a user exposed an item, in arrays.

The entries of an item form a ring in order of time, so that those that are too old stand at its head and the newest at its
end. Items are found in chains by hash. Different users are counted only when it is not known yet whether there are z of them.

In this folder `x` is `Exposures`, i the index of an item in `x.items` (int64; NONE: no item), `time` and `limit` are float64,
`user0, user1` and `low, high` the two words of a key (uint64), `window` is Δt, and a number of an entry (int64) counts all
entries that its ring ever had.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.zanon.items import EMPTY, clear_item, drop_item, new_item, prefetch_ring, spare_item
from shoal.algorithms.zanon.ring import (
    LEAST,
    NONE,
    append,
    distinct_users,
    forget,
    give_back,
    hashed,
    place,
    shrink,
    take_block,
)
from shoal.compiled import inlined, kernel

Arrays = dict[str, NDArray[Any]]

ROOM = 1 << 21
"""Entries that there is room for at first: moving them to a larger store costs time, and unused room costs no memory."""

_KEPT_ITEM = ("key0", "key1", "newest", "length")
_KEPT_ENTRY = ("user0", "user1", "time")
_LINE = 64  # bytes of a cache line
_ITEMS = 1024
_SOON = 16  # how many items ahead `sweep` loads memory
_SIZES = 32  # of blocks: powers of two
_SEEN = 1 << 18  # twice the number of users of one item that can be distinguished at first

ENTRY = np.dtype([("time", "f8"), ("user0", "u8"), ("user1", "u8")])
ITEM = np.dtype([
    ("key0", "u8"), ("key1", "u8"),
    ("newest", "f8"),
    ("enough_since", "f8"),  # at least z different users have an entry at or after this time
    ("head", "i8"),  # the number of its first entry
    ("length", "i4"),  # of its ring; NONE if the item is spare
    ("base", "i4"), ("size", "i4"),  # where its block begins, and how large it is
    ("hash", "u4"),
    ("parent", "i4"),
    ("chain", "i4"),  # the next item in the chain
])  # fmt: skip
COUNTERS = np.dtype([
    ("newest", "f8"),  # of all times
    ("held", "i8"),  # entries
    ("items", "i8"),
    ("fixed", "i8"),  # items that are never dropped: the nodes of a hierarchy, and `any_item`
    ("any_item", "i8"),  # an item that counts all users, whatever they expose, or NONE
    ("fresh", "i8"), ("fresh_item", "i8"),  # from these indices on, entries and items were never used
    ("spare_item", "i8"),  # the first of a chain of items that are free again
])  # fmt: skip


class Exposures(NamedTuple):
    counters: np.record
    entries: NDArray[np.void]  # the store: users and times
    blocks: NDArray[np.int64]  # by size: the first of the blocks that are free again
    seen: NDArray[np.int32]  # a hash table to find the different users of an item: indices of entries
    items: NDArray[np.void]
    item_chains: NDArray[np.int32]
    key: NDArray[np.uint64]


def new_exposures(keys: NDArray[np.uint64], parents: NDArray[np.int64], everyone: bool, key: NDArray[np.uint64]) -> Exposures:
    """Nothing exposed yet. `keys` and `parents` are those of a hierarchy's nodes; `everyone`: whether all users are counted."""
    counters = np.zeros(1, COUNTERS).view(np.recarray)[0]
    counters.newest, counters.any_item = EMPTY, len(keys) if everyone else NONE
    counters.fixed, counters.spare_item = len(keys) + everyone, NONE
    items = max(_ITEMS, 2 * len(keys))
    x = Exposures(counters, *_store(ROOM), np.empty(_SEEN, np.int32), _aligned(items, ITEM), _chains(items), key)
    _plant(x, keys, np.where(parents < 0, counters.any_item, parents))
    return x


def _store(room: int) -> tuple[NDArray[np.void], NDArray[np.int64]]:
    return _aligned(room, ENTRY), np.full(_SIZES, NONE)


def _aligned(number: int, kind: np.dtype[np.void]) -> NDArray[np.void]:
    """An array of `number` records that begins at a cache line."""
    raw = np.empty(number * kind.itemsize + _LINE, np.uint8)
    start = -raw.ctypes.data % _LINE
    return raw[start : start + number * kind.itemsize].view(kind)


def _more(records: NDArray[np.void], number: int) -> NDArray[np.void]:
    """The same records, with room for more behind them."""
    more = _aligned(number, records.dtype)
    more.view(np.uint8)[: records.nbytes] = records.view(np.uint8)
    return more


def _chains(room: int) -> NDArray[np.int32]:
    """Empty chains, so many that most stay empty."""
    return np.full(1 << (4 * room - 1).bit_length(), NONE, np.int32)


def with_room(x: Exposures, window: float) -> Exposures:
    """The same with a new store, at least a third of it free, and with one entry per user in every ring."""
    needed, room = int(_fit(x, window)), ROOM
    while 2 * room < 3 * needed:
        room *= 2
    y = _emptied(x, room)
    _move_all(x, y)
    return _with_seen(y)


def _with_seen(x: Exposures) -> Exposures:
    """The same with room to distinguish the users of every item, also after its ring has doubled."""
    needed = 4 * int(x.items["size"][: int(x.counters.fresh_item)].max(initial=1))
    return x if needed <= len(x.seen) else x._replace(seen=np.empty(needed, np.int32))


def _emptied(x: Exposures, room: int) -> Exposures:
    """The same with a new store."""
    x.counters.fresh = 0
    entries, blocks = _store(room)
    return x._replace(entries=entries, blocks=blocks)


def with_items(x: Exposures) -> Exposures:
    """The same with room for twice as many items."""
    before = len(x.items)
    x = x._replace(items=_more(x.items, 2 * before), item_chains=_chains(2 * before))
    _chain_items_again(x)
    return x


def saved_exposures(x: Exposures) -> Arrays:
    """Everything that a snapshot keeps: items with their newest time, and their entries in order of time."""
    items = np.flatnonzero(x.items["length"][: int(x.counters.fresh_item)] >= 0)
    order = np.empty(int(x.counters.held), np.int64)
    _in_order(x, items, order)
    kept = {"item.number": items, **{f"item.{name}": x.items[name][items] for name in _KEPT_ITEM}}
    return {**kept, **{f"entry.{name}": x.entries[name][order] for name in _KEPT_ENTRY}, "newest": np.array(x.counters.newest)}


def restored_exposures(x: Exposures, arrays: Mapping[str, NDArray[Any]]) -> Exposures:
    """A new `x` brought to where `saved_exposures` left it."""
    size = len(arrays["entry.time"])
    while len(x.items) < int(x.counters.fixed) + len(arrays["item.number"]):
        x = with_items(x)
    room = ROOM
    while room < 2 * (size + len(x.items)):
        room *= 2
    x = _emptied(x, room)
    x.counters.newest = arrays["newest"][()]
    items = [arrays[f"item.{name}"] for name in ("number", *_KEPT_ITEM)]
    _refill(x, *items, *(arrays[f"entry.{name}"] for name in _KEPT_ENTRY))
    return _with_seen(x)


def exposures_until(saved: Arrays, moment: float) -> Arrays:
    """What `saved_exposures` gave, without the entries from after a moment."""
    owner = np.repeat(np.arange(len(saved["item.number"])), saved["item.length"])
    left = saved["entry.time"] <= moment
    newest = np.full(len(saved["item.number"]), EMPTY)
    np.maximum.at(newest, owner[left], saved["entry.time"][left])
    length = np.bincount(owner[left], minlength=len(newest)).astype(saved["item.length"].dtype)
    return {
        **saved, **{f"entry.{name}": saved[f"entry.{name}"][left] for name in _KEPT_ENTRY},
        "item.length": length, "item.newest": newest, "newest": np.array(newest.max(initial=EMPTY)),
    }  # fmt: skip


@kernel
def _fit(x, window):
    """Keep in every ring one entry per user of a window; the sum of the blocks that they need."""
    needed = 0
    for i in range(x.counters.fresh_item):
        if x.items[i].length >= 0:
            forget(x, i, x.items[i].newest - window)
            distinct_users(x, i, np.int64(x.items[i].length))
            needed += _size_for(x.items[i].length)
    return needed


@inlined
def _size_for(length):
    """The size of a block for one entry more."""
    size = LEAST
    while size <= length:
        size *= 2
    return size


@kernel
def _move_all(x, y):
    """Copy every ring of x into the store of y; both have the same items."""
    for i in range(x.counters.fresh_item):
        item = x.items[i]
        if item.length < 0:
            continue
        size = _size_for(item.length)
        base = take_block(y, size)
        for n in range(item.head, item.head + item.length):
            y.entries[base + (n & (size - 1))] = x.entries[place(x, i, n)]
        item.base, item.size = base, size


@kernel
def _in_order(x, items, order):
    at = 0
    for i in items:
        for n in range(x.items[i].head, x.items[i].head + x.items[i].length):
            order[at] = place(x, i, n)
            at += 1


@kernel
def _refill(x, number, key0, key1, newest, length, user0, user1, time):
    at = 0
    for n in range(len(number)):
        i = np.int64(number[n])
        if i >= x.counters.fixed:
            i = new_item(x, key0[n], key1[n], np.uint32(hashed(key0[n], key1[n], x.key)), x.counters.any_item)
        x.items[i].newest, x.items[i].size = newest[n], _size_for(length[n])
        x.items[i].base = take_block(x, np.int64(x.items[i].size))
        for _ in range(length[n]):
            append(x, i, user0[at], user1[at], time[at])
            at += 1


@kernel
def _plant(x, keys, parents):
    """Add the nodes of a hierarchy, which get the first indices, and then `any_item`."""
    for i in range(len(keys)):
        new_item(x, keys[i, 0], keys[i, 1], np.uint32(hashed(keys[i, 0], keys[i, 1], x.key)), parents[i])
    if x.counters.any_item >= 0:
        i = spare_item(x)
        clear_item(x, i, np.uint64(0), np.uint64(0), np.uint32(0), np.int64(NONE))


@kernel
def sweep(x, window):
    """Drop every entry from before the last two windows, items without entries, and blocks that are far too large; how many
    items with entries are left.

    An item that was exposed within the last window either has no such old entry, or will drop it before users are counted.
    """
    limit, left = x.counters.newest - 2 * window, 0
    for i in range(x.counters.fresh_item):
        soon = i + _SOON
        if soon < x.counters.fresh_item and x.items[soon].newest - window < limit:
            prefetch_ring(x, soon)
        item = x.items[i]
        if item.length < 0:
            continue
        if item.newest - window < limit:
            forget(x, i, limit)
            item.enough_since = item.enough_since if item.enough_since >= limit else EMPTY
        if item.length > 0:
            left += 1
            shrink(x, i)
        else:
            item.newest = EMPTY
            if i >= x.counters.fixed:
                drop_item(x, i)
            else:
                give_back(x, i)
    return left


@kernel
def forget_backing(x):
    """Reset `enough_since` of every item: z may have grown."""
    for i in range(x.counters.fresh_item):
        x.items[i].enough_since = EMPTY


@kernel
def _chain_items_again(x):
    for i in range(x.counters.fresh_item):
        if x.items[i].length >= 0 and i != x.counters.any_item:
            chain = x.items[i].hash & np.uint32(len(x.item_chains) - 1)
            x.items[i].chain = x.item_chains[chain]
            x.item_chains[chain] = i


@kernel
def census(x, limit, users):
    """Write for each item how many users exposed it since the limit; how many exposed any item."""
    for i in range(x.counters.fresh_item):
        users[i] = 0
        if x.items[i].length > 0 and x.items[i].newest >= limit:
            users[i] = distinct_users(x, i, np.int64(x.items[i].length))
            n = x.items[i].head
            while x.entries[place(x, i, n)].time < limit:
                users[i] -= 1
                n += 1
    everyone = users[x.counters.any_item]
    users[x.counters.any_item] = 0
    return everyone


@kernel
def marks(x, items, out):
    """Write for each item 64 bits that identify it; 0 for NONE."""
    for n in range(len(items)):
        i = np.int64(items[n])
        out[n] = hashed(x.items[i].key0, x.items[i].key1, x.key) if i >= 0 else np.uint64(0)
