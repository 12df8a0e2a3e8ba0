"""The parent of Spark's Python workers (`spark.python.daemon.module`): shoal is loaded once, before workers are forked.

SHOAL_WARM names the algorithm whose kernels are loaded too, from SHOAL_CACHE; if they are not there they are compiled, once.
"""

from __future__ import annotations

import os

from pyspark.daemon import manager

VARIABLE = "SHOAL_WARM"
_SMALL = {
    "person": "pid",
    "attributes": {"age": {"quasi": "numeric", "range": [0, 100], "grid": 5}},
    "privacy": {"k": 2},
    "window": {"count": 4},
}


def warm() -> None:
    import pandas  # noqa: F401

    import shoal.spark.lane
    import shoal.spark.stateful  # noqa: F401
    from shoal import Anonymizer, Policy
    from shoal.algorithms import WINDOWED

    name = os.environ.get(VARIABLE)
    if name in WINDOWED:
        anonymizer = Anonymizer(Policy.parse({**_SMALL, "algorithm": {"name": name}}))
        for person in range(6):
            anonymizer.push({"pid": person, "age": 10 * person})


if __name__ == "__main__":
    warm()
    manager()
