"""A lock for kernels on several threads: the thread that has it works alone on what the threads share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.compiled import give_back, inlined, seized, step_aside


def lock() -> NDArray[np.int64]:
    return np.zeros(1, np.int64)


@inlined
def acquire(lock):
    """Wait until no other thread has it."""
    while not seized(lock):
        step_aside()


@inlined
def free(lock):
    give_back(lock)
