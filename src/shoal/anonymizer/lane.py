"""A lane: one window with its algorithm and its reuse set."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms import algorithm
from shoal.blocks.diversity import Diversity
from shoal.blocks.handover import hand_over_all
from shoal.blocks.state import Arrays, new_state, restored, saved, sharing, with_exits, with_handover, with_slots
from shoal.blocks.window import TIME, tick
from shoal.columns.encode import Batch, no_arrivals
from shoal.policy import Policy

_SLOTS = 4096  # that the window has for arrivals, besides those held; there are more if they do not suffice


class Leaving(NamedTuple):
    """Tuples that leave, in order, and the groups whose generalizations they wear."""

    seat: NDArray[np.int64]
    pattern: NDArray[np.uint64]
    row: NDArray[np.int64]  # of the groups; -1 when suppressed
    how: NDArray[np.int64]
    arrived: NDArray[np.float64]
    released: NDArray[np.float64]
    arrivals: NDArray[np.int64]  # how many had arrived when it left
    number: NDArray[np.int64]  # this and what follows: a row a group
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    size: NDArray[np.int64]
    had: NDArray[np.int64]


class Handed(NamedTuple):
    """Tuples that go to another lane, as they are fetched from the room that kernels put them into (`blocks.handover`)."""

    tuples: Batch
    arrivals: NDArray[np.int64]  # how many had arrived when each went


class Lane:
    """The window, the reuse set and the compiled loop of an algorithm: the whole of a stream, or one of several lanes."""

    def __init__(self, policy: Policy, demands: Diversity) -> None:
        chosen = algorithm(policy)
        self.kernel, self._grown, self._shared = chosen.run, chosen.grown, chosen.shared
        self.state = new_state(policy, chosen.parameters, chosen.deadlines, chosen.memory, chosen.same_pattern, demands)
        self._nobody = no_arrivals(policy)

    def beside_others(self, half: float = math.inf) -> None:
        """Count the arrivals of other lanes too; hand over who has waited so long while fewer than k persons are here."""
        clock = self.state.window.clock
        clock.laned, clock.half = True, half

    def make_room(self, arrivals: int) -> None:
        """Have room for all that can leave while so many arrive."""
        self.state = with_exits(self.state, arrivals)

    def share(self, other: Lane) -> None:
        """Leave through the other's door, into its groups and its reuse set."""
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
        """How many tuples ever arrived, in other lanes too."""
        return int(self.state.window.clock.arrivals)

    @property
    def timed(self) -> bool:
        return int(self.state.window.clock.kind) == TIME

    @property
    def seats(self) -> list[NDArray[np.int64]]:
        """Where what is passed through waits; it can be changed in place."""
        return [self.state.window.seat[: self.held]]

    @property
    def tally(self) -> np.record:
        return self.state.exits.tally

    def take_in(self, batch: Batch) -> Leaving:
        self.advance(batch)
        return self.leave()

    def tick(self, now: float) -> Leaving:
        self.move_clock(now)
        return self.take_in(self._nobody)

    def flush(self) -> Leaving:
        self.advance(self._nobody, closing=True)
        return self.leave()

    def relearn(self) -> None:
        """A lane alone has nothing to learn."""

    def move_clock(self, now: float) -> None:
        if self.timed:
            tick(self.state.window.clock, now)

    def advance(self, batch: Batch, closing: bool = False) -> None:
        """Run the algorithm over arrivals; those in other lanes have no seat here."""
        size = len(batch.time)
        own = int((batch.seat >= 0).sum()) if self.state.window.clock.laned else size
        s = with_exits(self.state, own, size - own)
        s.window.clock.row, s.window.clock.stop = 0, size
        slots = own if closing else min(own, _SLOTS)  # the end has come once all are in: then none may be left out
        s = with_slots(s, slots, self._grown)
        self.kernel(s, batch, closing)
        while s.window.clock.row < size:  # all slots are taken
            s = with_slots(s, _SLOTS, self._grown)
            self.kernel(s, batch, closing)
        self.state = s

    def leave(self) -> Leaving:
        """Those who left since this was last asked, until the next arrivals."""
        exits, groups = self.state.exits, self.state.groups
        leaving, rows = int(exits.tally.waiting), int(groups.rows[0])
        exits.tally.waiting = 0
        return Leaving(
            exits.seat[:leaving], exits.pattern[:leaving], exits.row[:leaving], exits.how[:leaving],
            exits.arrived[:leaving], exits.released[:leaving], exits.arrivals[:leaving],
            groups.number[:rows], groups.shown_low[:rows], groups.shown_high[:rows], groups.size[:rows], groups.had[:rows],
        )  # fmt: skip

    def hand_over(self) -> Handed:
        """Those who went to another lane since this was last asked, until the next arrivals."""
        h = self.state.handover
        size, h.size[0] = int(h.size[0]), 0
        return Handed(part_of(h.tuples, slice(size)), h.arrivals[:size])

    def hand_over_all(self) -> Handed:
        """Everyone goes to another lane."""
        self.state = with_handover(self.state, self.held)
        hand_over_all(self.state.window, self.state.handover, self.state.scratch)
        return self.hand_over()

    def saved(self) -> Arrays:
        return saved(self.state)

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """A new lane goes on from there."""
        self.state = restored(self.state, arrays, self._grown)


def part_of(batch: Batch, which: Any) -> Batch:
    """Some rows of a batch, by a slice, numbers or a mask."""
    values = np.ascontiguousarray(batch.values[:, which])
    return Batch(values, *(column[which] for column in batch[1:]))
