"""The kernels of an algorithm, loaded from the cache or compiled."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from shoal.anonymizer.anonymizer import Anonymizer
from shoal.policy import FILTER, Policy

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


def compile_kernels(name: str) -> None:
    """Compile every kernel of an algorithm that is not in the cache, by running the algorithm on a few records."""
    if name == FILTER:
        from shoal.anonymizer.filter import Filter

        engine = Filter(Policy.parse(_FILTER), bytes(16))
        for site in ([1, 1], ["a", "a"]):
            engine.arrive(pa.record_batch({"pid": pa.array(["1", "b"]), "t": [0, 1], "site": site}), np.arange(2))
        return
    anonymizer = Anonymizer(Policy.parse({**_WINDOWED, "algorithm": {"name": name}}))
    for person in range(6):
        anonymizer.push({"pid": person, "age": 10 * person})
    anonymizer.flush()
