"""A team: lanes that work side by side on one stream, on threads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.anonymizer.lane import Handed, Lane, Leaving, part_of
from shoal.columns.encode import Batch

_FEW = 512  # arrivals for which no threads are bothered


class Team(ABC):
    """What lanes have in common that work side by side."""

    def __init__(self, lanes: Sequence[Lane], threads: int) -> None:
        self._all = list(lanes)
        self._threads = threads

    @property
    def held(self) -> int:
        return sum(lane.held for lane in self._all)

    @property
    def sizes(self) -> dict[str, int]:
        """Of all lanes; a person, or a pattern, in two of them counts twice."""
        each = [lane.sizes for lane in self._all]
        return {name: sum(one[name] for one in each) for name in each[0]}

    @property
    def timed(self) -> bool:
        return self._all[0].timed

    @property
    def seats(self) -> list[NDArray[np.int64]]:
        return [seats for lane in self._all for seats in lane.seats]

    @property
    @abstractmethod
    def tally(self) -> np.record:
        """Of all lanes together."""

    @abstractmethod
    def take_in(self, batch: Batch) -> Leaving:
        """Take in arrivals; who leaves because of them."""

    def tick(self, now: float) -> Leaving:
        for lane in self._all:
            lane.move_clock(now)
        return self._tick()

    @abstractmethod
    def flush(self) -> Leaving:
        """All leave together."""

    @abstractmethod
    def leave(self) -> Leaving:
        """All who left since this was last asked, not yet in order."""

    def relearn(self) -> None:
        """Learn anew who goes where, if that is learned."""
        return

    def saved(self) -> dict[str, NDArray[Any]]:
        return {f"{i}.{name}": array for i, lane in enumerate(self._all) for name, array in lane.saved().items()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """A new team goes on from there."""
        own: list[dict[str, NDArray[Any]]] = [{} for _ in self._all]
        for name, array in arrays.items():
            number, _, rest = name.partition(".")
            if number.isdigit():
                own[int(number)][rest] = array
        for lane, saved in zip(self._all, own, strict=True):
            lane.restore(saved)

    @abstractmethod
    def _tick(self) -> Leaving:
        """Who leaves now that the clocks have moved."""

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        """Threads for as long as the team is there."""
        return ThreadPoolExecutor(self._threads, "shoal")

    def side_by_side(self, work: Callable[[int], None], lanes: int, arrivals: int) -> None:
        """Do the work of every lane; if one fails, the others come to their end."""
        if self._threads == 1 or arrivals < _FEW:
            for number in range(lanes):
                work(number)
            return
        done = [self._pool.submit(work, number) for number in range(lanes)]
        wait(done)
        for one in done:
            one.result()


def together(handed: Sequence[Handed]) -> Handed:
    """In the order in which they went, the older first."""
    found = [one for one in handed if len(one.arrivals)] or handed[:1]
    columns = zip(*(one.tuples for one in found), strict=True)
    values, *rest = columns
    tuples = Batch(np.hstack(values), *map(np.concatenate, rest))
    arrivals = np.concatenate([one.arrivals for one in found])
    order = np.lexsort((tuples.arrival, arrivals))
    return Handed(part_of(tuples, order), arrivals[order])


def only_worn(left: Leaving) -> Leaving:
    """A copy without the groups that nobody wears."""
    worn = np.zeros(len(left.number) + 1, bool)
    worn[left.row] = True  # the last stands for those who wear none
    worn[-1] = False
    place = np.where(worn, np.cumsum(worn) - 1, -1)
    tuples = left._replace(row=place[left.row])[:7]
    return Leaving._make([*map(np.copy, tuples), *(column[worn[:-1]] for column in left[7:])])


def in_order(left: Leaving) -> Leaving:
    """By the arrivals at which they left; of those at one, as they come."""
    order = np.argsort(left.arrivals, kind="stable")
    return Leaving._make([*(column[order] for column in left[:7]), *left[7:]])


def after_each_other(parts: Sequence[Leaving]) -> Leaving:
    if len(parts) == 1:
        return parts[0]
    firsts = np.cumsum([0, *(len(part.number) for part in parts[:-1])])
    moved = [part._replace(row=np.where(part.row < 0, -1, part.row + first)) for part, first in zip(parts, firsts, strict=True)]
    return Leaving._make(map(np.concatenate, zip(*moved, strict=True)))
