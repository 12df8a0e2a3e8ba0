"""Histograms of releases: how long tuples waited, and how large the new groups are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.algorithms import algorithm
from shoal.policy import Policy

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_BINS = 20  # of the deadline
_SIZES = (1, 1.25, 1.5, 2, 4)  # upper edges of group sizes, in multiples of k


class Histogram:
    """Counts of values between fixed edges, over the last minute and in total.

    A value on an edge counts in the bin below it. One more bin holds all values above the last edge.

    >>> histogram = Histogram([10, 20], seconds=2)
    >>> histogram.add(np.array([3, 10, 11, 99]))
    >>> histogram.recent.tolist(), histogram.total.tolist(), histogram.sum
    ([2, 1, 1], [2, 1, 1], 123.0)
    >>> histogram.advance(2)
    >>> histogram.recent.tolist(), histogram.total.tolist()
    ([0, 0, 0], [2, 1, 1])
    """

    def __init__(self, edges: Sequence[float], seconds: int = 60) -> None:
        self.edges = np.asarray(edges, np.float64)
        self.total = np.zeros(len(self.edges) + 1, np.int64)
        self.sum = 0.0
        self._rows = np.zeros((seconds, len(self.total)), np.int64)  # one row of counts per second
        self._now = 0

    def add(self, values: Floats | Integers) -> None:
        counts = np.bincount(np.searchsorted(self.edges, values), minlength=len(self.total))
        self.total += counts
        self._rows[self._now] += counts
        self.sum += float(values.sum())

    def advance(self, seconds: int) -> None:
        """Move on by this many seconds."""
        for _ in range(min(seconds, len(self._rows))):
            self._now = (self._now + 1) % len(self._rows)
            self._rows[self._now] = 0

    @property
    def recent(self) -> Integers:
        """The counts of the last seconds."""
        return self._rows.sum(axis=0)

    def figures(self) -> dict[str, Any]:
        counts = {"recent": self.recent.tolist(), "total": self.total.tolist()}
        return {"edges": self.edges.tolist(), **counts, "sum": self.sum}


class ReleaseHistograms:
    """Waits up to the deadline, and group sizes in multiples of k. Nothing here is tied to a tuple."""

    def __init__(self, policy: Policy) -> None:
        self.deadline = algorithm(policy).deadline
        longest = 2 * policy.window.length if math.isinf(self.deadline) else self.deadline
        k = policy.privacy.k
        self._waits = Histogram([longest * n / _BINS for n in range(1, _BINS + 1)])
        self._groups = Histogram(sorted({max(k, math.ceil(k * times) - 1) for times in _SIZES}))

    def add(self, waits: Floats, sizes: Integers) -> None:
        self._waits.add(waits)
        self._groups.add(sizes)

    def advance(self, seconds: int) -> None:
        self._waits.advance(seconds)
        self._groups.advance(seconds)

    def figures(self) -> dict[str, dict[str, Any]]:
        return {"waits": self._waits.figures(), "groups": self._groups.figures()}


def waits_and_sizes(trace: pa.RecordBatch) -> tuple[Floats, Integers]:
    """How long each tuple waited, and how many tuples each new group has."""
    arrived, released = (trace.column(name).to_numpy().astype(np.float64) for name in ("arrived", "released"))
    how = trace.column("how")
    cluster = pc.index(how.dictionary, "cluster").as_py()
    numbers = trace.column("cluster").fill_null(-1).to_numpy()[how.indices.to_numpy() == cluster]
    waits = np.round(released - arrived, 6)  # the rounding error of a difference of times is no wait
    if not len(numbers):
        return waits, numbers
    are_dense = int(np.ptp(numbers)) <= 4 * len(numbers)
    sizes = np.bincount(numbers - numbers.min()) if are_dense else np.unique(numbers, return_counts=True)[1]
    return waits, sizes[sizes > 0]
