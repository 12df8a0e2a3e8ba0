"""Lanes: one stream on several cores, in windows that share nothing.

Every lane sees the whole stream. It takes in the arrivals that the split tree sends to it; the arrivals of other lanes only
move its clock. So its clock is the clock of the stream. If a lane has fewer than k persons, a tuple that has waited half of
its time moves to the common lane and waits there. The common lane also takes in all arrivals until the tree is learned, and
all tuples that wait at the end of the stream. What a lane does depends only on the input, never on the timing of threads.
Releases are sorted by the arrival at which they happened, then by lane.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms import algorithm
from shoal.anonymizer.lane import HandedOver, Lane, no_tuples
from shoal.anonymizer.released import Released
from shoal.anonymizer.split_tree import SplitLearner, SplitTree
from shoal.blocks import ANNOUNCED, ARRIVAL, ELSEWHERE, TALLY, Batch, Diversity, concat
from shoal.policy import Policy

_FEW = 512  # with fewer arrivals, no threads are used


class LaneSet(ABC):
    """Lanes that work on one stream in parallel, on threads."""

    def __init__(self, policy: Policy, lanes: Sequence[Lane], threads: int) -> None:
        self._all = list(lanes)
        self._threads = threads
        self._none = no_tuples(policy)

    @property
    def held(self) -> int:
        return sum(lane.held for lane in self._all)

    @property
    def sizes(self) -> dict[str, int]:
        """The sums over all lanes; a person or a pattern that is in two lanes counts twice."""
        each = [lane.sizes for lane in self._all]
        return {name: sum(one[name] for one in each) for name in each[0]}

    @property
    def timed(self) -> bool:
        return self._all[0].timed

    @property
    def now(self) -> float:
        """The clock of the stream: that of the lane that is furthest."""
        return max(lane.now for lane in self._all)

    @property
    def payload_rows(self) -> list[NDArray[np.int64]]:
        return [rows for lane in self._all for rows in lane.payload_rows]

    @property
    @abstractmethod
    def tally(self) -> np.record:
        """The tally of all lanes together."""

    @abstractmethod
    def take_in(self, batch: Batch) -> Released:
        """Take in arrivals; returns the tuples that leave because of them."""

    def tick(self, now: float) -> Released:
        for lane in self._all:
            lane.move_clock(now)
        return self.take_in(self._none)

    @abstractmethod
    def flush(self) -> Released:
        """All tuples leave together."""

    @abstractmethod
    def leave(self) -> Released:
        """All tuples that left since the last call, not yet in order."""

    def relearn(self) -> None:
        """Learn again which lane a tuple takes, if that is learned."""
        return

    def saved(self) -> dict[str, NDArray[Any]]:
        return {f"{i}.{name}": array for i, lane in enumerate(self._all) for name, array in lane.saved().items()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a saved state; only new lanes can do this."""
        for i, lane in enumerate(self._all):
            prefix = f"{i}."
            lane.restore({name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)})

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        """Threads that live as long as the lanes."""
        return ThreadPoolExecutor(self._threads, "shoal")

    def side_by_side(self, work: Callable[[int], None], lanes: int, arrivals: int) -> None:
        """Run `work` for every lane. On threads, the other lanes finish even if one fails."""
        if self._threads == 1 or arrivals < _FEW:
            for number in range(lanes):
                work(number)
            return
        done = [self._pool.submit(work, number) for number in range(lanes)]
        wait(done)
        for one in done:
            one.result()


