"""The first records of a file, checked against a policy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator

import numpy as np

from shoal.columns import Rejection
from shoal.formats import Block, open_reader
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

    def read(self, source: str, limit: int) -> None:
        with open_reader(source, self._policy.fields, rows=min(limit + 1, 65_536)) as reader:
            for block in reader:
                cut = int(np.searchsorted(block.rows, limit))
                bad = [(row, reason) for row, reason in block.bad if row < limit]
                self.rows += cut + len(bad)
                self._malformed += [Rejection(row, None, reason) for row, reason in bad]
                self._take(Block(block.batch.slice(0, cut), block.rows[:cut], bad))
                if cut < len(block.rows) or len(bad) < len(block.bad):
                    return
        self.complete = True

    def problems(self) -> Iterator[str]:
        """What a run would reject."""
        if not self.rows:
            yield "the input has no records"
            return
        yield from self._reasons(self._malformed)
        yield from self._problems()

    @abstractmethod
    def warnings(self) -> Iterator[str]:
        """What a run would accept, but the user should know."""

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
            yield f"{self._of([rejection.row for rejection in alike], alike[0].field)}: {alike[0].reason}"
        if len(counts) > MOST_REASONS:
            yield f"and {len(counts) - MOST_REASONS:,} more reasons to reject rows"

    def _of(self, rows: list[int], field: str | None) -> str:
        place = f"'{field}', " if field else ""
        return f"{place}{self._share(len(rows))}, first row {rows[0]}"

    def _share(self, number: int) -> str:
        return f"{number:,} of {self.rows:,} rows"
