"""How often which sizes occur."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Histogram:
    """Counts between edges, of which there is one more; a value on an inner edge counts to its right."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


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