class SplitLanes(LaneSet):
    """The lanes of the split tree, and the common lane."""

    def __init__(self, policy: Policy, demands: Callable[[], Diversity]) -> None:
        self._lanes = [Lane(for_one_lane(policy), demands()) for _ in range(policy.lanes)]
        self._common = Lane(policy, demands())
        for lane in self._lanes:
            lane.count_other_lanes(half_wait(policy))
        self._common.count_other_lanes()
        super().__init__(policy, [*self._lanes, self._common], min(policy.lanes, cores()))
        self._learner = SplitLearner(policy)
        # Under `buffer` a tuple falls due only if others enter its lane; none enters the common lane once the tree is learned.
        self._moves = policy.window.kind == "buffer"

    @property
    def tally(self) -> np.record:
        tallies = [lane.tally for lane in self._all]
        merged = np.zeros(1, TALLY).view(np.recarray)[0]
        for name in TALLY.names or ():
            merged[name] = sum(tally[name] for tally in tallies)
        merged.longest = max(tally.longest for tally in tallies)
        merged.smallest = min((tally.smallest for tally in tallies if tally.groups), default=0)
        return merged

    def take_in(self, batch: Batch) -> Released:
        parts: list[Released] = []
        start, size = 0, len(batch.time)
        while start < size or not parts:
            wanted = self._learner.wanted
            stop = size if wanted is None else min(size, start + wanted)
            part = batch.select(slice(start, stop)) if (start, stop) != (0, size) else batch
            parts.append(self._pass(part))
            is_first = self._learner.tree is None
            if self._learner.see(part.values) and is_first and self._moves:
                parts.append(self._move_to_lanes())
            start = stop
        return Released.concat(parts)

    def flush(self) -> Released:
        """All tuples move to the common lane, and leave from there."""
        handed = HandedOver.concat([lane.hand_over_all() for lane in self._lanes])
        self._common.advance(handed.tuples, closing=True)
        return self.leave()

    def relearn(self) -> None:
        self._learner.relearn()

    def saved(self) -> dict[str, NDArray[Any]]:
        tree, sample = self._learner.tree, self._learner.sample
        learned = {f"tree.{name}": column for name, column in tree._asdict().items()} if tree else {}
        seen = {} if sample is None else {"sample": sample}
        return {**learned, **seen, **super().saved()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        super().restore(arrays)
        self._learner.sample = arrays.get("sample")
        if "tree.quasi" in arrays:
            self._learner.tree = SplitTree(*(arrays[f"tree.{name}"] for name in SplitTree._fields))

    def _pass(self, batch: Batch) -> Released:
        """Run the lanes in parallel, then the common lane with the tuples that the lanes handed over."""
        tree, before, common = self._learner.tree, self._common.arrivals, len(self._lanes)
        chosen = tree.lanes(batch.values) if tree else np.full(len(batch.time), common)

        def advance(number: int) -> None:
            self._lanes[number].advance(arriving_in(batch, chosen == number))

        self.side_by_side(advance, len(self._lanes), len(batch.time))
        handed = HandedOver.concat([lane.hand_over() for lane in self._lanes])
        self._common.advance(merged(arriving_in(batch, chosen == common), handed, before))
        return self.leave()

    def _move_to_lanes(self) -> Released:
        """Move the tuples of the common lane to the lanes of the tree."""
        tuples, tree = self._common.hand_over_all().tuples, self._learner.tree
        assert tree is not None
        chosen = tree.lanes(tuples.values)
        for number, lane in enumerate(self._lanes):
            lane.advance(tuples.select(chosen == number))
        return self.leave()

    def leave(self) -> Released:
        """The tuples that left, lane by lane; group numbers become unique among all lanes."""
        parts = []
        for number, lane in enumerate(self._all):
            left = lane.leave()
            if not left.is_empty:
                left = left.with_used_groups()
                unique = left.groups.number * len(self._all) + number
                parts.append(left._replace(groups=left.groups._replace(number=unique)))
        return Released.concat(parts or [left])


def arriving_in(batch: Batch, is_here: NDArray[np.bool_]) -> Batch:
    """The arrivals as one lane sees them: an arrival that is not `is_here` belongs to another lane."""
    return batch._replace(kind=np.where(is_here, ARRIVAL, ELSEWHERE))


def cores() -> int:
    """How many threads can run at the same time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def half_wait(policy: Policy) -> float:
    """How long a tuple waits in a lane with fewer than k persons before it goes to the common lane; endless under `buffer`."""
    if policy.window.kind == "buffer":
        return math.inf
    return min(policy.window.length, algorithm(policy).deadline) / 2


def for_one_lane(policy: Policy) -> Policy:
    """The policy of a single lane, which gets its share of the buffer."""
    window = policy.window
    if window.buffer:
        window = window.model_copy(update={"buffer": window.buffer // policy.lanes})
    return replace(policy, window=window)


def merged(batch: Batch, handed: HandedOver, before: int) -> Batch:
    """Arrivals and handed-over tuples in one batch; `before` tuples had arrived earlier.

    An arrival at which tuples are handed over is first announced. Then come these tuples, then the row of the arrival itself.
    """
    if not len(handed.arrivals):
        return batch
    if not len(batch.time):
        return handed.tuples
    row = handed.arrivals - before - 1
    announced = batch.select(np.unique(row))
    announced = announced._replace(kind=np.full_like(announced.kind, ANNOUNCED))
    order = np.argsort(np.concatenate([np.unique(row), row, np.arange(len(batch.time))]), kind="stable")
    return concat([announced, handed.tuples, batch]).select(order)
