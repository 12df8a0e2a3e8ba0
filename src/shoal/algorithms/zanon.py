"""z-anonymity: an item is published once z users have exposed it within the last Δt, and not before.

Every observation, a user who exposes an item at a time, is decided the moment it arrives: it leaves at once if at least z
different users, its own included, exposed the item in [t-Δt, t]; else it is withheld. Nothing is held and nothing is
delayed. Users leave under pseudonyms that change with every Δt. With a hierarchy, a withheld item is published as its
nearest ancestor that enough users exposed.

Parameters
----------
z
    The fewest users who must have exposed an item. `{auto: {k, probability}, floor}` lets it follow the stream, so that a
    user is k-anonymous with this probability.
window (Δt)
    How far back users are counted, and how long a pseudonym lasts.
withheld (drop)
    What becomes of a withheld observation: `drop`, or `blank` to publish it without its item.
secret_file
    A file in the policy's folder that holds the secret of the pseudonyms; without one it is SHOAL_SECRET.

Examples
--------
>>> import os
>>> os.environ["SHOAL_SECRET"] = "at least sixteen bytes"
>>> from shoal import Anonymizer, Policy
>>> policy = Policy.parse('''
... person: user
... time: {field: t}
... item: {field: site, hierarchy: {web: {news: [bbc, lemonde], shops: [amazon]}}}
... algorithm: {name: zanon, z: 2, window: 10s}
... ''')
>>> anonymizer = Anonymizer(policy)
>>> for t, (user, site) in enumerate([("ann", "bbc"), ("ann", "bbc"), ("bob", "lemonde"), ("bob", "bbc"), ("cy", "amazon")]):
...     for published in anonymizer.push({"t": t, "user": user, "site": site}):
...         print(published)
{'t': 2, 'user': 'b57616f34002ce70fd1e2f0ea6ee6731', 'site': 'news'}
{'t': 3, 'user': 'b57616f34002ce70fd1e2f0ea6ee6731', 'site': 'bbc'}
{'t': 4, 'user': '139a22a9b264333a750521f656ff3e01', 'site': 'web'}
>>> del os.environ["SHOAL_SECRET"]

Decisions
---------
- Late observations, with t before the newest time of their item by at most Δt: the user's stored time becomes the later of
  the two, and those count whose stored time lies in [t-Δt, t]. The user at hand counts at its own time, also where it was
  seen later already: so z = 1 withholds nothing. Older ones are rejected. The published algorithm knows none of them.
- Every node on the way from the item to the root counts users of its own, so a user who exposes two children counts once
  for their parent. The root is an ancestor like any other. An inner node may be exposed itself. An item that the hierarchy
  does not know stands alone.
- Whether an observation is too late is decided by its item. For an ancestor that is further ahead it counts as nothing.
- Entries of items that nobody touches again are swept away: after 65,536 observations, late ones included, all those from
  before two windows before the newest time seen go, and items without any; and then each time after eight times as many
  observations as items were left, but at least 65,536. So it depends on the stream alone when this happens, not on how it is
  cut into batches. An observation more than a window late can meet an item that was forgotten so: it is then taken in as its
  first instead of being rejected, which counts fewer users, never more.
- Users and items are told apart by keys. A 64-bit whole number is its own key, also as text; any other text has a keyed
  SipHash of 127 bits, several fields together too.
- A period is floor(t / Δt), exactly; under a Δt of 0 every time is a period of its own.
- A z that follows the stream is found anew after each quarter of a period, from the last Δt. Until a whole Δt was counted,
  nothing is released.

Guarantee
---------
Whatever item leaves, at least z different users, its own included, exposed it, or something below it, within the Δt
before. No observation waits.

References
----------
N. Jha, L. Vassio, M. Trevisan, E. Leonardi, M. Mellia: Practical anonymization for data streams: z-anonymity and relation
with k-anonymity. Performance Evaluation 159 (2023), 102329.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.blocks.ahead import ask_for_chain, ask_for_item, ask_for_ring
from shoal.blocks.crowd import enlisted, expose, has_items
from shoal.blocks.ring import NONE, has_place, mixed
from shoal.compiled import inlined, kernel

LATE, WITHHELD, RELEASED, GENERALIZED = 0, 1, 2, 3
OUTCOMES = ("late", "withheld", "released", "generalized")

DONE, FULL, FULL_OF_ITEMS, TURN = 0, 1, 2, 3
"""Why `run` comes back: it is through; it needs room for entries, or for items; a quarter of a period is over."""

FAR, MIDDLE, CLOSE = 40, 28, 14
"""How many rows ahead memory is asked for: chains, then items, then rings."""

RULE = np.dtype(
    [
        ("z", "i8"),
        ("window", "f8"),
        ("blank", "?"),  # whether withheld observations leave without their item
        ("tuned", "?"),  # whether z follows the stream
        ("quarter", "i8"),  # the newest quarter of a period, if it does
        ("due", "i8"),  # observations until old entries are swept away
        ("row", "i8"),  # of the batch: the next one
        ("last", "i8"),  # of the batch: the one before which to stop
        ("leaving", "i8"),  # of the batch: so many leave
        ("tally", "i8", (len(OUTCOMES),)),
    ]
)


class Observations(NamedTuple):
    """A batch, and what becomes of it."""

    time: NDArray[np.float64]
    user: NDArray[np.uint64]  # two words each
    item: NDArray[np.uint64]
    quarter: NDArray[np.int64]  # of a period, if z follows the stream
    item_hash: NDArray[np.uint32]
    place: NDArray[np.int32]  # the number of the item
    how: NDArray[np.int8]
    leaving: NDArray[np.int64]  # the rows that leave, in order; of each of them:
    shown: NDArray[np.int32]  # the item that is published, or none
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
    """Decide the rows of a batch from `rule.row` to `rule.last`; why it came back."""
    reason, first = DONE, rule.row
    for row in range(first - FAR, rule.last):
        if not has_items(x, 1):
            reason = FULL_OF_ITEMS
            break
        _look_ahead(x, batch, row, first, rule.last)
        if row >= first:
            reason = _decide(x, rule, batch, row)
            if reason != DONE:
                break
            rule.row = row + 1
    return reason


@inlined
def _look_ahead(x, batch, row, first, last):
    """Ask for the memory that later rows will need; on the way find their items, new ones included (lines 2 to 6)."""
    ahead = row + FAR
    if ahead < last:
        batch.item_hash[ahead] = np.uint32(mixed(batch.item[ahead, 0], batch.item[ahead, 1], x.key))
        ask_for_chain(x, batch.item_hash[ahead])
    ahead = row + MIDDLE
    if first <= ahead < last:
        ask_for_item(x, batch.item_hash[ahead])
    ahead = row + CLOSE
    if first <= ahead < last:
        batch.place[ahead] = enlisted(x, batch.item[ahead, 0], batch.item[ahead, 1], batch.item_hash[ahead])
        ask_for_ring(x, np.int64(batch.place[ahead]))


@inlined
def _decide(x, rule, batch, row):
    """Decide one row, unless there is something to be done before."""
    time, a = batch.time[row], np.int64(batch.place[row])
    if time < x.items[a].newest - rule.window:
        batch.how[row] = LATE
        rule.tally[LATE] += 1
        return DONE
    if rule.tuned and batch.quarter[row] > rule.quarter:
        return TURN
    if not _has_places(x, a, rule.window):
        return FULL
    x.book.newest = max(x.book.newest, time)
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
    """Whether the item and all that lies above it have a place for one more entry."""
    node = a
    while node >= 0:
        if not has_place(x, node, x.items[node].newest - window):
            return False
        node = np.int64(x.items[node].parent)
    return True


@inlined
def _observe(x, rule, batch, row, a):
    """Count the user for the item and all that lies above it; the lowest that z users exposed, or none."""
    time, user0, user1 = batch.time[row], batch.user[row, 0], batch.user[row, 1]
    shown, node = np.int64(NONE), a
    while node >= 0:
        is_all = node == x.book.everyone  # who is only counted, and never shown
        enough = expose(x, node, user0, user1, time, rule.window, 1 if is_all else rule.z)  # lines 7 to 23
        if enough and shown < 0 and not is_all:
            shown = node
        node = np.int64(x.items[node].parent)
    return shown
