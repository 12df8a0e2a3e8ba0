"""A lane: one window with its algorithm and its reuse set."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms import algorithm
from shoal.anonymizer.released import Released, ReleasedGroups, ReleasedTuples
from shoal.blocks import (
    TIME,
    Arrays,
    Batch,
    Diversity,
    State,
    blank,
    concat,
    hand_over_all,
    new_state,
    restored,
    saved,
    sharing,
    tick,
    with_exits,
    with_handover,
    with_slots,
)
from shoal.compiled import Packed
from shoal.policy import Policy

_SLOTS = 4096  # free slots of the window for arrivals; the window grows when all are taken


class HandedOver(NamedTuple):
    """Tuples that go to another lane."""

    tuples: Batch
    arrivals: NDArray[np.int64]  # how many tuples had arrived when each was handed over

    @staticmethod
    def concat(parts: Sequence[HandedOver]) -> HandedOver:
        """All tuples, in the order in which they were handed over; of one moment, the older tuple is first."""
        some = [part for part in parts if len(part.arrivals)] or parts[:1]
        tuples, arrivals = concat([part.tuples for part in some]), np.concatenate([part.arrivals for part in some])
        order = np.lexsort((tuples.arrival, arrivals))
        return HandedOver(tuples.select(order), arrivals[order])


class Lane:
    """The window, the reuse set and the compiled loop of an algorithm, for a whole stream or for one lane of several."""

    def __init__(self, policy: Policy, demands: Diversity) -> None:
        chosen = algorithm(policy)
        self.kernel, self._grown, self._shared = chosen.run, chosen.grown, chosen.shared
        self.state = new_state(policy, chosen.parameters, chosen.deadlines, chosen.memory, chosen.same_pattern, demands)
        self._none = no_tuples(policy)
        self._packed = Packed(self.state)

    def count_other_lanes(self, half: float = math.inf) -> None:
        """Count the arrivals of other lanes too.

        While this lane has fewer than k persons, tuples that have waited for `half` are handed over.
        """
        clock = self.state.window.clock
        clock.laned, clock.half = True, half

    def make_room(self, arrivals: int) -> None:
        """Make room for all tuples that can leave during this number of arrivals."""
        self.state = with_exits(self.state, arrivals)

    def share(self, other: Lane) -> None:
        """Use the door, the groups and the reuse set of another lane."""
        self.state = sharing(self.state, other.state, self._shared)

    @property
    def held(self) -> int:
        return int(self.state.window.clock.held)

    @property
    def sizes(self) -> dict[str, int]:
        w = self.state.window
        return {
            "held": self.held, "persons": int(w.persons.size[0]), "partitions": int(w.partitions.size[0]),
            "reusable": int(self.state.reuse.rule.entries),
        }  # fmt: skip

    @property
    def arrivals(self) -> int:
        """How many tuples have arrived so far, including those of other lanes."""
        return int(self.state.window.clock.arrivals)

    @property
    def timed(self) -> bool:
        return int(self.state.window.clock.kind) == TIME

    @property
    def now(self) -> float:
        return float(self.state.window.clock.now)

    @property
    def payload_rows(self) -> list[NDArray[np.int64]]:
        """The rows of the payload buffer that the held tuples use; they can be changed in place."""
        return [self.state.window.payload[: self.held]]

    @property
    def tally(self) -> np.record:
        return self.state.exits.tally

    def take_in(self, batch: Batch) -> Released:
        self.advance(batch)
        return self.leave()

    def tick(self, now: float) -> Released:
        self.move_clock(now)
        return self.take_in(self._none)

    def flush(self) -> Released:
        self.advance(self._none, closing=True)
        return self.leave()

    def relearn(self) -> None:
        """A single lane has nothing to learn."""

    def move_clock(self, now: float) -> None:
        if self.timed:
            tick(self.state.window.clock, now)

    def advance(self, batch: Batch, closing: bool = False) -> None:
        """Run the algorithm over the rows of a batch."""
        size = len(batch.time)
        entering = batch.entering if self.state.window.clock.laned else size
        s = with_exits(self.state, entering, size - entering)
        s.window.clock.row, s.window.clock.stop = 0, size
        slots = entering if closing else min(entering, _SLOTS)  # when closing, all tuples enter before any leaves
        s = with_slots(s, slots, self._grown)
        packed_batch = Packed(batch)
        self._run(s, packed_batch, closing)
        while s.window.clock.row < size:  # the kernel stopped because all slots are taken
            s = with_slots(s, _SLOTS, self._grown)
            self._run(s, packed_batch, closing)
        self.state = s

    def _run(self, s: State, batch: Packed, closing: bool) -> None:
        self._packed = self._packed.update(s)
        self.kernel(self._packed, batch, closing)

    def leave(self) -> Released:
        """The tuples that left since the last call; valid until the next arrivals."""
        exits, groups = self.state.exits, self.state.groups
        size, rows = int(exits.tally.waiting), int(groups.rows[0])
        exits.tally.waiting = 0
        return Released(
            ReleasedTuples(
                exits.payload[:size], exits.pattern[:size], exits.row[:size], exits.how[:size],
                exits.arrived[:size], exits.released[:size], exits.arrivals[:size],
            ),
            ReleasedGroups(
                groups.number[:rows], groups.shown_low[:rows], groups.shown_high[:rows], groups.size[:rows], groups.had[:rows],
                groups.doubt[:rows], groups.early[:rows], groups.late[:rows], groups.withheld[:rows],
                groups.nodes[:rows],
            ),
        )  # fmt: skip

    def hand_over(self) -> HandedOver:
        """The tuples that were handed over since the last call; valid until the next arrivals."""
        h = self.state.handover
        size, h.size[0] = int(h.size[0]), 0
        return HandedOver(h.tuples.select(slice(size)), h.arrivals[:size])

    def hand_over_all(self) -> HandedOver:
        """Hand over every tuple that waits."""
        self.state = with_handover(self.state, self.held)
        hand_over_all(self.state.window, self.state.handover, self.state.scratch)
        return self.hand_over()

    def saved(self) -> Arrays:
        return saved(self.state)

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a saved state; only a new lane can do this."""
        self.state = restored(self.state, arrays, self._grown)


def no_tuples(policy: Policy) -> Batch:
    return blank(len(policy.quasi), len(policy.requirements), 0)
