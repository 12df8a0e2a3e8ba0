"""Parts: a large wave is cut into parts of tuples that are alike, and each part is partitioned by itself.

The work on a part grows with the square of its size: a large wave with small groups would take far too long in one piece.
`algorithms.tide.wave` explains the arguments.
"""

from __future__ import annotations

import numpy as np

from shoal.algorithms.tide.wave import MISSING, is_new, units
from shoal.compiled import inlined, inner

SAMPLE = 64


@inner
def cut(domain, v, scratch, k, start, stop):
    """Cut the tuples between two places of the order in two, those with the smaller places first; where the second part starts,
    `start` if no cut is good."""
    p, best, score, limit = v.tuples, -1, 0, np.int32(0)
    for q in range(len(domain.width)):
        size = _sample(v, q, start, stop)
        at = _boundary(v.growth.place[0], size)
        if at > 0:
            own = _score(domain, v, q, at, size)
            if own > score:
                best, score, limit = q, own, v.growth.place[0, at]
    if best < 0 or min(_persons(v, scratch, best, limit, start, stop)) < k:
        return start
    low = high = 0
    for j in range(start, stop):
        t = v.order[j]
        if p.place[t, best] < limit:
            v.order[start + low] = t
            low += 1
        else:
            v.moved[high] = t
            high += 1
    for j in range(high):
        v.order[start + low + j] = v.moved[j]
    return start + low


@inlined
def _persons(v, scratch, q, limit, start, stop):
    """How many persons have tuples with a place below the limit, or none, and how many have others."""
    p, low, high = v.tuples, 0, 0
    scratch.turn[0] += 1
    for j in range(start, stop):
        t = v.order[j]
        low += p.place[t, q] < limit and is_new(scratch, p.person[t])
    scratch.turn[0] += 1
    for j in range(start, stop):
        t = v.order[j]
        high += p.place[t, q] >= limit and is_new(scratch, p.person[t])
    return low, high


@inlined
def _sample(v, q, start, stop):
    """Write the places of some tuples into growth.place[0], sorted, without the missing ones; how many they are."""
    sample, tuples, size = v.growth.place[0], stop - start, 0
    for i in range(SAMPLE):
        place = v.tuples.place[v.order[start + (2 * i + 1) * tuples // (2 * SAMPLE)], q]
        if place != MISSING:
            j = size
            while j > 0 and sample[j - 1] > place:
                sample[j] = sample[j - 1]
                j -= 1
            sample[j] = place
            size += 1
    return size


@inlined
def _boundary(sample, size):
    """The index nearest to the middle at which another place begins, the lower on a tie; 0 if all are the same."""
    for away in range(size):
        for at in (size // 2 - away, size // 2 + away):
            if 0 < at < size and sample[at - 1] != sample[at]:
                return at
    return 0


@inlined
def _score(domain, v, q, at, size):
    """What a cut saves, times the size of the smaller side."""
    saved = size * _spread(domain, v, q, 0, size) - at * _spread(domain, v, q, 0, at)
    saved -= (size - at) * _spread(domain, v, q, at, size)
    return saved * min(at, size - at)


@inlined
def _spread(domain, v, q, start, stop):
    """The loss of the middle three quarters of a piece of the sample."""
    sample, aside = v.growth.place[0], (stop - start) // 8
    first, last, values = start + aside, stop - 1 - aside, 1
    for i in range(first, last):
        values += sample[i] != sample[i + 1]
    return np.int64(units(domain, v, q, sample[first], sample[last], values, 0))
