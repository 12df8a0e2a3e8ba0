"""The engine of the window algorithms: tuples wait until they are due, and leave in groups."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.algorithms import algorithm
from shoal.anonymizer.engine import Answer, Engine
from shoal.anonymizer.lobby import Guests, Lobby
from shoal.anonymizer.snapshot import Snapshot
from shoal.anonymizer.stats import Stats, stats
from shoal.blocks.diversity import Diversity, diversity
from shoal.blocks.release import OUTCOMES
from shoal.blocks.state import new_state, restored, saved, with_exits, with_slots
from shoal.blocks.window import TIME, tick
from shoal.columns.encode import Batch, Encoder, no_arrivals
from shoal.columns.fingerprint import one_word
from shoal.columns.publish import Publisher
from shoal.columns.rejection import Rejection
from shoal.policy import Policy

_STEP = 4096  # records taken in at a time: the window has slots for so many besides those held


class Windowed(Engine):
    """Holds a window, and lets its algorithm decide who leaves with whom."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._start(np.frombuffer(secrets.token_bytes(16), np.uint64).copy())

    def _start(self, key: NDArray[np.uint64]) -> None:
        policy = self._policy
        chosen = algorithm(policy)
        self._kernel = chosen.run
        self._state = new_state(policy, chosen.parameters, chosen.deadlines, chosen.memory, _demands(policy, key))
        self._key = key
        self._encoder = Encoder(policy, key, typed=True)
        self._publisher = Publisher(policy)
        self._lobby = Lobby(self._encoder.passed)
        self.fields = self._encoder.fields
        self.generalized = self._publisher.generalized
        self._nothing: tuple[object, Answer] | None = None

    @property
    def no_trace(self) -> pa.RecordBatch:
        return self._traced(np.zeros(0, np.int64), 0)

    def arrive(self, batch: pa.RecordBatch, rows: NDArray[np.int64]) -> Answer:
        encoded = self._encoder.encode(batch, rows)
        self._publisher.whole &= encoded.whole
        seats = self._lobby.enter(encoded.kept, encoded.rows)
        return self._answer(self._advance(encoded.batch._replace(seat=seats)), encoded.rejected)

    def tick(self, now: float) -> Answer:
        clock = self._state.window.clock
        if clock.kind == TIME:
            tick(clock, now)
        return self._without_arrivals()

    def flush(self) -> Answer:
        return self._without_arrivals(closing=True)

    def stats(self, received: int, reasons: Mapping[str, int]) -> Stats:
        return stats(received, reasons, int(self._state.window.clock.held), self._state.exits.tally)

    @property
    def sizes(self) -> dict[str, int]:
        w = self._state.window
        return {
            "held": int(w.clock.held), "persons": int(w.persons.size[0]), "partitions": int(w.partitions.size[0]),
            "reusable": int(self._state.reuse.rule.entries),
        }  # fmt: skip

    def saved(self) -> Snapshot:
        """It holds what waits in the window."""
        seats = self._state.window.seat[: int(self._state.window.clock.held)]
        self._lobby.settle(seats, always=True)
        guests = self._lobby.guests
        header = {"key": self._key.tolist(), "whole": self._publisher.whole.tolist()}
        return Snapshot(header, {**saved(self._state), "rows": guests.rows}, guests.kept)

    def restore(self, snapshot: Snapshot) -> None:
        self._start(np.array(snapshot.header["key"], np.uint64))
        self._state = restored(self._state, snapshot.arrays)
        self._lobby.guests = Guests(snapshot.kept, snapshot.arrays["rows"])
        self._encoder.remember(snapshot.kept.schema)
        self._publisher.whole[:] = snapshot.header["whole"]

    def _without_arrivals(self, closing: bool = False) -> Answer:
        return self._answer(self._advance(no_arrivals(self._policy), closing), [])

    def _advance(self, batch: Batch, closing: bool = False) -> int:
        """Run the algorithm over arrivals; how many tuples leave."""
        s, size = with_exits(self._state, len(batch.time)), len(batch.time)
        for start in range(0, max(size, 1), _STEP):
            stop = min(start + _STEP, size)
            s = with_slots(s, stop - start)
            s.window.clock.row, s.window.clock.stop = start, stop
            self._kernel(s, batch, closing and stop == size)
        self._state = s
        return int(s.exits.tally.waiting)

    def _answer(self, leaving: int, rejected: list[Rejection]) -> Answer:
        """Fetch the tuples that leave, as they are published; that none do is often the answer, and kept."""
        if leaving:
            return self._departed(leaving, rejected)
        kind = self._lobby.guests.kept.schema, self._publisher.whole.tolist()
        if self._nothing is None or self._nothing[0] != kind:
            self._nothing = kind, self._departed(0, [])
        return self._nothing[1]._replace(rejected=rejected)

    def _departed(self, leaving: int, rejected: list[Rejection]) -> Answer:
        s = self._state
        s.exits.tally.waiting = 0
        guests = self._lobby.fetch(s.exits.seat[:leaving])
        self._lobby.settle(s.window.seat[: int(s.window.clock.held)])
        groups = int(s.groups.rows[0])
        published = self._publisher.publish(
            guests.kept, s.exits.pattern[:leaving], s.exits.row[:leaving],
            s.groups.shown_low[:groups], s.groups.shown_high[:groups], s.groups.size[:groups], s.groups.had[:groups],
        )  # fmt: skip
        return Answer(published, self._traced(guests.rows, leaving), rejected)

    def _traced(self, rows: NDArray[np.int64], leaving: int) -> pa.RecordBatch:
        s = self._state
        row = s.exits.row[:leaving]
        clock = pa.float64() if s.window.clock.kind == TIME else pa.int64()
        columns = {
            "row": pa.array(rows),
            "how": pa.DictionaryArray.from_arrays(s.exits.how[:leaving].astype(np.int8), list(OUTCOMES)),
            "cluster": pa.array(s.groups.number[row], mask=row < 0),
            "arrived": pa.array(s.exits.arrived[:leaving].copy()).cast(clock),
            "released": pa.array(s.exits.released[:leaving].copy()).cast(clock),
        }
        return pa.RecordBatch.from_pydict(columns)


def _demands(policy: Policy, key: NDArray[np.uint64]) -> Diversity:
    """What is asked of sensitive values, which are known by their fingerprints."""
    given = [(demand.name, value) for demand in policy.diverse for value in demand.distribution or ()]
    words = one_word(pa.array([value for _, value in given], pa.large_string()), key)
    return diversity(policy, dict(zip(given, words.tolist(), strict=True)))
