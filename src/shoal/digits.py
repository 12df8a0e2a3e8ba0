"""Whole numbers in text, read by kernels."""

from __future__ import annotations

import numpy as np

from shoal.compiled import inlined

_MINUS, _ZERO = b"-0"
_TEN = np.uint64(10)


@inlined
def whole_number(letters, start, end, most, padded):
    """Read letters[start:end]: a sign or none, then 1 to `most` digits. Zeros that a number does not need, and -0, are
    accepted only if `padded`.

    (whether it is such a number, whether it is negative, its size)
    """
    size = np.uint64(0)
    negative = start < end and letters[start] == _MINUS
    first = start + 1 if negative else start
    if not 0 < end - first <= most:
        return False, negative, size
    if not padded and letters[first] == _ZERO and (negative or end - first > 1):
        return False, negative, size
    for at in range(first, end):
        digit = np.uint64(letters[at]) - np.uint64(_ZERO)
        if digit > np.uint64(9):
            return False, negative, size
        size = size * _TEN + digit
    return True, negative, size
