"""How much makes a delivery of a source that cannot give it again."""

from __future__ import annotations

from collections import deque
from typing import Protocol, TypeVar

MOST = 64 << 20
"""Bytes after which a delivery ends. The journal keeps it as one piece, which must be far below 2 GiB."""


class Arrived(Protocol):
    """What was received and waits to be read."""

    @property
    def payload(self) -> bytes: ...


T = TypeVar("T", bound=Arrived)


def taken(waiting: deque[T]) -> list[T]:
    """Take from the front what makes one delivery, and leave the rest: at least one, if any is there."""
    some: list[T] = []
    size = 0
    while waiting and size < MOST:
        some.append(waiting.popleft())
        size += len(some[-1].payload)
    return some
