"""Memory that will be needed soon, asked for in time: most of what counting costs is waiting for it. It decides nothing."""

from __future__ import annotations

import numpy as np

from shoal.blocks.ring import place
from shoal.compiled import inlined, prefetch


@inlined
def ask_for_chain(x, item_hash):
    prefetch(x.item_chains, np.int64(item_hash & np.uint32(len(x.item_chains) - 1)))


@inlined
def ask_for_item(x, item_hash):
    """The first one of its chain."""
    prefetch(x.items, max(np.int64(x.item_chains[item_hash & np.uint32(len(x.item_chains) - 1)]), 0))


@inlined
def ask_for_ring(x, i):
    """Its end; where it is full, that is its head too."""
    prefetch(x.entries, np.int64(place(x, i, x.items[i].head + x.items[i].length)))
