"""The kernels of an algorithm, loaded from the cache or compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from shoal.algorithms import algorithm
from shoal.anonymizer.anonymizer import Anonymizer
from shoal.errors import PolicyError
from shoal.policy import FILTER, NAMES, Policy

_WINDOWED = {
    "person": "pid",
    "attributes": {"age": {"quasi": "numeric", "range": [0, 100], "grid": 5}},
    "privacy": {"k": 2},
    "window": {"count": 4},
}
_FILTER = {
    "person": "pid",
    "time": {"field": "t"},
    "item": {"field": "site"},
    "algorithm": {"name": FILTER, "z": 2, "window": 10},
}


def has_machine_code(name: str) -> bool:
    """Whether an algorithm can start at once: its machine code is shipped, or in the cache, or it cannot be loaded at all."""
    from shoal.compiled import is_compiled

    if name in NAMES:
        return is_compiled(name)
    try:
        run: Any = algorithm(_small(name)).run
    except PolicyError:
        return True
    if folder := getattr(run, "folder", None):
        return next(folder.glob("*.run-*"), None) is not None
    return is_compiled("plain")


def _small(name: str) -> Policy:
    return Policy.parse({**_WINDOWED, "algorithm": {"name": name}})


def compile_kernels(name: str) -> None:
    """Compile every kernel of an algorithm that is not in the cache, by running the algorithm on a few records."""
    if name == FILTER:
        from shoal.anonymizer.filter import Filter

        engine = Filter(Policy.parse(_FILTER), bytes(16))
        for site in ([1, 1], ["a", "a"]):
            engine.arrive(pa.record_batch({"pid": pa.array(["1", "b"]), "t": [0, 1], "site": site}), np.arange(2))
        return
    anonymizer = Anonymizer(_small(name))
    for person in range(6):
        anonymizer.push({"pid": person, "age": 10 * person})
    anonymizer.flush()
