"""Where entries are found: words in one array, each of a hash and the number of an entry in its item's ring.

Eight words share a line of memory, and one instruction compares them all. A word stands in the line that its hash tells, or, if
that is full, in the next that is not. An entry is hardly ever looked at in vain. Who looks a number up compares keys in that
ring, so that it does not matter whose word it was; and words that are alike can stand for each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.compiled import WORDS, alike, first_one, inlined, inner, kernel

FREE = np.uint64(0)
_HALF = np.uint64(32)
_NUMBER = np.uint64(0xFFFFFFFF)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_LINE = np.uint64(WORDS)


def slots(number: int) -> NDArray[np.uint64]:
    """For so many words, so that at least half stay free."""
    size = 1 << max(2 * number - 1, 15).bit_length()
    raw = np.zeros(size + WORDS, np.uint64)
    start = -raw.ctypes.data // raw.itemsize % WORDS
    return raw[start : start + size]


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
def first_line(slots, hash):
    """Where to begin to look."""
    return np.uint64(hash) & np.uint64(len(slots) - WORDS)


@inlined
def next_line(slots, line):
    return (line + _LINE) & np.uint64(len(slots) - 1)


@inlined
def with_hash(slots, line, hash):
    """Bit i: the i-th word of a line has this hash."""
    return alike(slots, line, np.uint64(hash) << _HALF, ~_NUMBER)


@inlined
def is_full(slots, line):
    """Whether what belongs into a line may stand in the next."""
    return alike(slots, line, FREE, _ALL) == 0


@inlined
def put(slots, new):
    slots[_first(slots, hash_of(new), FREE)] = new


@inlined
def slot_of(slots, old):
    """Where a word stands that is there."""
    return _first(slots, hash_of(old), old)


@inlined
def _first(slots, hash, wanted):
    """The first place of a word, from where to begin to look for a hash."""
    line = first_line(slots, hash)
    found = alike(slots, line, wanted, _ALL)
    while found == 0:
        line = next_line(slots, line)
        found = alike(slots, line, wanted, _ALL)
    return line + np.uint64(first_one(found))


@inlined
def take_out(slots, old):
    hole = slot_of(slots, old)
    was_full = is_full(slots, hole & ~(_LINE - np.uint64(1)))
    slots[hole] = FREE
    if was_full:
        _fill(slots, hole)


@inner
def _fill(slots, hole):
    """Words that stand behind a line that was full, and belong into it or before it, move up, so that none is cut off."""
    last = np.uint64(len(slots) - 1)
    gap = hole & ~(_LINE - np.uint64(1))
    line, full = gap, True
    while full:
        line = next_line(slots, line)
        full = is_full(slots, line)
        for at in range(line, line + _LINE):
            word = slots[at]
            if word != FREE and (line - first_line(slots, hash_of(word))) & last >= (line - gap) & last:
                slots[hole], slots[at] = word, FREE
                hole, gap = np.uint64(at), line
                break


@kernel
def put_all(slots, others):
    """Take over the words of other slots."""
    for line in range(0, len(others), WORDS):
        taken = ~alike(others, np.uint64(line), FREE, _ALL) & np.uint64((1 << WORDS) - 1)
        while taken:
            put(slots, others[np.uint64(line) + np.uint64(first_one(taken))])
            taken &= taken - np.uint64(1)
