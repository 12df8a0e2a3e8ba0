"""A run that depends on nothing but its settings, and what came out of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

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

    def values(self, jobs: Iterable[Job], name: str) -> list[float]:
        """One figure of each of these jobs."""
        return [self[job][name] for job in jobs]
