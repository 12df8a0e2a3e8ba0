"""The smallest z that keeps a promise, and a z that follows the stream."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from shoal.errors import ModelError
from shoal.model.grid import grid
from shoal.model.population import Publication

NOTHING = 2**31 - 1  # a z that lets nothing through
_TOLERANCE = 1e-4
_FINENESS = 1.15  # of the z that are tried on the way down
_GAIN = 0.25
_MOST = 6.0
_SURE = 0.99999


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


class Tuner:
    """Chooses z from the counts of the filter; it stores two numbers, whatever the length of the stream.

    Parameters
    ----------
    k, probability
        A user should be k-anonymous with at least this probability.
    floor
        z never falls below it.
    start
        z until the first counts are known; by default, one at which nothing is published.

    Examples
    --------
    >>> tuner = Tuner(k=2, probability=0.95, floor=5)
    >>> tuner.observe(1000, [909, 699, 551, 451, 381, 330, 290, 259, 234, 213, 196, 181])
    264
    >>> tuner.observe(40, [3, 2, 2]), tuner.observe(0, [])
    (5, 5)
    """

    def __init__(self, k: int, probability: float, floor: int, start: int | None = None) -> None:
        if k < 2:
            raise ModelError("k: is below 2; 2 is the least that hides anyone")
        if not 0 < probability < 1:
            raise ModelError("probability: lies outside 0 to 1; 0.95 is a usual choice")
        if floor < 1:
            raise ModelError("floor: is below 1; 5 is a usual choice")
        self.k = k
        self.probability = probability
        self.floor = floor
        self.z = max(floor, NOTHING if start is None else start)
        self.margin = 0.0  # in logits, from what was achieved

    def observe(self, users: int, counts: ArrayLike, achieved: float | None = None) -> int:
        """Take the counts of the last Δt, and return the z to use from now on.

        The first time a whole Δt after the beginning; then as often as wanted, some times in each Δt.

        Parameters
        ----------
        users
            How many different users exposed anything in the last Δt.
        counts
            How many different users exposed each item in it. Items below a quarter of the floor may be left out.
        achieved
            The share of the users who were k-anonymous in the last period, if it was counted. If it is too low, the model is
            asked for more than the probability.
        """
        if achieved is not None:
            self.margin += _GAIN * (_logit(self.probability) - _logit(achieved))
            self.margin = min(max(self.margin, 0.0), _MOST)
        if users >= 1:
            exposed = np.minimum(np.asarray(counts, np.float64) / users, 1.0)
            self.z = suitable_z(users, exposed, self.k, self.target, self.floor)
        return self.z

    @property
    def target(self) -> float:
        """What the model is asked for."""
        return min(_SURE, 1 / (1 + math.exp(-_logit(self.probability) - self.margin)))


def _logit(share: float) -> float:
    share = min(max(share, 1e-6), 1 - 1e-6)
    return math.log(share / (1 - share))
