"""Shifts between points of a grid, and what spreading them over three points costs."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.model.binomial import Floats

WORST = 1 / (9 * math.sqrt(3))
"""The largest |t (t² - 1)| / 6 for |t| <= 1."""

_SAFETY = 1.05
_FINE = 0.002


class Axis(NamedTuple):
    """The points 0, step, 2·step, … of one class; the last stands for everything beyond."""

    top: float  # log p_y at 0
    step: float
    points: int

    @property
    def beyond(self) -> float:
        return self.step * (self.points - 1)


class Stencil(NamedTuple):
    """Shifts spread by quadratic interpolation: three points from `cell` on, their weights, and the two costs."""

    cell: NDArray[np.int64]
    weights: Floats  # three for each shift
    growth: Floats  # the sum of the weights' absolute values: 1 to 1.25
    error: Floats  # |t (t² - 1)| / 6, times step³: to be multiplied by the third derivative


def stencil(shifts: Floats, axis: Axis) -> Stencil:
    """A shift of 0 stays as it is, one that leads beyond the grid goes to the last point.

    >>> stencil(np.array([0.0, 0.75, 9.0]), Axis(0.0, 0.5, 11)).weights
    array([[ 1.   ,  0.   ,  0.   ],
           [ 0.375,  0.75 , -0.125],
           [ 1.   ,  0.   ,  0.   ]])
    """
    spread = (shifts > 0) & (shifts < axis.beyond)
    place = np.where(spread, shifts, 0.0) / axis.step
    middle = np.maximum(np.rint(place), 1.0)
    t = place - middle
    weights = np.stack([t * (t - 1) / 2, 1 - t * t, t * (t + 1) / 2], axis=-1)
    cell = np.where(spread, middle - 1, np.where(shifts > 0, axis.points - 1, 0)).astype(np.int64)
    weights[~spread] = (1.0, 0.0, 0.0)
    error = np.where(spread, np.abs(t * (t * t - 1)) / 6 * axis.step**3, 0.0)
    return Stencil(cell, weights, np.abs(weights).sum(axis=-1), error)


@lru_cache(maxsize=256)
def bend(n: int, m: int) -> float:
    """The largest third derivative by log p of P[Binomial(n, p) >= m], in absolute value.

    With φ = m·P[Binomial = m], the first derivative, and y = (n - m)·p/(1 - p), it is φ·((m - y)² - y·(1 + y/(n - m))). It is
    sampled every 0.002, far closer than it can change by the 5 % that are added.

    >>> round(bend(999, 1), 3)
    0.452
    """
    if n < m:
        return 0.0
    if n == m:
        return float(m**3)
    low = math.log(1e-3 * m / n)
    high = min(-1e-6, math.log((m + 12 * math.sqrt(m) + 60) / n))
    log_p = np.append(np.arange(low, high, _FINE), high)
    p = np.exp(log_p)
    y = (n - m) * p / (1 - p)
    ways = math.lgamma(n + 1) - math.lgamma(m) - math.lgamma(n - m + 1)
    slope = np.exp(ways + m * log_p + (n - m) * np.log1p(-p))
    return _SAFETY * float(np.abs(slope * ((m - y) ** 2 - y * (1 + y / (n - m)))).max())


def horizon(n: int, m: int, chance: float) -> float:
    """A log p below which m of n match with at most this chance: (n p)^m / m! bounds it.

    >>> round(math.exp(horizon(1000, 1, 0.01)), 9)
    1e-05
    """
    return math.inf if n < m else (math.log(chance) + math.lgamma(m + 1)) / m - math.log(n)
