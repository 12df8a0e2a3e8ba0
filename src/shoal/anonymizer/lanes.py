"""Lanes: one stream on several cores, in windows that share nothing.

Every lane sees the whole stream pass, and takes in those arrivals that the locality key sends to it; of the others it notices
the moment. So its clock is the stream's. A tuple that has waited half of its time in a lane with fewer than k persons goes on
waiting in the common lane, which also takes in the stream's beginning, until the key is learned, and what waits at its end.
What a lane does depends on the input alone, whatever the threads do; releases are put in order by the arrival at which they
happened, then by lane.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms import algorithm
from shoal.anonymizer.lane import Handed, Lane, Leaving, part_of
from shoal.anonymizer.locality import Locality, Tree
from shoal.anonymizer.team import Team, after_each_other, only_worn, together
from shoal.blocks.diversity import Diversity
from shoal.blocks.release import TALLY
from shoal.columns.encode import ANNOUNCED, ELSEWHERE, Batch, no_arrivals
from shoal.policy import Policy


class Lanes(Team):
    """Lanes by the locality key, and the common lane."""

    def __init__(self, policy: Policy, demands: Callable[[], Diversity]) -> None:
        self._lanes = [Lane(narrow(policy), demands()) for _ in range(policy.lanes)]
        self._common = Lane(policy, demands())
        for lane in self._lanes:
            lane.beside_others(half(policy))
        self._common.beside_others()
        super().__init__([*self._lanes, self._common], min(policy.lanes, cores()))
        self._locality = Locality(policy)
        self._nobody = no_arrivals(policy)
        self._moves = policy.window.kind == "buffer"  # nobody is ever due in a lane that nobody joins

    @property
    def tally(self) -> np.record:
        tallies = [lane.tally for lane in self._all]
        merged = np.zeros(1, TALLY).view(np.recarray)[0]
        for name in TALLY.names or ():
            merged[name] = sum(tally[name] for tally in tallies)
        merged.longest = max(tally.longest for tally in tallies)
        merged.smallest = min((tally.smallest for tally in tallies if tally.groups), default=0)
        return merged

    def take_in(self, batch: Batch) -> Leaving:
        parts: list[Leaving] = []
        start, size = 0, len(batch.time)
        while start < size or not parts:
            wanted = self._locality.wanted
            stop = size if wanted is None else min(size, start + wanted)
            part = part_of(batch, slice(start, stop)) if (start, stop) != (0, size) else batch
            parts.append(self._pass(part))
            is_first = self._locality.tree is None
            if self._locality.see(part.values) and is_first and self._moves:
                parts.append(self._spread())
            start = stop
        return after_each_other(parts)

    def _tick(self) -> Leaving:
        return self._pass(self._nobody)

    def flush(self) -> Leaving:
        """From the common lane."""
        handed = together([lane.hand_over_all() for lane in self._lanes])
        self._common.advance(handed.tuples, closing=True)
        return self.leave()

    def relearn(self) -> None:
        self._locality.relearn()

    def saved(self) -> dict[str, NDArray[Any]]:
        tree, sample = self._locality.tree, self._locality.sample
        learned = {f"tree.{name}": column for name, column in tree._asdict().items()} if tree else {}
        seen = {} if sample is None else {"sample": sample}
        return {**learned, **seen, **super().saved()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        super().restore(arrays)
        self._locality.sample = arrays.get("sample")
        if "tree.quasi" in arrays:
            self._locality.tree = Tree(*(arrays[f"tree.{name}"] for name in Tree._fields))

    def _pass(self, batch: Batch) -> Leaving:
        """The lanes side by side, then the common lane, with those who were handed over to it on the way."""
        tree, before = self._locality.tree, self._common.arrivals
        chosen = tree.lanes(batch.values) if tree else np.full(len(batch.time), len(self._lanes))

        def advance(number: int) -> None:
            here = np.where(chosen == number, batch.seat, ELSEWHERE)
            self._lanes[number].advance(batch._replace(seat=here))

        self.side_by_side(advance, len(self._lanes), len(batch.time))
        here = np.where(chosen == len(self._lanes), batch.seat, ELSEWHERE)
        handed = together([lane.hand_over() for lane in self._lanes])
        self._common.advance(joined(batch._replace(seat=here), handed, before))
        return self.leave()

    def _spread(self) -> Leaving:
        """Those in the common lane go where they would have gone."""
        tuples, tree = self._common.hand_over_all().tuples, self._locality.tree
        assert tree is not None
        chosen = tree.lanes(tuples.values)
        for number, lane in enumerate(self._lanes):
            lane.advance(part_of(tuples, chosen == number))
        return self.leave()

    def leave(self) -> Leaving:
        """All who left, lane by lane."""
        parts = []
        for number, lane in enumerate(self._all):
            left = lane.leave()
            if len(left.seat):
                left = only_worn(left)
                parts.append(left._replace(number=left.number * len(self._all) + number))
        if not parts:
            return left
        return after_each_other(parts)


def cores() -> int:
    """How many threads can run at the same time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def half(policy: Policy) -> float:
    """How long a tuple waits in a lane that is too thin; under `buffer` nobody is ever late."""
    if policy.window.kind == "buffer":
        return math.inf
    return min(policy.window.length, algorithm(policy).deadline) / 2


def narrow(policy: Policy) -> Policy:
    """Of a buffer each lane has its share."""
    window = policy.window
    if window.buffer:
        window = window.model_copy(update={"buffer": window.buffer // policy.lanes})
    return replace(policy, window=window)


def joined(batch: Batch, handed: Handed, before: int) -> Batch:
    """Arrivals, and before each, when it is announced, those who were handed over then; `before` had arrived earlier."""
    if not len(handed.arrivals):
        return batch
    if not len(batch.time):
        return handed.tuples
    row = handed.arrivals - before - 1
    announced = part_of(batch, np.unique(row))
    announced = announced._replace(seat=np.full_like(announced.seat, ANNOUNCED))
    order = np.argsort(np.concatenate([np.unique(row), row, np.arange(len(batch.time))]), kind="stable")
    values, *rest = zip(announced, handed.tuples, batch, strict=True)
    return part_of(Batch._make([np.hstack(values), *map(np.concatenate, rest)]), order)
