"""How tuples left, as spreads: how long they waited, and how large the new groups are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.algorithms import algorithm
from shoal.pipeline.spread import Spread
from shoal.policy import Policy

_PARTS = 20  # of the deadline
_SIZES = (1, 1.25, 1.5, 2, 4)  # of groups, in times k


class Departures:
    """Waits against the deadline, and sizes against k; nothing here is tied to a tuple."""

    def __init__(self, policy: Policy) -> None:
        self.deadline = algorithm(policy).deadline
        span = 2 * policy.window.length if math.isinf(self.deadline) else self.deadline
        k = policy.privacy.k
        self._waits = Spread([span * n / _PARTS for n in range(1, _PARTS + 1)])
        self._groups = Spread(sorted({max(k, math.ceil(k * times) - 1) for times in _SIZES}))

    def add(self, waits: NDArray[np.float64], sizes: NDArray[np.int64]) -> None:
        self._waits.add(waits)
        self._groups.add(sizes)

    def advance(self, seconds: int) -> None:
        self._waits.advance(seconds)
        self._groups.advance(seconds)

    def told(self) -> dict[str, dict[str, Any]]:
        return {"waits": self._waits.told(), "groups": self._groups.told()}


def departures(trace: pa.RecordBatch) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """How long each tuple waited, and how many tuples each new group has."""
    arrived, released = (trace.column(name).to_numpy().astype(np.float64) for name in ("arrived", "released"))
    how = trace.column("how")
    cluster = pc.index(how.dictionary, "cluster").as_py()
    numbers = trace.column("cluster").fill_null(-1).to_numpy()[how.indices.to_numpy() == cluster]
    waits = np.round(released - arrived, 6)  # what floating point adds to a difference of times is no delay
    if not len(numbers):
        return waits, numbers
    are_dense = int(np.ptp(numbers)) <= 4 * len(numbers)
    sizes = np.bincount(numbers - numbers.min()) if are_dense else np.unique(numbers, return_counts=True)[1]
    return waits, sizes[sizes > 0]
