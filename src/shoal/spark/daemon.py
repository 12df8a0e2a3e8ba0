"""The parent of Spark's Python workers (`spark.python.daemon.module`): shoal is loaded once, before workers are forked.

SHOAL_WARM names an algorithm. Its kernels are loaded too, from SHOAL_CACHE, or compiled once if they are not there.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from zipimport import zipimporter

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

    import shoal.spark.steps  # noqa: F401
    from shoal import Anonymizer, Policy
    from shoal.algorithms import WINDOWED

    name = os.environ.get(VARIABLE)
    if name in WINDOWED:
        anonymizer = Anonymizer(Policy.parse({**_SMALL, "algorithm": {"name": name}}))
        for person in range(6):
            anonymizer.push({"pid": person, "age": 10 * person})


def only_if_changed(forget: Callable[[zipimporter], None]) -> Callable[[zipimporter], None]:
    """Read an archive again only if it has changed.

    A worker clears its cache of archives before every task. Spark itself is an archive: it would be read again for each of its
    packages, and that takes longer than a small task.
    """
    seen: dict[str, tuple[int, int] | None] = {}

    def if_changed(importer: zipimporter) -> None:
        now = _state(importer.archive)
        known = f"{importer.archive}/{importer.prefix}"
        if now is None or seen.get(known) != now:
            forget(importer)
            seen[known] = now

    return if_changed


def _state(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


if __name__ == "__main__":
    zipimporter.invalidate_caches = only_if_changed(zipimporter.invalidate_caches)  # type: ignore[assignment,method-assign]
    warm()
    importlib.invalidate_caches()  # archives that were read so far are not read again
    manager()
