"""Workers: rounds (as in FAST) on several threads, over disjoint tuples, with one reuse set.

A worker is a lane. Tuples are given to the workers in turn, whatever their values. All workers publish through one door, one
worker at a time, and into one table of groups. A worker can reuse a published group once its own clock has reached the time
of publication. Which tuples leave together depends on which thread is first. Releases are sorted by the arrival at which they
happened, then by the order in which they passed the door.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.anonymizer.lane import HandedOver, Lane
from shoal.anonymizer.lanes import LaneSet, arriving_in
from shoal.anonymizer.released import Released
from shoal.blocks import Batch, Diversity
from shoal.policy import Policy

_STRIDE = 4096  # arrivals after which the workers wait for each other
_SHARED = ("group.", "reuse.", "tally.")


class Workers(LaneSet):
    """Lanes that share one door."""

    def __init__(self, policy: Policy, demands: Callable[[], Diversity]) -> None:
        own: Any = policy.algorithm  # one that has `workers` and `round`
        super().__init__(policy, [Lane(policy, demands()) for _ in range(own.workers)], own.workers)
        for worker in self._all:
            worker.count_other_lanes()
        self._round = int(own.round or policy.privacy.k)
        self._share(0)

    @property
    def sizes(self) -> dict[str, int]:
        return {**super().sizes, "reusable": self._all[0].sizes["reusable"]}

    @property
    def tally(self) -> np.record:
        return self._all[0].tally

    def leave(self) -> Released:
        return self._all[0].leave().with_used_groups()

    def saved(self) -> dict[str, NDArray[Any]]:
        """The shared state is saved once, with the first worker."""
        return {name: array for name, array in super().saved().items() if name.startswith("0.") or not _is_shared(name)}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        shared = {name[2:]: array for name, array in arrays.items() if name.startswith("0.") and _is_shared(name)}
        copies = {f"{i}.{name}": array for i in range(1, len(self._all)) for name, array in shared.items()}
        super().restore({**arrays, **copies})
        self._share(0)

    def take_in(self, batch: Batch) -> Released:
        size = len(batch.time)
        self._share(size)
        for start in range(0, max(size, 1), _STRIDE):
            self._pass(batch.select(slice(start, start + _STRIDE)))
        return self.leave()

    def flush(self) -> Released:
        """All tuples move to the first worker, and leave from there."""
        first, *others = self._all
        first.advance(HandedOver.concat([worker.hand_over_all() for worker in others]).tuples, closing=True)
        return self.leave()

    def _share(self, arrivals: int) -> None:
        """Let all workers use the door, the groups and the reuse set of the first.

        They get room for all tuples that can leave during this number of arrivals.
        """
        first, *others = self._all
        first.make_room(sum(worker.held for worker in others) + arrivals)
        for worker in others:
            worker.share(first)

    def _pass(self, batch: Batch) -> None:
        turn = self._turns(self._all[0].arrivals + np.arange(len(batch.time)))

        def advance(number: int) -> None:
            self._all[number].advance(arriving_in(batch, turn == number))

        self.side_by_side(advance, len(self._all), len(batch.time))

    def _turns(self, arrival: NDArray[np.int64]) -> NDArray[np.int64]:
        """The worker of each arrival number: at first one whole round per worker, then one arrival per worker in turn."""
        workers = len(self._all)
        return np.where(arrival < workers * self._round, arrival // self._round, arrival % workers)


def _is_shared(name: str) -> bool:
    return name.partition(".")[2].startswith(_SHARED)
