"""Algorithms in plain Python: the window, the measures and the door are compiled, and a Python function chooses.

It is called for each tuple that must leave, while k persons are in the window, and returns the tuples that leave together. It
is some thousand times slower than a kernel, and right for trying out an idea. `blocks.state` explains the arguments of kernels.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.blocks import (
    CLUSTER,
    REUSE,
    SUPPRESSED,
    State,
    best_cover,
    completed,
    distance,
    generalize,
    group_loss,
    in_order,
    metric_of,
    next_due,
    release_chosen,
)
from shoal.compiled import Packed, kernel
from shoal.errors import AlgorithmError


class Waiting:
    """The tuples that wait in the window, in order of arrival; a tuple is its index. Valid until the next call."""

    def __init__(self, s: State, packed: Packed, parameters: Any) -> None:
        self._s, self._packed = s, packed
        w = s.window
        held = int(w.clock.held)
        self._slots = np.lexsort((w.arrival[:held], w.pocketed[:held]))
        self._index = np.argsort(self._slots)
        self.parameters = parameters
        """The algorithm's section of the policy, with every default filled in."""
        self.memory = s.memory
        """What `memory(policy)` of the engine returned; snapshots save its arrays."""
        self.k = int(s.rule.k)
        self.due = int(self._index[int(w.clock.due)])
        """The tuple that must leave."""
        self.now = float(w.clock.now)
        """The window's clock: seconds under `time`, otherwise the number of the newest arrival."""
        self.since: NDArray[np.float64] = w.since[self._slots]
        """When each tuple arrived, on the window's clock."""
        self.person: NDArray[np.int64] = w.person[self._slots]
        """Equal numbers are one person. Another call may number persons differently."""
        self.values: NDArray[np.float64] = w.values[self._slots, : len(w.code)]
        """One row per tuple, one column per quasi-identifier in the policy's order; NaN is missing. A category is the number
        of its leaf; leaves are numbered depth first."""

    def __len__(self) -> int:
        return len(self._slots)

    def distances(self, tuple: int) -> NDArray[np.float64]:
        """The distance of a tuple to every tuple: the mean over the quasi-identifiers that both have, 1 if they share none."""
        found = np.zeros(len(self))
        distances(self._packed, int(self._slots[tuple]), found)
        return found[self._slots]

    def loss(self, tuples: Sequence[int]) -> float:
        """The mean loss of these tuples if they left together."""
        self._choose(tuples)
        return float(loss_together(self._packed, len(tuples)))

    def first_of_each(self, order: Sequence[int] | NDArray[np.integer]) -> list[int]:
        """These tuples, in their order, but of each person only the first."""
        seen: dict[int, int] = {}
        for tuple in order:
            seen.setdefault(int(self.person[tuple]), int(tuple))
        return list(seen.values())

    def _choose(self, tuples: Sequence[int]) -> None:
        self._s.scratch.chosen[: len(tuples)] = self._slots[list(tuples)]


Choose = Callable[[Waiting], Sequence[int]]


class Plain:
    """The loop of an algorithm whose `choose` is plain Python."""

    def __init__(self, choose: Choose, parameters: Any = None, place: str = "the algorithm") -> None:
        self._choose, self._parameters, self._place = choose, parameters, place
        self._packed: Packed | None = None

    def __call__(self, state: Packed, batch: Packed, closing: bool) -> None:
        s: Any = state.value
        shared = s._replace(memory=())  # so that one compiled loop serves all memories
        packed = self._packed = Packed(shared) if self._packed is None else self._packed.update(shared)
        while run(packed, batch, closing):
            size = self._choice(s, packed) if int(s.window.persons.size[0]) >= int(s.rule.k) else 0
            publish(packed, size)

    def _choice(self, s: State, packed: Packed) -> int:
        """Let `choose` choose; how many tuples it chose."""
        waiting = Waiting(s, packed, self._parameters)
        try:
            chosen = [int(tuple) for tuple in self._choose(waiting)]
        except Exception as error:
            raise AlgorithmError(f"{self._place}: choose raised {type(error).__name__} at {_line(error)}") from error
        if len(set(chosen)) < len(chosen) or not all(0 <= tuple < len(waiting) for tuple in chosen):
            raise AlgorithmError(f"{self._place}: choose returned a tuple twice, or one that is not there")
        if chosen and waiting.due not in chosen:
            raise AlgorithmError(f"{self._place}: choose left out the tuple that is due; return it too, or nothing at all")
        waiting._choose(chosen)
        return len(chosen)


def _line(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name}:{last.lineno}"


@kernel
def run(s, batch, closing):
    """Take in rows of the batch until a tuple must leave; 1 if one must, else 0."""
    return 1 if next_due(s, batch, closing) else 0


@kernel
def publish(s, size):
    """Publish the first `size` chosen tuples; if there are none, or they fail: the tuple that is due, with the best cover."""
    t, chosen = s.window.clock.due, s.scratch.chosen
    if size > 0:
        size = completed(s, t, size, 1.0)
    failed, size = size < 0, abs(size)
    row = best_cover(s, t) if failed or size == 0 else -1
    if size > 0 and row < 0:
        release_chosen(s, size, generalize(s, chosen[:size]), CLUSTER, True, failed)
    else:
        chosen[0] = t
        release_chosen(s, 1, row, REUSE if row >= 0 else SUPPRESSED)


@kernel
def distances(s, t, found):
    """found[u] = the distance of `t` to slot u."""
    s.scratch.chosen[0] = t
    metric = metric_of(s, s.scratch.chosen[:1], 1.0)
    for u in range(s.window.clock.held):
        found[u] = distance(s.domain, s.window, t, u, metric)


@kernel
def loss_together(s, size):
    """loss(C) of the first `size` chosen tuples."""
    slots = s.scratch.chosen[:size]
    in_order(s.window, slots, s.scratch)
    return group_loss(s.domain, s.groups, generalize(s, slots), s.window, slots)
