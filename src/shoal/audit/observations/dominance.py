"""How many numbers of a stretch are larger than another, for many stretches at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def above(values: Ints, low: Ints, high: Ints, bound: Ints) -> Ints:
    """For each query, how many of `values[low:high]` are above `bound`.

    A wavelet matrix, bit by bit from the highest: the values are parted by the bit, and each query follows its bound.

    >>> above(np.array([3, 1, 4, 1, 5]), np.array([0, 1]), np.array([5, 4]), np.array([2, 1])).tolist()
    [3, 1]
    """
    found = np.zeros(len(low), np.int64)
    top = int(max(values.max(initial=0), bound.max(initial=0)))
    for bit in reversed(range(top.bit_length())):
        ones = (values >> bit & 1).astype(bool)
        zeros_before = np.append(0, np.cumsum(~ones))
        zeros = zeros_before[-1]
        low_zeros, high_zeros = zeros_before[low], zeros_before[high]
        up = (bound >> bit & 1).astype(bool)
        found += np.where(up, 0, (high - high_zeros) - (low - low_zeros))
        low = np.where(up, zeros + low - low_zeros, low_zeros)
        high = np.where(up, zeros + high - high_zeros, high_zeros)
        values = np.concatenate([values[~ones], values[ones]])
    return found
