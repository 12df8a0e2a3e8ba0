"""Periods: which Δt a time lies in, counted from 1970."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
from numpy.typing import NDArray

_EXACT = 2.0**50  # below it, `floor_divide` is: its remainder is exact, and what is left is whole but for the last bits


def periods(time: NDArray[np.float64], window: float) -> NDArray[np.int64]:
    """floor(t / Δt), exactly. Under a Δt of 0 every time is a period of its own: the bits of its float64.

    >>> periods(np.array([-1.0, 0.3, 0.3 + 2**-53]), 0.1)
    array([-10,   2,   3])
    """
    if window == 0:
        return (time + 0.0).view(np.int64)
    if len(time) > 2:
        first, last = periods(np.array([time.min(), time.max()]), window)
        if first == last:
            return np.full(len(time), first)
    quotient = time / window
    found = np.floor(quotient)
    doubtful = np.abs(quotient - np.rint(quotient)) <= 2.0**-50 * np.abs(quotient)
    if doubtful.any():
        found[doubtful] = np.floor_divide(time[doubtful], window)
        for row in np.flatnonzero(doubtful & (np.abs(quotient) >= _EXACT)):
            found[row] = floor(Fraction(time[row]) / Fraction(window))
    return found.astype(np.int64)
