"""Who is held in the window at a moment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.audit.trace import Trace
from shoal.audit.values import Floats


def held(told: Trace, person: NDArray[np.int64], moments: Floats) -> NDArray[np.int64]:
    """How many persons had a tuple that arrived before each of these moments and left after it.

    The stays of one person that overlap are one; then as many persons are there as stays have begun and not ended. Below 0 is
    nobody.

    >>> told = Trace(*[np.zeros(3, np.int64)] * 3, np.array([0.0, 1.0, 2.0]), np.array([4.0, 5.0, 5.0]))
    >>> held(told, np.array([7, 7, 3]), np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])).tolist()
    [0, 1, 1, 2, 2, 0]
    """
    order = np.lexsort((told.arrived, person))
    order = order[(person[order] >= 0) & (told.released[order] > told.arrived[order])]
    times, rank = np.unique(np.concatenate([told.arrived[order], told.released[order]]), return_inverse=True)
    whose = person[order] * len(times)
    start, end = whose + rank[: len(order)], np.maximum.accumulate(whose + rank[len(order) :])
    apart = np.append(True, start[1:] >= end[:-1])[: len(order)]
    last = np.append(apart[1:], True)[: len(order)]
    begins, ends = (np.sort(times[(place - whose)[which]]) for place, which in ((start, apart), (end, last)))
    found: NDArray[np.int64] = np.searchsorted(begins, moments) - np.searchsorted(ends, moments, side="right")
    return found
