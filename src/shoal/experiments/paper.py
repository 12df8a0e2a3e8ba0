"""What the report knows of a paper: its jobs, and what they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from shoal.experiments.claim import Claim
from shoal.experiments.figure import Figure
from shoal.experiments.job import Job, Results

T = TypeVar("T")


@dataclass(frozen=True)
class Scale:
    """How much is run: the papers' sizes, or few tuples and few points."""

    name: str
    tuples: int | None = None  # the most of each data set
    points: int | None = None  # the most of each sweep
    seeds: int = 10
    passes: int = 3  # of what is timed

    def sweep(self, values: Sequence[T]) -> list[T]:
        """The values, or the first, the last and some between.

        >>> Scale("quick", points=3).sweep([1, 2, 3, 4, 5, 6])
        [1, 3, 6]
        """
        if self.points is None or len(values) <= self.points:
            return list(values)
        return [values[round(i * (len(values) - 1) / (self.points - 1))] for i in range(self.points)]

    def size(self, tuples: int | None) -> int | None:
        """How many tuples of a data set are run; None: all of them.

        >>> Scale("full").size(30_000), Scale("quick", tuples=3000).size(None)
        (30000, 3000)
        """
        return min(filter(None, (tuples, self.tuples)), default=None)

    def sizes(self, tuples: Sequence[int]) -> list[int]:
        """Data sizes, shrunk together so that the largest is what may be run."""
        most = self.size(tuples[-1]) or tuples[-1]
        return self.sweep([each * most // tuples[-1] for each in tuples])


FULL = Scale("full")
QUICK = Scale("quick", tuples=3000, points=3, seeds=3, passes=1)


class Findings(NamedTuple):
    """What the outcomes of a paper's jobs say."""

    figures: Sequence[Figure]
    claims: Sequence[Claim]
    plainly: str = ""  # what is so, where the claims alone would mislead


@dataclass(frozen=True)
class Paper:
    """`setting` tells data and parameters, `notes` where the paper left something open."""

    name: str
    title: str
    reference: str
    setting: str
    notes: Sequence[str]
    sources: Sequence[str]  # of streams
    jobs: Callable[[Scale], Sequence[Job]]
    findings: Callable[[Scale, Results], Findings]
