"""How often which sizes occur."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BARS = 30


@dataclass(frozen=True)
class Histogram:
    """Counts between edges, of which there is one more; a value on an inner edge counts to its right."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


def evenly(values: NDArray[np.float64], bars: int = BARS) -> Histogram:
    """Bars of equal width, from 0 to the largest; NaN is left out. Whole numbers get bars of whole width.

    >>> evenly(np.array([0.0, 1.0, 1.0, 3.0]))
    Histogram(edges=(0.0, 1.0, 2.0, 3.0, 4.0), counts=(1, 2, 0, 1))
    """
    values = values[~np.isnan(values)]
    if not len(values):
        return Histogram((), ())
    top = max(0.0, float(values.max()))
    if (values == np.rint(values)).all():
        width = max(1.0, np.ceil((top + 1) / bars))
        bars = int(np.ceil((top + 1) / width))
    else:
        width = top / bars
    place = np.clip(values / width, 0, bars - 1).astype(np.int64)
    edges = tuple((np.arange(bars + 1) * width).tolist())
    return Histogram(edges, tuple(np.bincount(place, minlength=bars).tolist()))


def by_doubling(sizes: NDArray[np.integer]) -> Histogram:
    """Bars that double in width: 1, 2-3, 4-7, and so on; the count is of the sizes, those of 0 left out.

    >>> by_doubling(np.array([1, 2, 3, 0, 9]))
    Histogram(edges=(1.0, 2.0, 4.0, 8.0, 16.0), counts=(1, 2, 0, 1))
    """
    sizes = sizes[sizes > 0]
    if not len(sizes):
        return Histogram((), ())
    place = np.floor(np.log2(sizes)).astype(np.int64)
    counts = np.bincount(place)
    return Histogram(tuple((2.0 ** np.arange(len(counts) + 1)).tolist()), tuple(counts.tolist()))
