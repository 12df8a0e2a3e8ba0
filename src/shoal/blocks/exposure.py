"""Who exposed what within the last Δt: an entry for each user of each item, in arrays.

The entries of an item form a ring ordered by time, so that those that are too old stand at its head and the newest at its
end; all entries are found in the slots of one hash table, by item and user. In order of time every step takes constant time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.blocks.ahead import nearest
from shoal.blocks.crowd import EMPTY, clear_item, drop_item, mixed, new_item, paired, spare_item
from shoal.blocks.ring import DROPPED, NONE, compact, forget, give_back, place, shrink, take_block, take_out_all, write
from shoal.blocks.slots import FREE, put, put_all, slots, word
from shoal.compiled import inlined, kernel

Arrays = dict[str, NDArray[Any]]

ROOM = 1 << 20
"""Entries that there is room for at first: to move them to a larger store costs time, and room that is not used no memory."""

_KEPT_ITEM = ("key0", "key1", "newest", "count")
_KEPT_ENTRY = ("user0", "user1", "time")
_KEPT_MARK = ("period", "mark")
_LINE = 64  # bytes that memory gives at a time
_ITEMS = 1024
_SOON = 16  # items
_SIZES = 32  # of blocks: powers of two

ENTRY = np.dtype([("user0", "u8"), ("user1", "u8"), ("time", "f8"), ("hash", "u4"), ("live", "u4")])
MARK = np.dtype([("period", "i8"), ("mark", "u8")])
ITEM = np.dtype(
    [
        ("key0", "u8"),
        ("key1", "u8"),
        ("newest", "f8"),
        ("head", "i8"),  # the number of its first entry
        ("length", "i4"),  # of its ring, dead entries included
        ("count", "i4"),  # of its users; below 0 if the item is spare
        ("base", "i4"),  # where its block begins
        ("size", "i4"),  # of the block
        ("hash", "u4"),
        ("parent", "i4"),
        ("chain", "i4"),  # the next item in the chain
        ("unused", "i4"),  # so that an item fills a line of memory
    ]
)
BOOK = np.dtype(
    [
        ("newest", "f8"),  # of all times
        ("held", "i8"),  # entries that are not dead
        ("items", "i8"),
        ("fixed", "i8"),  # items that stay: the nodes of a hierarchy, and everyone
        ("everyone", "i8"),  # the item that stands for all of them, or none
        ("deepest", "i8"),  # entries that one observation can add
        ("fresh", "i8"),  # from here on, the store has never been used
        ("dropped", "i8"),  # words so far
        ("spare_item", "i8"),  # the first of a chain of items that are free again
        ("fresh_item", "i8"),  # from here on, items have never been used
    ]
)


class Exposures(NamedTuple):
    book: np.record
    entries: NDArray[np.void]  # the store: who and when
    marks: NDArray[np.void]  # what was published of whom, if that is asked for
    blocks: NDArray[np.int64]  # by size: the first of the blocks that are free again
    slots: NDArray[np.uint64]
    dropped: NDArray[np.uint64]  # words that are to be taken out
    items: NDArray[np.void]
    item_chains: NDArray[np.int32]
    key: NDArray[np.uint64]


def exposures(
    keys: NDArray[np.uint64], parents: NDArray[np.int64], deepest: int, everyone: bool, key: NDArray[np.uint64]
) -> Exposures:
    """Nothing exposed yet. `keys` and `parents` are those of a hierarchy's nodes, `deepest` the longest way to its root."""
    book = np.zeros(1, BOOK).view(np.recarray)[0]
    book.newest, book.everyone = EMPTY, len(keys) if everyone else NONE
    book.fixed, book.deepest = len(keys) + everyone, deepest + everyone
    book.spare_item = NONE
    items = max(_ITEMS, 2 * len(keys))
    x = Exposures(
        book, *_store(ROOM, everyone), slots(DROPPED), np.full(DROPPED, FREE), _aligned(items, ITEM), _chains(items), key,
    )  # fmt: skip
    _plant(x, keys, np.where(parents < 0, book.everyone, parents))
    return x


