"""The end of a streaming query: it takes in what its source has, lets everything leave that waits, and ends."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from shoal.errors import StateError

_PAUSE = 0.1


class Drain:
    """Tells a streaming query that its input has ended. Give it to `anonymize`, and then `run` the query.

    >>> drain = Drain()
    >>> asked(drain.file)
    0
    """

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="shoal-drain-", ignore_cleanup_errors=True)
        self.file = Path(self._folder.name, "ended")

    def run(self, writer: Any, started: Callable[[Any], None] = lambda query: None) -> Any:
        """Start a query, wait until it has taken in what its source has and everything has left, and stop it.

        Parameters
        ----------
        writer
            The `DataStreamWriter` of the query. With `trigger(availableNow=True)` the source is read as far as it is at the
            start; with another trigger the source must have an end, such as a folder in which no more files appear.
        started
            Called with the query each time it is started: it is started twice with `availableNow`.

        Returns
        -------
        The query, which has ended.

        Raises
        ------
        StateError
            The query was stopped before everything had left. What waits is in its state.
        """
        query = writer.start()
        started(query)
        query.processAllAvailable()
        since = time.time_ns() // 1_000_000
        draft = self.file.with_name("draft")
        draft.write_text(str(since))
        draft.replace(self.file)
        again = False
        while not _has_left(query, since):
            if not query.awaitTermination(_PAUSE):  # raises an error if it failed
                continue
            if again:
                break
            query, again = writer.start(), True
            started(query)
        query.processAllAvailable()  # the last tuples move a watermark on, by which what follows may still end windows
        query.stop()
        if not _has_left(query, since):
            raise StateError("drain: the query was stopped before everything had left; start it again")
        return query


def asked(file: Path) -> int:
    """When the end was asked for, in milliseconds; 0 if it was not."""
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return 0


def _has_left(query: Any, since: int) -> bool:
    """Whether a batch has been committed that announced the end of the input to the lanes."""
    for progress in query.recentProgress:
        for source in progress["sources"]:
            end = source["endOffset"]
            offset = json.loads(end) if isinstance(end, str) and end.startswith("{") else end
            if isinstance(offset, dict) and offset.get("ended", 0) >= since:
                return True
    return False
