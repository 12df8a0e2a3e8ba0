"""Memory that will be needed soon, asked for in time: most of what counting costs is waiting for it. It decides nothing."""

from __future__ import annotations

import numpy as np

from shoal.compiled import inlined, prefetch


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
        prefetch(x.links, max(np.int64(x.items[i].first), 0))
        prefetch(x.links, max(np.int64(x.items[i].last), 0))


@inlined
def at_hand(x, item_hash, limit):
    """Ask for what dropping the head of that list will touch, if it is from before the limit."""
    i = np.int64(x.item_chains[item_hash & np.uint32(len(x.item_chains) - 1)])
    if i >= 0:
        e = np.int64(x.items[i].first)
        if e >= 0 and x.links[e].time < limit:
            prefetch(x.entries, e)
            prefetch(x.links, max(np.int64(x.links[e].after), 0))