def _store(room: int, marked: bool) -> tuple[NDArray[np.void], NDArray[np.void], NDArray[np.int64]]:
    return _aligned(room, ENTRY), _aligned(room if marked else 0, MARK), np.full(_SIZES, NONE)


def _aligned(number: int, kind: np.dtype[np.void]) -> NDArray[np.void]:
    """So many records, none of which lies across two lines of memory."""
    raw = np.empty(number * kind.itemsize + _LINE, np.uint8)
    start = -raw.ctypes.data % _LINE
    return raw[start : start + number * kind.itemsize].view(kind)


def _more(records: NDArray[np.void], number: int) -> NDArray[np.void]:
    """The same records, and others behind them."""
    more = _aligned(number, records.dtype)
    more.view(np.uint8)[: records.nbytes] = records.view(np.uint8)
    return more


def _chains(room: int) -> NDArray[np.int32]:
    """So many that most hold nothing."""
    return np.full(1 << (4 * room - 1).bit_length(), NONE, np.int32)


def with_slots(x: Exposures, more: int) -> Exposures:
    """The same with slots for so many more entries."""
    needed = int(x.book.held) + more + DROPPED
    if 2 * needed <= len(x.slots):
        return x
    before = x.slots
    x = x._replace(slots=slots(needed))
    put_all(x.slots, before)
    return x


def with_room(x: Exposures) -> Exposures:
    """The same with a store a third of which is free at least; every ring has a place, and none holds dead entries."""
    needed, room = int(_fit(x)), ROOM
    while 2 * room < 3 * needed:
        room *= 2
    y = _emptied(x, room)
    _move_all(x, y)
    return y


def _emptied(x: Exposures, room: int) -> Exposures:
    """The same with a new store."""
    x.book.fresh = 0
    entries, marks, blocks = _store(room, len(x.marks) > 0)
    return x._replace(entries=entries, marks=marks, blocks=blocks)


def with_items(x: Exposures) -> Exposures:
    """The same with room for twice as many items."""
    before = len(x.items)
    x = x._replace(items=_more(x.items, 2 * before), item_chains=_chains(2 * before))
    _chain_items_again(x)
    return x


def saved(x: Exposures) -> Arrays:
    """Everything that a snapshot keeps: items with their newest time, and their entries in order of time."""
    items = np.flatnonzero(x.items["count"][: int(x.book.fresh_item)] >= 0)
    order = np.empty(int(x.book.held), np.int64)
    _in_order(x, items, order)
    kept = {"item.number": items, **{f"item.{name}": x.items[name][items] for name in _KEPT_ITEM}}
    parts = ((x.entries, _KEPT_ENTRY), *(((x.marks, _KEPT_MARK),) if len(x.marks) else ()))
    entries = {f"entry.{name}": part[name][order] for part, names in parts for name in names}
    return {**kept, **entries, "newest": np.array(x.book.newest)}


def restored(x: Exposures, arrays: Mapping[str, NDArray[Any]]) -> Exposures:
    """A new `x` brought to where `saved` left it."""
    size = len(arrays["entry.time"])
    while len(x.items) < int(x.book.fixed) + len(arrays["item.number"]):
        x = with_items(x)
    x = with_slots(x, size)
    room = ROOM
    while room < 2 * (size + len(x.items)):
        room *= 2
    x = _emptied(x, room)
    x.book.newest = arrays["newest"][()]
    items = [arrays[f"item.{name}"] for name in ("number", *_KEPT_ITEM)]
    order = np.empty(size, np.int64)
    _refill(x, *items, *(arrays[f"entry.{name}"] for name in _KEPT_ENTRY), order)
    if len(x.marks):
        for name in _KEPT_MARK:
            x.marks[name][order] = arrays[f"entry.{name}"]
    return x


@kernel
def _fit(x):
    """Close the gaps in all rings; the sum of the blocks that they need."""
    needed = 0
    for i in range(x.book.fresh_item):
        if x.items[i].count >= 0:
            compact(x, i)
            needed += _size_for(x.items[i].length)
    return needed


@inlined
def _size_for(length):
    """Of a block for one entry more."""
    size = 1
    while size <= length:
        size *= 2
    return size


