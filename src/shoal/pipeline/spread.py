"""How figures spread: counts between fixed edges, of the last minute and since the beginning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


class Spread:
    """Counts a place between two edges, an edge belonging to the place below it; what lies above the last edge has its own.

    >>> spread = Spread([10, 20], seconds=2)
    >>> spread.add(np.array([3, 10, 11, 99]))
    >>> spread.recent.tolist(), spread.total.tolist(), spread.sum
    ([2, 1, 1], [2, 1, 1], 123.0)
    >>> spread.advance(2)
    >>> spread.recent.tolist(), spread.total.tolist()
    ([0, 0, 0], [2, 1, 1])
    """

    def __init__(self, edges: Sequence[float], seconds: int = 60) -> None:
        self.edges = np.asarray(edges, np.float64)
        self.total = np.zeros(len(self.edges) + 1, np.int64)
        self.sum = 0.0
        self._rows = np.zeros((seconds, len(self.total)), np.int64)
        self._now = 0

    def add(self, values: NDArray[np.float64] | Integers) -> None:
        counts = np.bincount(np.searchsorted(self.edges, values), minlength=len(self.total))
        self.total += counts
        self._rows[self._now] += counts
        self.sum += float(values.sum())

    def advance(self, seconds: int) -> None:
        """So many seconds went by."""
        for _ in range(min(seconds, len(self._rows))):
            self._now = (self._now + 1) % len(self._rows)
            self._rows[self._now] = 0

    @property
    def recent(self) -> Integers:
        """The counts of the last seconds."""
        return self._rows.sum(axis=0)

    def told(self) -> dict[str, Any]:
        return {
            "edges": self.edges.tolist(), "recent": self.recent.tolist(), "total": self.total.tolist(), "sum": self.sum,
        }  # fmt: skip
