"""What the parts of one measurement share: the data, the sizes, the contenders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any, NamedTuple

import pyarrow as pa

from shoal import Anonymizer, Policy, Stats
from shoal.bench.adult import Adult, folder
from shoal.bench.settings import Contender, Settings

_ENOUGH = 300_000  # tuples; a shorter stream is timed in several passes


class Progress(NamedTuple):
    """How far a part has come."""

    part: str
    doing: str
    done: int
    total: int


@dataclass
class Session:
    """One measurement: what was asked for, and what was found so far."""

    data: str | PathLike[str] | None
    settings: Settings
    contenders: Sequence[Contender]
    on_progress: Callable[[Progress], None] = lambda progress: None
    cores: frozenset[int] = frozenset({0})
    part: str = ""
    results: dict[str, Any] = field(default_factory=dict)
    _streams: dict[tuple[int, int], list[pa.RecordBatch]] = field(default_factory=dict)

    @cached_property
    def adult(self) -> Adult:
        """UCI Adult; it is looked for when it is needed."""
        return Adult(folder(self.data))

    @property
    def subject(self) -> Contender:
        """The contender of those parts that take only one: the first."""
        return self.contenders[0]

    def step(self, doing: str, done: int, total: int) -> None:
        self.on_progress(Progress(self.part, doing, done, total))

    def policy(self, contender: Contender, settings: Settings | None = None) -> Policy:
        return self.adult.policy(contender, settings or self.settings)

    def stream(self, tuples: int, settings: Settings | None = None) -> list[pa.RecordBatch]:
        settings = settings or self.settings
        key = tuples, settings.quasi
        if key not in self._streams:
            self.step("preparing tuples", 0, 1)
            self._streams[key] = self.adult.stream(tuples, settings)
        return self._streams[key]

    def warm_up(self) -> None:
        """Compile, or load from the cache, what every contender needs."""
        few = self.adult.stream(2 * self.settings.k + self.settings.window, self.settings)
        for i, contender in enumerate(self.contenders):
            self.step(f"compiling {contender.label}", i, len(self.contenders))
            anonymize(self.policy(contender), few)


def anonymize(policy: Policy, batches: Sequence[pa.RecordBatch]) -> Stats:
    """Arrow in, Arrow out; each answer is dropped when the next one comes."""
    anonymizer = Anonymizer(policy)
    for batch in batches:
        anonymizer.push_batch(batch)
    anonymizer.flush()
    stats = anonymizer.stats
    assert isinstance(stats, Stats)
    return stats


def passes(tuples: int) -> int:
    """
    >>> passes(30_000), passes(3_000_000)
    (10, 1)
    """
    return max(1, min(10, _ENOUGH // tuples))
