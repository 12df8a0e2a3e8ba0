"""A lock for kernels on several threads: only the thread that holds it may change shared data.

`lock` is an int64 array of one cell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.compiled import give_back, inlined, seized, step_aside


def lock() -> NDArray[np.int64]:
    return np.zeros(1, np.int64)


@inlined
def acquire(lock):
    """Wait until no other thread holds the lock, then hold it."""
    while not seized(lock):
        step_aside()


@inlined
def free(lock):
    give_back(lock)
