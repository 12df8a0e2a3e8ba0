"""A remote lane: one lane of a stream whose other lanes run in other processes or on other machines.

The lanes share no memory. Each lane gets the same messages: how many tuples arrived in each lane, and what the newest time is.
A message does not say in which order the tuples of different lanes arrived. Under a count window, each lane therefore spreads
its own arrivals evenly among the arrivals of the other lanes. All lanes follow one rule, so no two tuples get the same number.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.algorithms import algorithm
from shoal.anonymizer.core import WindowCore, demands
from shoal.anonymizer.lane import HandedOver, Lane, no_tuples
from shoal.anonymizer.lanes import for_one_lane, half_wait, merged
from shoal.anonymizer.released import Released
from shoal.anonymizer.snapshot import Snapshot
from shoal.anonymizer.traced import ARRIVED, with_trace
from shoal.anonymizer.transfer import Transfer
from shoal.blocks import ELSEWHERE, Batch, among_others, blank, concat
from shoal.policy import Policy

_STEP = 65_536  # arrivals taken in at a time
_MILLISECONDS = 1000  # per second
_SAME = 19  # bits; the lowest bits of an arrival number that is made from a time count the tuples of one millisecond
_OFFSET = 2**42  # is added to a time in milliseconds, so that it is not negative


class Result(NamedTuple):
    """The outcome of a step: published records, and tuples that go to the common lane."""

    published: list[pa.RecordBatch]
    handed_over: Transfer


class RemoteLane:
    """The lane with this number; the common lane has the number after the last lane."""

    def __init__(
        self, policy: Policy, key: NDArray[np.uint64], whole: NDArray[np.bool_], number: int, traced: bool = False
    ) -> None:
        """`key` is for the fingerprints, the same in all lanes; `whole` says which quasi-identifiers are whole numbers.

        If it is traced, what is published has the trace as its last column.
        """
        self._policy, self._number, self._traced = policy, number, traced
        is_common = number == policy.lanes
        self._kind = policy.window.kind
        self._half = math.inf if is_common or policy.lanes == 1 else half_wait(policy)
        self._lane = Lane(policy if is_common else for_one_lane(policy), demands(policy, key))
        self._lane.count_other_lanes(self._half)
        self._core = WindowCore(policy, self._lane, policy.passed)
        self._core.publisher.whole[:] = whole
        self._unknown = 0  # how many unknown persons were numbered
        self._left = 0  # how many tuples have left, if it is traced
        self._batch = -math.inf  # the newest time of the batch that is taken in
        self._none = no_tuples(policy)

    @property
    def held(self) -> int:
        return self._lane.held

    @property
    def next(self) -> float | None:
        """The time at which `tick` is due if nothing arrives; None if no tuple waits, or the window does not measure time."""
        if self._kind != "time" or not self.held:
            return None
        clock, since = self._lane.state.window.clock, self._lane.state.window.since[: self.held]
        waits = (self._half, self._policy.window.length, algorithm(self._policy).deadline)
        moments = np.concatenate([since + wait for wait in waits if wait < math.inf])
        ahead = moments[moments > clock.now]
        return float(ahead.min()) if len(ahead) else float(clock.now) + self._policy.window.length / 4

    def arrive(self, own: Transfer, counts: NDArray[np.int64], newest: float) -> Result:
        """Take in arrivals of this lane, in order; `counts` says how many arrived in each lane."""
        own = own._replace(tuples=own.tuples._replace(person=self._numbered(own)))
        self._batch = newest
        if self._traced and self._kind == "time":
            now = np.full(len(own.rows), max(newest, self._lane.now))
            own = own._replace(kept=own.kept.append_column(ARRIVED, pa.array(now)))
        steps = []
        if self._kind == "count":
            place, total = places(counts, self._number), int(counts.sum())
            for start in range(0, total, _STEP):
                size = min(_STEP, total - start)
                here = (start <= place) & (place < start + size)
                steps.append(self._step(among_others(self._entering(own.select(here)), place[here] - start, size)))
        else:
            for start in range(0, len(own.rows), _STEP):
                steps.append(self._step(self._entering(own.select(slice(start, start + _STEP)))))
        return _all([*steps, self.tick(newest)])

    def join(self, handed: Transfer, arrived: int, newest: float) -> Result:
        """In the common lane: take in tuples that were handed over while `arrived` tuples arrived."""
        self._batch = newest
        handed = handed.select(np.lexsort((handed.rows, handed.tuples.time, handed.handed_at)))
        steps = []
        if self._kind == "count":
            before = self._lane.arrivals
            for start in range(0, max(arrived, 1), _STEP):
                size, first = min(_STEP, arrived - start), before + start
                at = handed.handed_at
                some = handed.select((first < at) & (at <= first + size)) if arrived else handed
                steps.append(self._step(merged(self._elsewhere(size), HandedOver(self._entering(some), some.handed_at), first)))
        elif len(handed.rows):
            tuples = self._entering(handed.select(np.lexsort((handed.rows, handed.tuples.time))))
            window, held = self._lane.state.window, self.held
            tuples = tuples._replace(arrival=numbers(tuples.time, window.since[:held], window.arrival[:held]))
            steps.append(self._step(self._one_by_one(tuples, newest)))
        return _all([*steps, self.tick(newest)])

    def tick(self, now: float) -> Result:
        self._lane.move_clock(now)
        return self._step(self._none)

    def flush(self) -> Result:
        """The end of the stream: every tuple leaves."""
        return self._step(self._none, closing=True)

    def hand_over_all(self) -> Result:
        """The end of the stream: every tuple goes to the common lane."""
        return Result([], self._fetched(self._lane.hand_over_all()))

    def hand_over_none(self) -> Transfer:
        return self._fetched(self._lane.hand_over())

    def snapshot(self) -> bytes:
        header = {"policy": self._policy.fingerprint, "number": self._number, "unknown": self._unknown, "left": self._left}
        return self._core.saved(header).to_bytes()

    def restore(self, data: bytes) -> None:
        """Continue from a snapshot; only a new lane can do this."""
        snapshot = Snapshot.from_bytes(data, self._policy.fingerprint)
        self._core.restore(snapshot)
        self._unknown, self._left = snapshot.header["unknown"], snapshot.header["left"]

    def _entering(self, some: Transfer) -> Batch:
        """The tuples of one step, with their payloads in the buffer.

        The step must take in all of them: at its end, the payloads of tuples that are not in the window are freed.
        """
        kept = some.kept.combine_chunks().to_batches()[:1] or [pa.RecordBatch.from_pylist([], some.kept.schema)]
        return some.tuples._replace(payload=self._core.payloads.add(kept[0], some.rows))

    def _elsewhere(self, size: int) -> Batch:
        """Arrivals in other lanes."""
        return blank(len(self._policy.quasi), len(self._policy.requirements), size, ELSEWHERE)

    def _one_by_one(self, tuples: Batch, newest: float) -> Batch:
        """Tuples that were handed over, each after a row that moves the clock.

        The clock moves to the end of the tuple's half wait, but not beyond the newest time. Under `buffer` it does not move.
        """
        wait, size = half_wait(self._policy), len(tuples.time)
        time = np.minimum(tuples.time + wait, newest) if wait < math.inf else np.full(size, -np.inf)
        both = concat([self._elsewhere(size)._replace(time=time), tuples])
        return both.select(np.arange(2 * size).reshape(2, size).T.ravel())

    def _numbered(self, own: Transfer) -> NDArray[np.uint64]:
        """The persons; each unknown person gets a number of its own."""
        person, unknown = own.tuples.person, ~own.known
        if not unknown.any():
            return person
        person, found = person.copy(), int(unknown.sum())
        person[unknown, 0] = (self._unknown + np.arange(found)) * (self._policy.lanes + 1) + self._number
        self._unknown += found
        return person

    def _step(self, batch: Batch, closing: bool = False) -> Result:
        self._lane.advance(batch, closing)
        left = self._lane.leave()
        published = [] if left.is_empty else [self._published(left)]
        handed = self._fetched(self._lane.hand_over())
        self._core.compact()
        return Result(published, handed)

    def _published(self, left: Released) -> pa.RecordBatch:
        published, rows = self._core.publish(left)
        if self._traced:
            moments = left.tuples.arrived, left.tuples.released
            if self._kind == "time":  # all of a batch comes and leaves at once
                arrived = self._core.payloads.content.kept.column(ARRIVED).to_numpy()[left.tuples.payload]
                moments = arrived, np.full(len(rows), max(self._batch, self._lane.now))
            published = with_trace(published, left, rows, self._number, self._policy.lanes, self._left, moments)
            self._left += len(rows)
        return published

    def _fetched(self, handed: HandedOver) -> Transfer:
        tuples = Batch._make(column.copy() for column in handed.tuples)
        kept, rows = self._core.payloads.take(tuples.payload)
        return Transfer(tuples, kept.slice(0, len(rows)), rows, handed.arrivals.copy())


def places(counts: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    """The places of one lane's arrivals among the arrivals of all lanes.

    The arrivals of each lane are spread evenly. At equal places, the lower lane is first.

    >>> [places(np.array([4, 2, 1]), lane).tolist() for lane in range(3)]
    [[0, 2, 4, 6], [1, 5], [3]]
    """
    own = int(counts[number])
    middle = 2 * np.arange(own) + 1  # of each arrival's share of the whole, in units of 1 / (2·own)
    place = np.arange(own)
    for lane, count in enumerate(counts.tolist()):
        if lane != number:
            reached = middle * count
            place = place + ((reached // own + 1) // 2 if lane < number else -(-reached // own) // 2)
    return place


def numbers(time: NDArray[np.float64], since: NDArray[np.float64], held: NDArray[np.int64]) -> NDArray[np.int64]:
    """Arrival numbers made from times, for tuples in order of time.

    Each number is above the numbers of all held tuples of the same millisecond or an earlier one. `held` are the numbers of the
    held tuples, and `since` are their times. No two tuples get the same number. If a millisecond has no free number, the tuple
    gets one of a later millisecond. If such a number is in use, all new numbers are above every held number.

    >>> (numbers(np.array([0.0, 0.0, 0.001]), np.array([0.0]), np.array([_OFFSET << _SAME])) - (_OFFSET << _SAME)).tolist()
    [1, 2, 524288]
    """
    own, there = _milliseconds(time), _milliseconds(since)
    order = np.argsort(there)
    newest = np.append(-1, np.maximum.accumulate(held[order]))
    first = np.maximum(own << _SAME, newest[np.searchsorted(there[order], own, "right")] + 1)
    found = _rising(first)
    return _rising(np.maximum(first, newest[-1] + 1)) if np.isin(found, held).any() else found


def _milliseconds(time: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.clip(time * _MILLISECONDS, -_OFFSET, _OFFSET - 1).astype(np.int64) + _OFFSET


def _rising(first: NDArray[np.int64]) -> NDArray[np.int64]:
    """The lowest strictly increasing numbers that are not below `first`."""
    step = np.arange(len(first))
    return np.maximum.accumulate(first - step) + step


def _all(steps: list[Result]) -> Result:
    published = [batch for step in steps for batch in step.published]
    return Result(published, Transfer.concat([step.handed_over for step in steps]))
