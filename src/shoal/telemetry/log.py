"""What happened to a stream, in a bounded log; no entry holds data."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Literal

Level = Literal["info", "amber", "red"]

_MOST = 200
_KEYS = ("at", "until", "level", "text", "times")
_AGAIN = 600  # seconds within which the same entry is counted, not repeated


class Log:
    """Entries with a time of day and a level. The same entry soon after is counted.

    >>> log = Log()
    >>> log.add(100.0, "info", "The pipeline has started.")
    >>> log.add(105.0, "amber", "The sink is slow."); log.add(109.0, "amber", "The sink is slow.")
    >>> [(entry["at"], entry["text"], entry["times"]) for entry in log.entries()], log.version
    ([(100.0, 'The pipeline has started.', 1), (105.0, 'The sink is slow.', 2)], 3)
    """

    def __init__(self, most: int = _MOST) -> None:
        self.version = 0  # grows with each change
        self._entries: deque[dict[str, Any]] = deque(maxlen=most)

    def add(self, at: float, level: Level, text: str) -> None:
        self.version += 1
        for entry in reversed(self._entries):
            if at - entry["until"] > _AGAIN:
                break
            if (entry["level"], entry["text"]) == (level, text):
                entry["until"], entry["times"] = at, entry["times"] + 1
                return
        self._entries.append({"at": at, "until": at, "level": level, "text": text, "times": 1})

    def entries(self) -> list[dict[str, Any]]:
        """All that are kept, the oldest first."""
        return [dict(entry) for entry in self._entries]

    def restore(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Put entries that were kept before these."""
        kept = [{key: entry[key] for key in _KEYS} for entry in entries]
        self._entries = deque([*kept, *self._entries], self._entries.maxlen)
        self.version += 1
