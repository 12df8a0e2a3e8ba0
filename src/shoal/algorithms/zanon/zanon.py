"""The loop of z-anonymity: memory is loaded ahead, and each observation is decided. Line numbers are those of the paper.

`rule` is a record of `RULE`, `batch` is `Observations`; `algorithms.zanon.exposures` explains all other arguments.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.zanon.items import expose, find_or_add_item, has_items, prefetch_chain, prefetch_item, prefetch_ring
from shoal.algorithms.zanon.ring import NONE, has_place, hashed
from shoal.compiled import inlined, kernel

LATE, WITHHELD, RELEASED, GENERALIZED = 0, 1, 2, 3
OUTCOMES = ("late", "withheld", "released", "generalized")

DONE, FULL, FULL_OF_ITEMS, TURN = 0, 1, 2, 3
"""Why `run` returns: the batch is done; it needs room for entries, or for items; a quarter of a period is over."""

CHAINS_AHEAD, ITEMS_AHEAD, RINGS_AHEAD = 40, 28, 14
"""How many rows ahead memory is loaded."""

RULE = np.dtype([
    ("z", "i8"), ("window", "f8"),
    ("blank", "?"),  # whether withheld observations leave without their item
    ("tuned", "?"),  # whether z follows the stream
    ("quarter", "i8"),  # the newest quarter of a period, if it does
    ("due", "i8"),  # observations until old entries are swept away
    ("row", "i8"), ("last", "i8"),  # of the batch: the next row, and the one before which to stop
    ("leaving", "i8"),  # of the batch: how many leave
    ("tally", "i8", (len(OUTCOMES),)),
])  # fmt: skip


class Observations(NamedTuple):
    """A batch, and what becomes of it."""

    time: NDArray[np.float64]
    user: NDArray[np.uint64]  # two words each
    item: NDArray[np.uint64]
    quarter: NDArray[np.int64]  # of a period, if z follows the stream
    item_hash: NDArray[np.uint32]
    place: NDArray[np.int32]  # the index of the item
    how: NDArray[np.int8]
    leaving: NDArray[np.int64]  # the rows that leave, in order; the next two have one entry for each of these
    shown: NDArray[np.int32]  # the item that is published, or NONE
    z: NDArray[np.int64]


def observations(
    time: NDArray[np.float64], user: NDArray[np.uint64], item: NDArray[np.uint64], quarter: NDArray[np.int64]
) -> Observations:
    size = len(time)
    return Observations(
        time, user, item, quarter, np.empty(size, np.uint32), np.empty(size, np.int32), np.empty(size, np.int8),
        np.empty(size, np.int64), np.empty(size, np.int32), np.empty(size, np.int64),
    )  # fmt: skip


@kernel
def run(x, rule, batch):
    """Decide the rows of a batch from `rule.row` to `rule.last`; why it returns."""
    reason, first = DONE, rule.row
    for row in range(first - CHAINS_AHEAD, rule.last):
        if not has_items(x, 1):
            reason = FULL_OF_ITEMS
            break
        _prefetch(x, batch, row, first, rule.last)
        if row >= first:
            reason = _decide(x, rule, batch, row)
            if reason != DONE:
                break
            rule.row = row + 1
    return reason


@inlined
def _prefetch(x, batch, row, first, last):
    """Load the memory that later rows will need, and find their items, new ones included (lines 2 to 6)."""
    ahead = row + CHAINS_AHEAD
    if ahead < last:
        batch.item_hash[ahead] = np.uint32(hashed(batch.item[ahead, 0], batch.item[ahead, 1], x.key))
        prefetch_chain(x, batch.item_hash[ahead])
    ahead = row + ITEMS_AHEAD
    if first <= ahead < last:
        prefetch_item(x, batch.item_hash[ahead])
    ahead = row + RINGS_AHEAD
    if first <= ahead < last:
        batch.place[ahead] = find_or_add_item(x, batch.item[ahead, 0], batch.item[ahead, 1], batch.item_hash[ahead])
        prefetch_ring(x, np.int64(batch.place[ahead]))


@inlined
def _decide(x, rule, batch, row):
    """Decide one row; DONE, or the reason why something must be done first."""
    time, a = batch.time[row], np.int64(batch.place[row])
    if time < x.items[a].newest - rule.window:
        batch.how[row] = LATE
        rule.tally[LATE] += 1
        return DONE
    if rule.tuned and batch.quarter[row] > rule.quarter:
        return TURN
    if not _has_places(x, a, rule.window):
        return FULL
    x.counters.newest = max(x.counters.newest, time)
    shown = _observe(x, rule, batch, row, a)
    how = WITHHELD if shown < 0 else RELEASED if shown == a else GENERALIZED
    batch.how[row] = how
    rule.tally[how] += 1
    if rule.blank or how != WITHHELD:
        n = rule.leaving
        batch.leaving[n], batch.shown[n], batch.z[n] = row, shown, rule.z
        rule.leaving += 1
    return DONE


@inlined
def _has_places(x, a, window):
    """Whether the item and all its ancestors have a place for one more entry."""
    node = a
    while node >= 0:
        if not has_place(x, node, x.items[node].newest - window):
            return False
        node = np.int64(x.items[node].parent)
    return True


@inlined
def _observe(x, rule, batch, row, a):
    """Count the user for the item and all its ancestors; the lowest of these that z users exposed, or NONE."""
    time, user0, user1 = batch.time[row], batch.user[row, 0], batch.user[row, 1]
    shown, node = np.int64(NONE), a
    while node >= 0:
        is_all = node == x.counters.any_item  # only counted, never shown
        enough = expose(x, node, user0, user1, time, rule.window, 1 if is_all else rule.z)  # lines 7 to 23
        if enough and shown < 0 and not is_all:
            shown = node
        node = np.int64(x.items[node].parent)
    return shown
