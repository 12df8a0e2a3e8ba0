"""What the parts of one benchmark share: the data, the sizes of streams, the algorithms with their parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from shoal import Anonymizer, Policy, Stats
from shoal.bench.data import Adult
from shoal.bench.timing import Task, Timed, interleaved
from shoal.datasets import folder
from shoal.errors import InputError
from shoal.policy import WINDOWED

_VARIANTS: Mapping[str, tuple[str, Sequence[Any]]] = {"xband": ("band", (4, 10)), "tide": ("effort", ("quick", "thorough"))}


@dataclass(frozen=True)
class Variant:
    """An algorithm with its parameters."""

    label: str
    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def algorithm(self) -> dict[str, Any]:
        """As a policy writes it."""
        return {"name": self.name, **self.parameters}


@dataclass(frozen=True, kw_only=True)
class Workload:
    """The sizes and parameters of a benchmark; the defaults are those that are reported."""

    k: int = 50
    window: int = 2000
    quasi: int = 14
    missing: int = 3
    nulls_match: str = "maybe"  # as in the papers
    seed: int = 0
    batch: int = 65_536
    rounds: int = 5
    small: int = 30_000
    large: int = 3_000_000
    threads: int = 300_000
    growth: int = 100_000
    audited: int = 1_000_000
    windows: Sequence[int] = (500, 1000, 2000, 4000, 8000, 16_000)
    ks: Sequence[int] = (5, 10, 25, 50, 100, 200, 400)
    quasis: Sequence[int] = (2, 4, 6, 8, 10, 12, 14)
    twin: int = 2500
    loss_tuples: int = 12_000
    loss_ks: Sequence[int] = (5, 10, 50, 100)
    loss_windows: Sequence[int] = (500, 1000, 2000)
    buffer: int = 256 * 2**20  # bytes, far more than the caches hold
    observations: int = 10_000_000
    users: int = 1_000_000
    items: int = 100_000
    peer: int = 100_000  # observations for the package zanon, which is slower


FULL = Workload()
QUICK = Workload(
    rounds=3, large=300_000, threads=100_000, growth=30_000, audited=300_000, twin=1000, loss_ks=(10, 50), loss_windows=(1000,),
    observations=2_000_000, peer=30_000,
)  # fmt: skip


def variants(names: Sequence[str] | None = None) -> list[Variant]:
    """The named algorithms, or all: X-BAND with two widths of its band, tide with both efforts.

    >>> [variant.label for variant in variants(["fads", "xband", "tide"])]
    ['fads', 'xband 4', 'xband 10', 'tide quick', 'tide thorough']
    """
    found = []
    for name in WINDOWED if names is None else dict.fromkeys(names):
        if name not in WINDOWED:
            raise InputError(f"algorithm {name!r} is none; known are {', '.join(WINDOWED)}")
        key, values = _VARIANTS.get(name, ("", ()))
        found += [Variant(f"{name} {value}", name, {key: value}) for value in values] or [Variant(name, name)]
    return found


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
