"""The engine of the window algorithms: tuples wait until they are due, and leave in groups."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.anonymizer.engine import Answer, Engine, joined
from shoal.anonymizer.guard import Guard
from shoal.anonymizer.lane import Lane, Leaving
from shoal.anonymizer.lanes import Lanes
from shoal.anonymizer.lobby import Guests, Lobby
from shoal.anonymizer.snapshot import Snapshot
from shoal.anonymizer.stats import Stats, stats
from shoal.anonymizer.team import Team, in_order
from shoal.anonymizer.workers import Workers
from shoal.blocks.diversity import Diversity, new_diversity
from shoal.blocks.release import OUTCOMES
from shoal.columns.encode import Encoded, Encoder
from shoal.columns.fingerprint import one_word
from shoal.columns.publish import Publisher
from shoal.columns.rejection import Rejection
from shoal.policy import Policy

_PIECE = 16_384  # arrivals that a team takes in at a time


class Windowed(Engine):
    """Holds a window, or several, and lets its algorithm decide who leaves with whom."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._start(np.frombuffer(secrets.token_bytes(16), np.uint64).copy())

    def _start(self, key: NDArray[np.uint64]) -> None:
        policy = self._policy
        self._guard = Guard()
        self._lane = _lane(policy, key)
        self._key = key
        self._encoder = Encoder(policy, key, typed=True)
        self._publisher = Publisher(policy)
        self._lobby = Lobby(self._encoder.passed)
        self.fields = self._encoder.fields
        self.generalized = self._publisher.generalized
        self._nothing: tuple[object, Answer] | None = None

    @property
    def no_trace(self) -> pa.RecordBatch:
        return self._answer(self._lane.leave(), []).trace()

    def arrive(self, batch: pa.RecordBatch, rows: NDArray[np.int64]) -> Answer:
        if batch.num_rows <= _PIECE or not isinstance(self._lane, Team):
            encoded = self._seated(batch, rows)
            with self._guard.at_work():
                return self._answer(self._lane.take_in(encoded.batch), encoded.rejected)
        with self._guard.at_work():
            return self._pipelined(self._lane, batch, rows)

    def _pipelined(self, team: Team, batch: pa.RecordBatch, rows: NDArray[np.int64]) -> Answer:
        """Piece by piece: while the team works on one, the next is encoded and what left by the last is published."""
        answers: list[Answer] = []
        rejected: list[Rejection] = []
        with ThreadPoolExecutor(1, "shoal-team") as thread:
            at_work: Future[Leaving] | None = None
            for start in range(0, batch.num_rows, _PIECE):
                encoded = self._seated(batch.slice(start, _PIECE), rows[start : start + _PIECE])
                rejected += encoded.rejected
                before, at_work = at_work and at_work.result(), thread.submit(team.take_in, encoded.batch)
                if before:
                    answers.append(self._departed(before, []))
            assert at_work is not None
            answers.append(self._departed(at_work.result(), []))
        self._lobby.settle(team.seats)
        published, traces, _ = zip(*answers, strict=True)
        return Answer(joined(published), lambda: joined([trace() for trace in traces]), rejected)

    def _seated(self, batch: pa.RecordBatch, rows: NDArray[np.int64]) -> Encoded:
        encoded = self._encoder.encode(batch, rows)
        self._publisher.whole &= encoded.whole
        seats = self._lobby.enter(encoded.kept, encoded.rows)
        return encoded._replace(batch=encoded.batch._replace(seat=seats))

    def tick(self, now: float) -> Answer:
        with self._guard.at_work():
            return self._answer(self._lane.tick(now), [])

    def flush(self) -> Answer:
        with self._guard.at_work():
            return self._answer(self._lane.flush(), [])

    def relearn(self) -> None:
        self._lane.relearn()

    def stats(self, received: int, reasons: Mapping[str, int]) -> Stats:
        return stats(received, reasons, self._lane.held, self._lane.tally)

    @property
    def sizes(self) -> dict[str, int]:
        return self._lane.sizes

    def saved(self) -> Snapshot:
        """It holds what waits in the window."""
        self._guard.ask()
        self._lobby.settle(self._lane.seats, always=True)
        guests = self._lobby.guests
        header = {"key": self._key.tolist(), "whole": self._publisher.whole.tolist()}
        return Snapshot(header, {**self._lane.saved(), "rows": guests.rows}, guests.kept)

    def restore(self, snapshot: Snapshot) -> None:
        self._start(np.array(snapshot.header["key"], np.uint64))
        self._lane.restore(snapshot.arrays)
        self._lobby.guests = Guests(snapshot.kept, snapshot.arrays["rows"])
        self._encoder.remember(snapshot.kept.schema)
        self._publisher.whole[:] = snapshot.header["whole"]

    def _answer(self, left: Leaving, rejected: list[Rejection]) -> Answer:
        """Fetch the tuples that leave, as they are published; that none do is often the answer, and kept."""
        if len(left.seat):
            answer = self._departed(left, rejected)
            self._lobby.settle(self._lane.seats)
            return answer
        kind = self._lobby.guests.kept.schema, self._publisher.whole.tolist()
        if self._nothing is None or self._nothing[0] != kind:
            self._nothing = kind, self._departed(left, [])
        return self._nothing[1]._replace(rejected=rejected)

    def _departed(self, left: Leaving, rejected: list[Rejection]) -> Answer:
        left = in_order(left) if isinstance(self._lane, Team) else left
        guests = self._lobby.fetch(left.seat)
        published = self._publisher.publish(guests.kept, left.pattern, left.row, left.low, left.high, left.size, left.had)
        return Answer(published, partial(self._traced, guests.rows, left), rejected)

    def _traced(self, rows: NDArray[np.int64], left: Leaving) -> pa.RecordBatch:
        clock = pa.float64() if self._lane.timed else pa.int64()
        number = left.number[left.row] if len(left.number) else np.zeros_like(left.row)
        columns = {
            "row": pa.array(rows),
            "how": pa.DictionaryArray.from_arrays(left.how.astype(np.int8), list(OUTCOMES)),
            "cluster": pa.array(number, mask=left.row < 0),
            "arrived": pa.array(left.arrived.copy()).cast(clock),
            "released": pa.array(left.released.copy()).cast(clock),
        }
        return pa.RecordBatch.from_pydict(columns)


def _lane(policy: Policy, key: NDArray[np.uint64]) -> Lane | Lanes | Workers:
    if policy.lanes > 1:
        return Lanes(policy, lambda: demands(policy, key))
    if not policy.repeatable:
        return Workers(policy, lambda: demands(policy, key))
    return Lane(policy, demands(policy, key))


def demands(policy: Policy, key: NDArray[np.uint64]) -> Diversity:
    """What is asked of sensitive values, which are known by their fingerprints."""
    given = [(demand.name, value) for demand in policy.diverse for value in demand.distribution or ()]
    words = one_word(pa.array([value for _, value in given], pa.large_string()), key)
    return new_diversity(policy, dict(zip(given, words.tolist(), strict=True)))
