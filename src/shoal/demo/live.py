"""The stream of wearables as it would come: every tuple at its time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.demo.wearables import START, wearables

EVERY = 0.1
"""Seconds from one step to the next."""

ENDLESS = 2**60


class Step(NamedTuple):
    """What came since the last step, which may be nothing, and the stream's time."""

    batch: pa.RecordBatch
    now: float


def live(
    tuples: int = ENDLESS,
    seed: int = 0,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> Iterator[Step]:
    """The stream in steps of real time; it ends with its last tuple.

    >>> from itertools import count
    >>> seconds = count()
    >>> [step.batch.num_rows for step in live(500, clock=lambda: next(seconds), sleep=lambda pause: None)]
    [205, 221, 74]
    """
    begun, start = clock(), int(START.astype(np.int64)) / 1000
    for batch in wearables(tuples, seed):
        due, done = _due(batch), 0
        while done < batch.num_rows:
            sleep(EVERY)
            now = start + clock() - begun
            upto = int(np.searchsorted(due, now))
            yield Step(batch.slice(done, upto - done), now)
            done = upto


def _due(batch: pa.RecordBatch) -> NDArray[np.float64]:
    """When each tuple comes: the tuples of a second, which are not told apart by their time, evenly over it."""
    moments = pc.strptime(batch.column("ts"), "%Y-%m-%dT%H:%M:%SZ", "s").cast(pa.int64()).to_numpy()
    second, first, place, size = np.unique(moments, return_index=True, return_inverse=True, return_counts=True)
    return second[place] + (np.arange(len(moments)) - first[place]) / size[place]
