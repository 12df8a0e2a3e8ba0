"""The engine of the window algorithms: tuples wait until they are due, and leave in groups."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.anonymizer.bags import Bags
from shoal.anonymizer.core import WindowCore, demands
from shoal.anonymizer.engine import NO_BAGS, Answer, Engine, joined
from shoal.anonymizer.lane import Lane
from shoal.anonymizer.lanes import LaneSet, SplitLanes
from shoal.anonymizer.records import MetadataFilter, to_batch
from shoal.anonymizer.released import Released
from shoal.anonymizer.singled_out import KeptFields
from shoal.anonymizer.snapshot import Snapshot
from shoal.anonymizer.stats import Stats, stats
from shoal.anonymizer.whole_rows import WholeRows
from shoal.anonymizer.workers import Workers
from shoal.blocks import OUTCOMES, Batch
from shoal.columns import Budget, Encoder, Plain, Rejection, TimeBounds
from shoal.errors import AlgorithmError, ShoalError, WorkerError
from shoal.policy import Policy

_PIECE = 16_384  # arrivals per piece, if there are several lanes
_FAILED = "while tuples were taken in; nothing of this call has left: continue from the last snapshot, or run it again"
_STOPPED = "an earlier call failed; restore the last snapshot, and continue from there"


class Windowed(Engine):
    """Holds one window, or one per lane; the algorithm decides which tuples leave together."""

    def __init__(self, policy: Policy, bounds: TimeBounds | None = None) -> None:
        self._policy, self._bounds = policy, bounds
        self._start(np.frombuffer(secrets.token_bytes(16), np.uint64).copy())

    def _start(self, key: NDArray[np.uint64]) -> None:
        self._key = key
        self._failed = False  # an earlier call failed half-way: only `restore` may follow
        self._shift = 0.0  # seconds that the window's clock is ahead of event times, since the clock was set back
        self._budget = Budget(self._policy.releases) if self._policy.releases else None
        self._encoder = Encoder(self._policy, key, typed=True, bounds=self._bounds, budget=self._budget)
        self._lane = _lane(self._policy, key)
        self._whole = WholeRows(self._policy, key)
        self._core = WindowCore(self._policy, self._lane, self._policy.passed, Bags(self._policy, key), self._whole)
        self._kept = KeptFields(self._policy, key)
        self.fields = self._policy.fields
        self._others = _others(self._policy)
        self._metadata = MetadataFilter()
        self.generalized = frozenset(self._policy.generalized)
        self._empty_answer: tuple[object, Answer] | None = None

    @property
    def no_trace(self) -> pa.RecordBatch:
        return self._answer(self._lane.leave(), []).trace()

    def arrive(self, batch: pa.RecordBatch, rows: NDArray[np.int64]) -> Answer:
        if batch.num_rows <= _PIECE or isinstance(self._lane, Lane):
            arrivals, rejected = self._encoded(batch, rows)
            with self._whole_step():
                return self._answer(self._lane.take_in(arrivals), rejected)
        with self._whole_step():
            return self._pipelined(self._lane, batch, rows)

    def arrive_alone(self, record: Mapping[str, Any], row: int) -> Answer | None:
        """A record with plain quasi-identifiers needs a batch for its other fields only."""
        plain = self._encoder.plain(record)
        if plain is None:
            return None
        others = self._metadata.strip(to_batch(record, self._others))
        arrivals, rejected = self._encoded(others, np.array([row]), plain)
        with self._whole_step():
            return self._answer(self._lane.take_in(arrivals), rejected)

    def _pipelined(self, lanes: LaneSet, batch: pa.RecordBatch, rows: NDArray[np.int64]) -> Answer:
        """Take in a batch piece by piece.

        While the lanes work on one piece, the next piece is encoded, and the tuples that left before are published.
        """
        answers: list[Answer] = []
        rejected: list[Rejection] = []
        with ThreadPoolExecutor(1, "shoal-lanes") as thread:
            running: Future[Released] | None = None
            for start in range(0, batch.num_rows, _PIECE):
                arrivals, refused = self._encoded(batch.slice(start, _PIECE), rows[start : start + _PIECE])
                rejected += refused
                before, running = running and running.result(), thread.submit(lanes.take_in, arrivals)
                if before:
                    answers.append(self._published(before, []))
            assert running is not None
            answers.append(self._published(running.result(), []))
        self._core.compact()
        published, traces, _ = zip(*answers, strict=True)
        return Answer(joined(published), lambda: joined([trace() for trace in traces]), rejected)

    def _encoded(
        self, batch: pa.RecordBatch, rows: NDArray[np.int64], plain: Plain | None = None
    ) -> tuple[Batch, list[Rejection]]:
        encoded = self._encoder.encode(batch, rows, plain)
        self._core.publisher.whole &= encoded.whole
        self._kept.see(encoded.kept, encoded.person)
        arriving = self._core.arrivals(encoded._replace(kept=self._whole.with_persons(encoded.kept, encoded.person)))
        if self._shift:  # on the window's clock alone: the record's own time stays
            arriving = arriving._replace(time=arriving.time + self._shift)
        return arriving, encoded.rejected

    def tick(self, now: float) -> Answer:
        with self._whole_step():
            return self._answer(self._lane.tick(now + self._shift), [])

    def set_clock(self, now: float) -> None:
        """The window's own clock never runs backwards. It stays, and event times are shifted to it from now on."""
        if self._budget is not None:
            self._budget.set_clock(now)
        if self._lane.timed and math.isfinite(ahead := self._lane.now - self._shift - now) and ahead > 0:
            self._shift += ahead

    def flush(self) -> Answer:
        with self._whole_step():
            return self._answer(self._lane.flush(), [])

    def relearn(self) -> None:
        self._lane.relearn()

    def stats(self, received: int, reasons: Mapping[str, int]) -> Stats:
        found = stats(received, reasons, self._lane.held, self._lane.tally, len(self._policy.quasi))
        over = self._budget.exceeded if self._budget is not None else 0
        return replace(found, kept=self._kept.found, below_k=self._whole.found, over_budget=over)

    @property
    def sizes(self) -> dict[str, int]:
        bags = {"bagged": sum(self._core.bags.held.values())} if self._core.bags else {}
        return {**self._lane.sizes, **bags, **({"budget": len(self._budget)} if self._budget is not None else {})}

    def bags(self) -> pa.RecordBatch:
        return self._core.bags.take() if self._core.bags else NO_BAGS

    def saved(self) -> Snapshot:
        """The whole state, with the records that wait in the window."""
        self._check()
        header = {"key": self._key.tolist(), "whole": self._core.publisher.whole.tolist(), "shift": self._shift}
        saved = self._core.saved({**header, "counted": list(self._whole.names)})
        budget = self._budget.saved() if self._budget is not None else {}
        return saved._replace(arrays={**saved.arrays, **self._kept.saved(), **self._whole.saved(), **budget})

    def restore(self, snapshot: Snapshot) -> None:
        self._start(np.array(snapshot.header["key"], np.uint64))
        self._core.restore(snapshot._replace(kept=self._whole.fitted(snapshot.kept)))
        self._kept.restore(snapshot.arrays)
        self._whole.restore(snapshot.arrays, snapshot.header["counted"])
        if self._budget is not None:
            self._budget.restore(snapshot.arrays)
        self._encoder.remember(snapshot.kept.schema)
        self._core.publisher.whole[:] = snapshot.header["whole"]
        self._shift = snapshot.header["shift"]

    @contextmanager
    def _whole_step(self) -> Iterator[None]:
        """Guard work that must not stop half-way. A `ShoalError` is raised before the state changes, so it passes through."""
        self._check()
        self._failed = True
        try:
            yield
        except AlgorithmError as error:
            raise WorkerError(f"{error}; correct it, or use another algorithm; this happened {_FAILED}") from error
        except ShoalError:
            self._failed = False
            raise
        except Exception as error:
            raise WorkerError(f"{type(error).__name__} {_FAILED}") from error
        self._failed = False

    def _check(self) -> None:
        if self._failed:
            raise WorkerError(_STOPPED)

    def _answer(self, left: Released, rejected: list[Rejection]) -> Answer:
        """The answer for the tuples that left. Often none left, so the empty answer is cached."""
        if not left.is_empty:
            answer = self._published(left, rejected)
            self._core.compact()
            return answer
        kind = self._core.payloads.content.kept.schema, self._core.publisher.whole.tolist()
        if self._empty_answer is None or self._empty_answer[0] != kind:
            self._empty_answer = kind, self._published(left, [])
        return self._empty_answer[1]._replace(rejected=rejected)

    def _published(self, left: Released, rejected: list[Rejection]) -> Answer:
        left = left.by_arrival() if isinstance(self._lane, LaneSet) else left
        published, rows = self._core.publish(left)
        return Answer(published, partial(self._trace, rows, left), rejected)

    def _trace(self, rows: NDArray[np.int64], left: Released) -> pa.RecordBatch:
        clock = pa.float64() if self._lane.timed else pa.int64()
        tuples, number = left.tuples, left.groups.number
        columns = {
            "row": pa.array(rows),
            "how": pa.DictionaryArray.from_arrays(tuples.how.astype(np.int8), list(OUTCOMES)),
            "cluster": pa.array(number[tuples.group] if len(number) else np.zeros_like(tuples.group), mask=tuples.group < 0),
            "arrived": pa.array(tuples.arrived - self._shift).cast(clock),
            "released": pa.array(tuples.released - self._shift).cast(clock),
        }
        return pa.RecordBatch.from_pydict(columns)


def _others(policy: Policy) -> list[str]:
    """The fields that are read for another purpose than as a quasi-identifier."""
    time = policy.time.field if policy.time else None
    used = {policy.person, time, *policy.passed, *(requirement.name for requirement in policy.requirements)}
    return [name for name in policy.fields if name in used] or list(policy.fields[:1])  # a batch without columns has no rows


def _lane(policy: Policy, key: NDArray[np.uint64]) -> Lane | LaneSet:
    if policy.lanes > 1:
        return SplitLanes(policy, lambda: demands(policy, key))
    if not policy.repeatable:
        return Workers(policy, lambda: demands(policy, key))
    return Lane(policy, demands(policy, key))
