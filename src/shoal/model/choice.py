"""The smallest z that keeps a promise, and keeps it for every larger z that is tried."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from shoal.model.grid import grid
from shoal.model.population import Publication

_TOLERANCE = 1e-4
_FINENESS = 1.15  # of the z that are tried on the way down


def least_z(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Down from `high`, where it is taken to hold, in steps of some 15 %; then by halves between the last two.

    >>> least_z(lambda z: z >= 37, 1, 1000), least_z(lambda z: z >= 37, 50, 1000), least_z(lambda z: z >= 37 or z < 5, 1, 1000)
    (37, 50, 37)
    """
    kept = high
    while kept > low:
        tried = max(low, min(kept - 1, math.floor(kept / _FINENESS)))
        if not holds(tried):
            while kept - tried > 1:
                middle = (kept + tried) // 2
                kept, tried = (middle, tried) if holds(middle) else (kept, middle)
            return kept
        kept = tried
    return max(low, kept)


def suitable_z(users: int, exposed: ArrayLike, k: int, probability: float, low: int = 1) -> int:
    """The least z under which a user is k-anonymous with this probability, by the model; at least `low`.

    >>> suitable_z(1000, -np.expm1(-2.4 / np.arange(1, 21)), k=2, probability=0.95)
    264
    """
    exposed = np.asarray(exposed, np.float64)

    def holds(z: int) -> bool:
        found = grid(Publication(users, exposed, z), k, _TOLERANCE)
        return found.value - found.error >= probability

    return least_z(holds, low, max(low, silencing_z(users, exposed)))


def silencing_z(users: int, exposed: ArrayLike) -> int:
    """A z that hides everything, almost surely: beyond eight deviations of the most exposed attribute.

    >>> silencing_z(100, [0.5, 0.1])
    92
    """
    most = float(np.max(exposed, initial=0.0))
    return min(users, math.ceil(users * most + 8 * math.sqrt(users * most * (1 - most)) + 1)) + 1
