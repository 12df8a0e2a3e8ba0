"""Where entries are found: words in one array, each of a hash and the number of an entry in its item's ring.

Eight words share a line of memory, and an entry is hardly ever looked at in vain. Who looks a number up compares keys in that
ring, so that it does not matter whose word it was; and words that are alike can stand for each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.compiled import inlined, kernel

FREE = np.uint64(0)
_HALF = np.uint64(32)
_NUMBER = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)


def slots(number: int) -> NDArray[np.uint64]:
    """For so many words, so that at least half stay free."""
    return np.zeros(1 << max(2 * number - 1, 15).bit_length(), np.uint64)


@inlined
def word(hash, number):
    """A hash is never 0, so that a word is not."""
    return np.uint64(hash) << _HALF | np.uint64(number) & _NUMBER


@inlined
def hash_of(word):
    return word >> _HALF


@inlined
def steps(word, number):
    """How far the number of a word lies behind another."""
    return np.int64((word - np.uint64(number)) & _NUMBER)


@inlined
def first_slot(slots, hash):
    """Where to begin to look."""
    return np.uint64(hash) & np.uint64(len(slots) - 1)


@inlined
def next_slot(slots, at):
    return (at + _ONE) & np.uint64(len(slots) - 1)


@inlined
def put(slots, new):
    at = first_slot(slots, hash_of(new))
    while slots[at] != FREE:
        at = next_slot(slots, at)
    slots[at] = new


@inlined
def slot_of(slots, old):
    """Where a word stands that is there."""
    at = first_slot(slots, hash_of(old))
    while slots[at] != old:
        at = next_slot(slots, at)
    return at


@inlined
def take_out(slots, old):
    """Those that spilled over its slot move up, so that none is cut off."""
    hole = at = slot_of(slots, old)
    last = np.uint64(len(slots) - 1)
    while True:
        at = next_slot(slots, at)
        found = slots[at]
        if found == FREE:
            break
        if (at - first_slot(slots, hash_of(found))) & last >= (at - hole) & last:
            slots[hole] = found
            hole = at
    slots[hole] = FREE


@kernel
def put_all(slots, others):
    """Take over the words of other slots."""
    for other in others:
        if other != FREE:
            put(slots, other)
