"""The roster: which persons, or missing patterns, are in the window, and how many tuples each has.

Keys of two words (persons: a keyed 128-bit fingerprint; missing patterns: the mask) become small numbers, which stay the same
while the key is present and are free again afterwards. Two persons with one fingerprint would count as one, which can only
make groups larger, never smaller than promised. `r` is a `Roster`; (a, b) is a key of two words (uint64).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.compiled import inlined, kernel


class Roster(NamedTuple):
    key: NDArray[np.uint64]  # one row of two words per number
    tuples: NDArray[np.int64]  # how many tuples have this key
    free: NDArray[np.int64]  # a stack of unused numbers
    bucket: NDArray[np.int64]  # a hash table of numbers; -1 is empty
    size: NDArray[np.int64]  # one cell: how many keys are present
    peak: NDArray[np.int64]  # one cell: all numbers in use are below it


def roster(capacity: int) -> Roster:
    buckets = 1 << max(3, (2 * capacity - 1).bit_length())
    return Roster(
        np.zeros((capacity, 2), np.uint64), np.zeros(capacity, np.int64), np.arange(capacity, dtype=np.int64),
        np.full(buckets, -1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64),
    )  # fmt: skip


@inlined
def _bucket_of(r, a, b):
    h = (a ^ (b << np.uint64(1))) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((h ^ (h >> np.uint64(32))) & np.uint64(len(r.bucket) - 1))


@inlined
def join(r, a, b):
    """Count the key (a, b) once more; its number."""
    i = _bucket_of(r, a, b)
    while r.bucket[i] >= 0:
        number = r.bucket[i]
        if r.key[number, 0] == a and r.key[number, 1] == b:
            r.tuples[number] += 1
            return number
        i = (i + 1) & (len(r.bucket) - 1)
    number = r.free[r.size[0]]
    r.size[0] += 1
    r.peak[0] = max(r.peak[0], number + 1)
    r.bucket[i] = number
    r.key[number, 0] = a
    r.key[number, 1] = b
    r.tuples[number] = 1
    return number


@kernel
def join_all(r, keys):
    """Count each of these keys once more."""
    for i in range(len(keys)):
        join(r, keys[i, 0], keys[i, 1])


@inlined
def find(r, a, b):
    """The number of the key (a, b); -1 if it is not present."""
    i = _bucket_of(r, a, b)
    while r.bucket[i] >= 0:
        number = r.bucket[i]
        if r.key[number, 0] == a and r.key[number, 1] == b:
            return number
        i = (i + 1) & (len(r.bucket) - 1)
    return -1


@inlined
def leave(r, number):
    """Count a key once less; at 0 its number is free."""
    r.tuples[number] -= 1
    if r.tuples[number] > 0:
        return
    last = len(r.bucket) - 1
    hole = _bucket_of(r, r.key[number, 0], r.key[number, 1])
    while r.bucket[hole] != number:
        hole = (hole + 1) & last
    i = hole
    while True:
        i = (i + 1) & last
        other = r.bucket[i]
        if other < 0:
            break
        first = _bucket_of(r, r.key[other, 0], r.key[other, 1])
        if ((i - first) & last) >= ((i - hole) & last):
            r.bucket[hole] = other
            hole = i
    r.bucket[hole] = -1
    r.size[0] -= 1
    r.free[r.size[0]] = number
