"""Who exposed what within the last Δt: an entry for each user of each item, in arrays.

The entries of an item form a list ordered by time, so that those that are too old stand at its head and the newest at its
tail; all entries hang in the chains of one hash table, by item and user. In order of time every step takes constant time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.blocks.crowd import (
    EMPTY,
    NONE,
    append,
    chain,
    clear_item,
    drop_item,
    forget,
    mixed,
    new_entry,
    new_item,
    paired,
    spare_item,
)
from shoal.compiled import kernel

Arrays = dict[str, NDArray[Any]]

ROOM = 65_536
"""Entries that there is room for at first; so many are never swept."""

_KEPT_ITEM = ("key0", "key1", "newest", "count")
_KEPT_ENTRY = ("user0", "user1")
_KEPT_MARK = ("period", "mark")
_LINE = 64  # bytes that memory gives at a time
_ITEMS = 1024

ENTRY = np.dtype(
    [
        ("user0", "u8"),
        ("user1", "u8"),
        ("item", "i4"),
        ("hash", "u4"),
        ("chain", "i4"),  # the next in the chain
        ("above", "i4"),  # the one before it there
    ]
)
LINK = np.dtype([("time", "f8"), ("before", "i4"), ("after", "i4")])
MARK = np.dtype([("period", "i8"), ("mark", "u8")])
ITEM = np.dtype(
    {
        "names": ["key0", "key1", "newest", "hash", "first", "last", "count", "parent", "chain"],
        "formats": ["u8", "u8", "f8", "u4", "i4", "i4", "i4", "i4", "i4"],
        "itemsize": _LINE,
    },
    align=True,
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
        ("spare", "i8"),  # the first of a chain of entries that are free again, and of items
        ("spare_item", "i8"),
        ("fresh", "i8"),  # from here on, entries have never been used, and items
        ("fresh_item", "i8"),
    ]
)


class Exposures(NamedTuple):
    book: np.record
    entries: NDArray[np.void]  # who
    links: NDArray[np.void]  # when, and who came before and after
    marks: NDArray[np.void]  # what was published of whom, if that is asked for
    chains: NDArray[np.int32]
    items: NDArray[np.void]
    item_chains: NDArray[np.int32]
    key: NDArray[np.uint64]


def exposures(
    keys: NDArray[np.uint64], parents: NDArray[np.int64], deepest: int, everyone: bool, key: NDArray[np.uint64], room: int
) -> Exposures:
    """Nothing exposed yet. `keys` and `parents` are those of a hierarchy's nodes, `deepest` the longest way to its root."""
    book = np.zeros(1, BOOK).view(np.recarray)[0]
    book.newest, book.room, book.everyone = EMPTY, room, len(keys) if everyone else NONE
    book.fixed, book.deepest = len(keys) + everyone, deepest + everyone
    book.spare = book.spare_item = NONE
    items = max(_ITEMS, 2 * len(keys))
    x = Exposures(
        book, _aligned(room, ENTRY), _aligned(room, LINK), _aligned(room if everyone else 0, MARK), _chains(room),
        _aligned(items, ITEM), _chains(items), key,
    )  # fmt: skip
    _plant(x, keys, np.where(parents < 0, book.everyone, parents))
    return x


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
    x.book.room = room
    marks = _more(x.marks, room) if len(x.marks) else x.marks
    x = x._replace(entries=_more(x.entries, room), links=_more(x.links, room), marks=marks, chains=_chains(room))
    _chain_again(x)
    return x


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
    parts = ((x.entries, _KEPT_ENTRY), (x.links, ("time",)), *(((x.marks, _KEPT_MARK),) if len(x.marks) else ()))
    entries = {f"entry.{name}": part[name][order] for part, names in parts for name in names}
    return {**kept, **entries, "newest": np.array(x.book.newest), "room": np.array(x.book.room)}


def restored(x: Exposures, arrays: Mapping[str, NDArray[Any]]) -> Exposures:
    """A new `x` brought to where `saved` left it."""
    if arrays["room"] > x.book.room:
        x = _with_entries(x, int(arrays["room"]))
    while len(x.items) < int(x.book.fixed) + len(arrays["item.number"]):
        x = with_items(x)
    x.book.newest = arrays["newest"][()]
    items = [arrays[f"item.{name}"] for name in ("number", *_KEPT_ITEM)]
    order = np.empty(len(arrays["entry.time"]), np.int64)
    _refill(x, *items, *(arrays[f"entry.{name}"] for name in (*_KEPT_ENTRY, "time")), order)
    if len(x.marks):
        for name in _KEPT_MARK:
            x.marks[name][order] = arrays[f"entry.{name}"]
    return x


@kernel
def _in_order(x, items, order):
    at = 0
    for i in items:
        e = np.int64(x.items[i].first)
        while e >= 0:
            order[at] = e
            at += 1
            e = np.int64(x.links[e].after)


@kernel
def _refill(x, number, key0, key1, newest, count, user0, user1, time, order):
    at = 0
    for n in range(len(number)):
        i = np.int64(number[n])
        if i >= x.book.fixed:
            i = new_item(x, key0[n], key1[n], np.uint32(mixed(key0[n], key1[n], x.key)), x.book.everyone)
        x.items[i].newest = newest[n]
        for _ in range(count[n]):
            hash = paired(mixed(user0[at], user1[at], x.key), x.items[i].hash)
            e = new_entry(x, i, user0[at], user1[at], hash)
            append(x, i, e)
            x.links[e].time = time[at]
            order[at] = e
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
def sweep(x, limit):
    """Drop every entry from before the limit, and the items that nobody is left of."""
    for i in range(x.book.fresh_item):
        if x.items[i].count < 0:
            continue
        forget(x, i, limit)
        if x.items[i].count == 0:
            x.items[i].newest = EMPTY
            if i >= x.book.fixed:
                drop_item(x, i)


@kernel
def _chain_again(x):
    for e in range(x.book.fresh):
        if x.entries[e].item >= 0:
            chain(x, e)


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
            e = np.int64(x.items[i].first)
            while x.links[e].time < limit:
                users[i] -= 1
                e = np.int64(x.links[e].after)
    everyone = users[x.book.everyone]
    users[x.book.everyone] = 0
    return everyone


@kernel
def marks(x, period, out):
    """Write for each user of a period what stands for all that was published of them; how many there are."""
    size, e = 0, np.int64(x.items[x.book.everyone].first)
    while e >= 0:
        if x.marks[e].period == period:
            out[size] = x.marks[e].mark
            size += 1
        e = np.int64(x.links[e].after)
    return size
