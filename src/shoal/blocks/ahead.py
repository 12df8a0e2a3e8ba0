"""Memory that will be needed soon, asked for in time: most of what counting costs is waiting for it. It decides nothing."""

from __future__ import annotations

import numpy as np

from shoal.blocks.ring import place
from shoal.blocks.slots import first_line
from shoal.compiled import inlined, prefetch


@inlined
def near(x, item_hash, pair_hash):
    """Ask for the chain of an item, and for the slot of a user of it."""
    prefetch(x.item_chains, np.int64(item_hash & np.uint32(len(x.item_chains) - 1)))
    prefetch(x.slots, np.int64(first_line(x.slots, pair_hash)))


@inlined
def nearer(x, item_hash):
    """Ask for the first item of the chain."""
    prefetch(x.items, max(np.int64(x.item_chains[item_hash & np.uint32(len(x.item_chains) - 1)]), 0))


@inlined
def nearest(x, i):
    """Ask for both ends of an item's ring."""
    head = x.items[i].head
    prefetch(x.entries, np.int64(place(x, i, head)))
    prefetch(x.entries, np.int64(place(x, i, head + 2)))
    prefetch(x.entries, np.int64(place(x, i, head + x.items[i].length)))
