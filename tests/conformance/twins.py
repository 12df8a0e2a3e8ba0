"""The naive twins of the built-in algorithms, by name."""

from __future__ import annotations

from shoal.conformance import streams
from shoal.conformance.streams import Stream
from tests.naive import ALGORITHMS, Algorithm, Release


def twin(name: str, stream: Stream) -> list[Release]:
    return streams.twin(ALGORITHMS[name], stream)


def naive(name: str, stream: Stream) -> Algorithm:
    """The twin, before the stream begins."""
    return streams.naive(ALGORITHMS[name], stream)
