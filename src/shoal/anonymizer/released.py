"""What leaves a lane: a table of tuples, and a table of the groups whose generalizations they use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class ReleasedTuples(NamedTuple):
    """One row per tuple."""

    payload: NDArray[np.int64]  # the row of the payload buffer
    pattern: NDArray[np.uint64]
    group: NDArray[np.int64]  # the row of the tuple's group; -1 if the tuple was suppressed
    how: NDArray[np.int64]
    arrived: NDArray[np.float64]
    released: NDArray[np.float64]
    arrivals: NDArray[np.int64]  # how many tuples had arrived when this tuple left


class ReleasedGroups(NamedTuple):
    """One row per group."""

    number: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    size: NDArray[np.int64]
    had: NDArray[np.int64]
    doubt: NDArray[np.uint64]
    early: NDArray[np.float64]
    late: NDArray[np.float64]
    withheld: NDArray[np.bool_]  # by sensitive attribute with a demand
    nodes: NDArray[np.uint64]  # what its sets show, as bits (`blocks.sets`)


class Released(NamedTuple):
    tuples: ReleasedTuples
    groups: ReleasedGroups

    @property
    def is_empty(self) -> bool:
        """Whether no tuple left."""
        return not len(self.tuples.group)

    def with_used_groups(self) -> Released:
        """A copy without the groups that no tuple uses."""
        used = np.zeros(len(self.groups.number) + 1, bool)
        used[self.tuples.group] = True  # the last entry stands for suppressed tuples
        used[-1] = False
        row = np.where(used, np.cumsum(used) - 1, -1)
        tuples = self.tuples._replace(group=row[self.tuples.group])
        groups = ReleasedGroups._make(column[used[:-1]] for column in self.groups)
        return Released(ReleasedTuples._make(map(np.copy, tuples)), groups)

    def by_arrival(self) -> Released:
        """In the order of the arrivals at which the tuples left; tuples of one arrival keep their order."""
        order = np.argsort(self.tuples.arrivals, kind="stable")
        return self._replace(tuples=ReleasedTuples._make(column[order] for column in self.tuples))

    @staticmethod
    def concat(parts: Sequence[Released]) -> Released:
        """The parts one after the other; there must be at least one."""
        if len(parts) == 1:
            return parts[0]
        tuples, first = [], 0
        for part in parts:
            group = part.tuples.group
            tuples.append(part.tuples._replace(group=np.where(group < 0, -1, group + first)))
            first += len(part.groups.number)
        return Released(
            ReleasedTuples._make(map(np.concatenate, zip(*tuples, strict=True))),
            ReleasedGroups._make(map(np.concatenate, zip(*(part.groups for part in parts), strict=True))),
        )
