"""How many numbers of a stretch are larger than another, for many stretches at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.integer]


def above(values: Ints, low: Ints, high: Ints, bound: Ints) -> NDArray[np.int64]:
    """For each query, how many of `values[low:high]` are above `bound`.

    A wavelet matrix, bit by bit from the highest: the values are parted by the bit, and each query follows its bound.

    >>> above(np.array([3, 1, 4, 1, 5]), np.array([0, 1]), np.array([5, 4]), np.array([2, 1])).tolist()
    [3, 1]
    """
    values, low, high, bound = (each.astype(np.int32) for each in (values, low, high, bound))
    found = np.zeros(len(low), np.int32)
    top = int(max(values.max(initial=0), bound.max(initial=0)))
    for bit in reversed(range(top.bit_length())):
        ones = (values >> bit & 1).astype(bool)
        ones_before = np.zeros(len(values) + 1, np.int32)
        np.cumsum(ones, out=ones_before[1:])
        zeros = np.int32(len(values) - ones_before[-1])
        low_ones, high_ones = ones_before[low], ones_before[high]
        up = (bound >> bit & 1).astype(bool)
        found += np.where(up, 0, high_ones - low_ones)
        low = np.where(up, zeros + low_ones, low - low_ones)
        high = np.where(up, zeros + high_ones, high - high_ones)
        values = np.concatenate([values[~ones], values[ones]])
    return found.astype(np.int64)