@kernel
def _move_all(x, y):
    """Every ring of x gets a block in the store of y; the items are those of both."""
    for i in range(x.book.fresh_item):
        item = x.items[i]
        if item.count < 0:
            continue
        size = _size_for(item.length)
        base = take_block(y, size)
        for n in range(item.head, item.head + item.length):
            source, target = place(x, i, n), base + (n & (size - 1))
            y.entries[target] = x.entries[source]
            if len(x.marks):
                y.marks[target] = x.marks[source]
        item.base, item.size = base, size


@kernel
def _in_order(x, items, order):
    at = 0
    for i in items:
        for n in range(x.items[i].head, x.items[i].head + x.items[i].length):
            if x.entries[place(x, i, n)].live:
                order[at] = place(x, i, n)
                at += 1


@kernel
def _refill(x, number, key0, key1, newest, count, user0, user1, time, order):
    at = 0
    for n in range(len(number)):
        i = np.int64(number[n])
        if i >= x.book.fixed:
            i = new_item(x, key0[n], key1[n], np.uint32(mixed(key0[n], key1[n], x.key)), x.book.everyone)
        item = x.items[i]
        item.newest, item.count = newest[n], count[n]
        size = _size_for(count[n])
        item.base, item.size = take_block(x, size), size
        for _ in range(count[n]):
            hash = paired(mixed(user0[at], user1[at], x.key), item.hash)
            write(x, i, np.int64(item.length), user0[at], user1[at], time[at], hash)
            put(x.slots, word(hash, item.length))
            order[at] = place(x, i, np.int64(item.length))
            item.length += 1
            x.book.held += 1
            at += 1


@kernel
def _plant(x, keys, parents):
    """The nodes of a hierarchy, which bear the first numbers, and then everyone."""
    for i in range(len(keys)):
        new_item(x, keys[i, 0], keys[i, 1], np.uint32(mixed(keys[i, 0], keys[i, 1], x.key)), parents[i])
    if x.book.everyone >= 0:
        i = spare_item(x)
        clear_item(x, i, np.uint64(0), np.uint64(0), np.uint32(0), np.int64(NONE))


@kernel
def sweep(x, window):
    """Drop every entry from before the last two windows, the items that nobody is left of, and blocks that are far too large.

    When an item was touched last, all that had been there for a window was dropped; that may have been enough.
    """
    limit = x.book.newest - 2 * window
    for i in range(x.book.fresh_item):
        soon = i + _SOON
        if soon < x.book.fresh_item and x.items[soon].newest - window < limit:
            nearest(x, soon)
        if x.items[i].count < 0:
            continue
        if x.items[i].newest - window < limit:
            forget(x, i, limit)
        if x.items[i].count == 0:
            x.items[i].newest = EMPTY
            if i >= x.book.fixed:
                drop_item(x, i)
            else:
                give_back(x, i)
        else:
            shrink(x, i)
    take_out_all(x)


@kernel
def _chain_items_again(x):
    for i in range(x.book.fresh_item):
        if x.items[i].count >= 0 and i != x.book.everyone:
            chain = x.items[i].hash & np.uint32(len(x.item_chains) - 1)
            x.items[i].chain = x.item_chains[chain]
            x.item_chains[chain] = i


@kernel
def census(x, limit, users):
    """Write for each item how many users exposed it since the limit; how many exposed anything."""
    for i in range(x.book.fresh_item):
        users[i] = 0
        if x.items[i].count > 0 and x.items[i].newest >= limit:
            users[i] = x.items[i].count
            n = x.items[i].head
            while x.entries[place(x, i, n)].time < limit:
                users[i] -= x.entries[place(x, i, n)].live
                n += 1
    everyone = users[x.book.everyone]
    users[x.book.everyone] = 0
    return everyone


@kernel
def marks(x, period, out):
    """Write for each user of a period what stands for all that was published of them; how many there are."""
    size, i = 0, x.book.everyone
    for n in range(x.items[i].head, x.items[i].head + x.items[i].length):
        e = place(x, i, n)
        if x.entries[e].live and x.marks[e].period == period:
            out[size] = x.marks[e].mark
            size += 1
    return size
