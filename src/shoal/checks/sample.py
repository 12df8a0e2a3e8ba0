"""The first records of a file, checked against a policy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator

import numpy as np

from shoal.columns import Rejection
from shoal.formats import Block, First
from shoal.path import head
from shoal.policy import Policy

MOST_REASONS = 20
KEY = np.zeros(2, np.uint64)  # a check publishes nothing, so its fingerprints need no secret


class SampleCheck(ABC):
    """Reads the first records of a file; its messages hold no value of the data."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._malformed: list[Rejection] = []
        self.rows = 0
        self.complete = False
        self._names: set[str] = set()

    def read(self, source: str, limit: int) -> None:
        first = First(source, self._policy.fields, limit, self._policy.input.dialect)
        for block in first:
            self.rows += block.batch.num_rows + len(block.bad)
            self._names.update(map(head, block.names))
            self._names.update(block.names)
            self._malformed += block.placed(Rejection(row, None, reason) for row, reason in block.bad)
            self._take(block)
        self.complete = first.complete

    def problems(self) -> Iterator[str]:
        """What a run would reject."""
        if not self.rows:
            yield "the input has no records"
            return
        yield from self._reasons(self._malformed)
        yield from self._problems()

    def warnings(self) -> Iterator[str]:
        """What a run would accept, but the user should know."""
        policy = self._policy
        facts = [(f"nulls.{name}", name) for name in policy.own_nulls]
        facts += [(f"input.times.{name}", name) for name in policy.input.times]
        for place, name in facts if self._names else ():
            if name not in self._names and head(name) not in self._names and name not in policy.fields:
                yield f"{place}: the input has no such field; correct the name, or remove it"
        yield from self._warnings()

    @abstractmethod
    def _warnings(self) -> Iterator[str]: ...

    @abstractmethod
    def _take(self, block: Block) -> None: ...

    @abstractmethod
    def _problems(self) -> Iterator[str]: ...

    @property
    def _records(self) -> int:
        return self.rows - len(self._malformed)

    def _reasons(self, rejections: list[Rejection]) -> Iterator[str]:
        counts = Counter(rejection.kind for rejection in rejections)
        for kind, _ in counts.most_common(MOST_REASONS):
            alike = [rejection for rejection in rejections if rejection.kind == kind]
            yield f"{self._of(alike)}: {alike[0].reason}"
        if len(counts) > MOST_REASONS:
            yield f"and {len(counts) - MOST_REASONS:,} more reasons to reject rows"

    def _of(self, alike: list[Rejection]) -> str:
        field = f"'{alike[0].field}', " if alike[0].field else ""
        return f"{field}{self._share(len(alike))}, first {alike[0].place}"

    def _share(self, number: int) -> str:
        return f"{number:,} of {self.rows:,} rows"
