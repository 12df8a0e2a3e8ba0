"""The parent of Spark's Python workers (`spark.python.daemon.module`): shoal is loaded once, before workers are forked.

SHOAL_WARM names algorithms, with commas between them, or is `all`. Their kernels are loaded too: those that the package brings,
or those in SHOAL_CACHE; if they are not there, they are compiled once.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from zipimport import zipimporter

from pyspark.daemon import manager

VARIABLE = "SHOAL_WARM"


def warm() -> None:
    import pandas  # noqa: F401

    from shoal.spark.rehearsal import rehearse

    rehearse(os.environ.get(VARIABLE, ""))


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
