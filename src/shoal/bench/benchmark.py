"""What the parts of one benchmark share: the data, the sizes, the algorithms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from shoal import Anonymizer, Policy, Stats
from shoal.bench.data import Adult
from shoal.bench.timing import Task, Timed, interleaved
from shoal.bench.workload import Variant, Workload
from shoal.datasets import folder

Figures = dict[str, Any]  # what a part found, as JSON can hold it
_ENOUGH = 300_000  # tuples; a shorter stream is timed in several passes


class Progress(NamedTuple):
    """How far a part has come."""

    part: str
    doing: str
    done: int
    total: int


@dataclass
class Benchmark:
    """What was asked for, and what was found so far."""

    data: str | PathLike[str] | None
    workload: Workload
    variants: Sequence[Variant]
    on_progress: Callable[[Progress], None] = lambda progress: None
    cores: frozenset[int] = frozenset({0})
    part: str = ""
    home: Path = field(default_factory=Path)  # an empty folder for each part
    results: dict[str, Any] = field(default_factory=dict)
    _streams: dict[tuple[int, int], list[pa.RecordBatch]] = field(default_factory=dict)

    @cached_property
    def adult(self) -> Adult:
        """UCI Adult; its folder is looked for when it is needed."""
        return Adult(folder(self.data))

    @property
    def first(self) -> Variant:
        """The algorithm of those parts that take only one."""
        return self.variants[0]

    def step(self, doing: str, done: int, total: int) -> None:
        self.on_progress(Progress(self.part, doing, done, total))

    def timed(self, tasks: Sequence[Task]) -> list[Timed]:
        """Time these tasks in turns."""
        return interleaved(tasks, self.workload.rounds, self.step)

    def policy(self, variant: Variant, workload: Workload | None = None) -> Policy:
        return self.adult.policy(variant, workload or self.workload)

    def stream(self, tuples: int, workload: Workload | None = None) -> list[pa.RecordBatch]:
        workload = workload or self.workload
        key = tuples, workload.quasi
        if key not in self._streams:
            self.step("preparing tuples", 0, 1)
            self._streams[key] = self.adult.stream(tuples, workload)
        return self._streams[key]

    def warm_up(self) -> None:
        """Compile the kernels of every algorithm, or load them from the cache."""
        few = self.adult.stream(2 * self.workload.k + self.workload.window, self.workload)
        for i, variant in enumerate(self.variants):
            self.step(f"compiling {variant.label}", i, len(self.variants))
            anonymize(self.policy(variant), few)


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
