"""What the report knows of a paper: the jobs it runs, and what their outcomes say."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from shoal.experiments.claim import Claim
from shoal.experiments.figure import Curve, Figure

T = TypeVar("T")
Outcome = Mapping[str, Any]


@dataclass(frozen=True)
class Job:
    """What to run, by name, and its settings as JSON.

    >>> Job.of("simulation", z=150, seed=1).settings
    {'seed': 1, 'z': 150}
    >>> Job.of("simulation", seed=1, z=150) == Job.of("simulation", z=150, seed=1)
    True
    """

    kind: str
    text: str

    @classmethod
    def of(cls, kind: str, **settings: Any) -> Job:
        """A job with these settings, in whatever order they are given."""
        return cls(kind, json.dumps(settings, sort_keys=True))

    @property
    def settings(self) -> dict[str, Any]:
        return json.loads(self.text)

    @property
    def wants_all_cores(self) -> bool:
        """Whether it has several threads of its own.

        >>> Job.of("stream", algorithm={"name": "fast", "workers": 2}).wants_all_cores
        True
        """
        return self.settings.get("algorithm", {}).get("workers", 1) > 1

    def key(self, basis: str) -> str:
        """The name under which its outcome is kept; `basis` stands for code and data."""
        return hashlib.sha256(f"{basis}\n{self.kind}\n{self.text}".encode()).hexdigest()[:32]


class Results:
    """The outcomes of all jobs."""

    def __init__(self, outcomes: Mapping[Job, Outcome]) -> None:
        self._outcomes = outcomes

    def __getitem__(self, job: Job) -> Outcome:
        return self._outcomes[job]

    def __len__(self) -> int:
        return len(self._outcomes)

    def values(self, jobs: Iterable[Job], name: str) -> list[Any]:
        """One figure of each of these jobs."""
        return [self[job][name] for job in jobs]

    def curve(self, jobs: Mapping[float, Job], name: str) -> Curve:
        """One figure of each job, over the x by which the job is given."""
        return list(jobs), self.values(jobs.values(), name)


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
    plainly: str = ""  # what the numbers say where the claims alone would mislead


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
