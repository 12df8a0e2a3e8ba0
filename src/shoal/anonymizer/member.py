"""A member: one lane of a stream whose other lanes are elsewhere, in other processes or on other machines.

Nothing is shared, so all of them are told the same: how many arrived in each lane, and what the newest time is. Arrivals that
are told of together have no order among lanes. Where a window counts arrivals, each lane spreads its own evenly among the
others', all lanes alike, so that no two tuples have one number.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.algorithms import algorithm
from shoal.anonymizer.lane import Handed, Lane, part_of
from shoal.anonymizer.lanes import half, joined, narrow
from shoal.anonymizer.lobby import Guests, Lobby
from shoal.anonymizer.snapshot import Snapshot, packed, unpacked
from shoal.anonymizer.travellers import Travellers, together
from shoal.anonymizer.windowed import demands
from shoal.columns.encode import ELSEWHERE, Batch, no_arrivals
from shoal.columns.publish import Publisher
from shoal.policy import Policy

_STEP = 65_536  # arrivals taken in at a time
_NOBODY = np.uint64(0xFFFFFFFFFFFFFFFF)  # the second word of a person who is not known: each is its own
_MILLISECONDS, _SAME, _BEFORE = 1000, 19, 2**42  # of an order of arrival made from times: so many bits for those of one


class Left(NamedTuple):
    """What happened to tuples: they left, or go to the common lane."""

    published: list[pa.RecordBatch]
    handed: Travellers


class Member:
    """A lane by its number, or the common lane, which has the number after the last."""

    def __init__(self, policy: Policy, key: NDArray[np.uint64], whole: NDArray[np.bool_], number: int) -> None:
        """`key` is that of the fingerprints, the same for all lanes; `whole` says which quasi-identifiers are whole numbers."""
        self._policy, self._number = policy, number
        self._is_common = number == policy.lanes
        self._kind = policy.window.kind
        self._half = math.inf if self._is_common or policy.lanes == 1 else half(policy)
        self._lane = Lane(policy if self._is_common else narrow(policy), demands(policy, key))
        self._lane.beside_others(self._half)
        self._publisher = Publisher(policy)
        self._publisher.whole[:] = whole
        self._lobby = Lobby(policy.passed)
        self._unknown = 0  # how many persons who are not known were numbered
        self._none = no_arrivals(policy)

    @property
    def held(self) -> int:
        return self._lane.held

    @property
    def next(self) -> float | None:
        """When something may have to be done even if nothing arrives; None if nothing waits, or not for a time."""
        if self._kind != "time" or not self.held:
            return None
        clock, since = self._lane.state.window.clock, self._lane.state.window.since[: self.held]
        waits = (self._half, self._policy.window.length, algorithm(self._policy).deadline)
        moments = np.concatenate([since + wait for wait in waits if wait < math.inf])
        ahead = moments[moments > clock.now]
        return float(ahead.min()) if len(ahead) else float(clock.now) + self._policy.window.length / 4

    def arrive(self, own: Travellers, counts: NDArray[np.int64], newest: float) -> Left:
        """Take in arrivals of this lane, in order, of which so many came to each lane."""
        own = own._replace(tuples=own.tuples._replace(person=self._named(own.tuples.person)))
        steps = []
        if self._kind == "count":
            place, total = places(counts, self._number), int(counts.sum())
            for start in range(0, total, _STEP):
                size = min(_STEP, total - start)
                here = (start <= place) & (place < start + size)
                steps.append(self._step(_spread(self._seated(own.part(here)), place[here] - start, size)))
        else:
            for start in range(0, len(own.rows), _STEP):
                steps.append(self._step(self._seated(own.part(slice(start, start + _STEP)))))
        return _all([*steps, self.tick(newest)])

    def join(self, handed: Travellers, arrived: int, newest: float) -> Left:
        """Into the common lane: take in who was handed over while so many arrived."""
        handed = handed.part(np.lexsort((handed.rows, handed.tuples.time, handed.went)))
        steps = []
        if self._kind == "count":
            before = self._lane.arrivals
            for start in range(0, max(arrived, 1), _STEP):
                size, first = min(_STEP, arrived - start), before + start
                some = handed.part((first < handed.went) & (handed.went <= first + size)) if arrived else handed
                others = _spread(part_of(some.tuples, slice(0)), np.zeros(0, np.int64), size)
                steps.append(self._step(joined(others, Handed(self._seated(some), some.went), first)))
        elif len(handed.rows):
            tuples = self._seated(handed.part(np.lexsort((handed.rows, handed.tuples.time))))
            window, held = self._lane.state.window, self.held
            tuples = tuples._replace(arrival=numbers(tuples.time, window.since[:held], window.arrival[:held]))
            steps.append(self._step(_one_by_one(tuples, half(self._policy), newest)))
        return _all([*steps, self.tick(newest)])

    def tick(self, now: float) -> Left:
        self._lane.move_clock(now)
        return self._step(self._none)

    def flush(self) -> Left:
        """The end of the stream: everyone leaves."""
        return self._step(self._none, closing=True)

    def hand_over_all(self) -> Left:
        """The end of the stream: everyone goes to the common lane."""
        return Left([], self._gone(self._lane.hand_over_all()))

    def hand_over_none(self) -> Travellers:
        return self._gone(self._lane.hand_over())

    def snapshot(self) -> bytes:
        self._lobby.settle(self._lane.seats, always=True)
        guests = self._lobby.guests
        header = {"policy": self._policy.fingerprint, "number": self._number, "unknown": self._unknown}
        return packed(Snapshot(header, {**self._lane.saved(), "rows": guests.rows}, guests.kept))

    def restore(self, data: bytes) -> None:
        """A new member goes on from there."""
        snapshot = unpacked(data, self._policy.fingerprint)
        self._lane.restore(snapshot.arrays)
        self._lobby.guests = Guests(snapshot.kept, snapshot.arrays["rows"])
        self._unknown = snapshot.header["unknown"]

    def _seated(self, some: Travellers) -> Batch:
        """Those who are taken in at once; seats of who is not in the window by then would be given away."""
        kept = some.kept.combine_chunks().to_batches()[:1] or [pa.RecordBatch.from_pylist([], some.kept.schema)]
        return some.tuples._replace(seat=self._lobby.enter(kept[0], some.rows))

    def _named(self, person: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Persons who are not known, each with a number that no other has."""
        unknown = person[:, 1] == _NOBODY
        if not unknown.any():
            return person
        person, found = person.copy(), int(unknown.sum())
        person[unknown, 0] = (self._unknown + np.arange(found)) * (self._policy.lanes + 1) + self._number
        self._unknown += found
        return person

    def _step(self, batch: Batch, closing: bool = False) -> Left:
        self._lane.advance(batch, closing)
        left = self._lane.leave()
        published = []
        if len(left.seat):
            kept = self._lobby.fetch(left.seat).kept
            groups = left.pattern, left.row, left.low, left.high, left.size, left.had
            published.append(self._publisher.publish(kept, *groups))
        handed = self._gone(self._lane.hand_over())
        self._lobby.settle(self._lane.seats)
        return Left(published, handed)

    def _gone(self, handed: Handed) -> Travellers:
        tuples = Batch._make(column.copy() for column in handed.tuples)
        kept, rows = self._lobby.fetch(tuples.seat)
        return Travellers(tuples, kept.slice(0, len(rows)), rows, handed.arrivals.copy())


def places(counts: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    """Where the arrivals of a lane stand among those of all lanes, each spread evenly; of equals, the lower lane is first.

    >>> [places(np.array([4, 2, 1]), lane).tolist() for lane in range(3)]
    [[0, 2, 4, 6], [1, 5], [3]]
    """
    own = int(counts[number])
    middle = 2 * np.arange(own) + 1  # of each one's share of the whole, in 2·own parts
    place = np.arange(own)
    for lane, count in enumerate(counts.tolist()):
        if lane != number:
            reached = middle * count
            place = place + ((reached // own + 1) // 2 if lane < number else -(-reached // own) // 2)
    return place


def _spread(own: Batch, place: NDArray[np.int64], size: int) -> Batch:
    """A batch of so many arrivals, with one's own at their places and the others elsewhere."""
    values = np.zeros((len(own.values), size))
    values[:, place] = own.values
    columns = []
    for name, column in zip(Batch._fields[1:], own[1:], strict=True):
        whole = np.zeros((size, *column.shape[1:]), column.dtype)
        if name in ("seat", "arrival"):
            whole[:] = ELSEWHERE
        whole[place] = column
        columns.append(whole)
    return Batch(values, *columns)


def numbers(time: NDArray[np.float64], since: NDArray[np.float64], held: NDArray[np.int64]) -> NDArray[np.int64]:
    """An order of arrival by time, for those who come, in order: each behind all held ones of its millisecond or before.

    `held` are the numbers of those who are there since the times `since`. No two have one number: where a millisecond has no
    more numbers, those of the next ones are taken, and where these are taken too, numbers behind all.

    >>> (numbers(np.array([0.0, 0.0, 0.001]), np.array([0.0]), np.array([_BEFORE << _SAME])) - (_BEFORE << _SAME)).tolist()
    [1, 2, 524288]
    """
    own, there = _milliseconds(time), _milliseconds(since)
    order = np.argsort(there)
    newest = np.append(-1, np.maximum.accumulate(held[order]))
    first = np.maximum(own << _SAME, newest[np.searchsorted(there[order], own, "right")] + 1)
    found = _rising(first)
    return _rising(np.maximum(first, newest[-1] + 1)) if np.isin(found, held).any() else found


def _milliseconds(time: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.clip(time * _MILLISECONDS, -_BEFORE, _BEFORE - 1).astype(np.int64) + _BEFORE


def _rising(first: NDArray[np.int64]) -> NDArray[np.int64]:
    """The lowest numbers from `first` on of which each is above the one before."""
    step = np.arange(len(first))
    return np.maximum.accumulate(first - step) + step


def _one_by_one(tuples: Batch, wait: float, newest: float) -> Batch:
    """Who was handed over by time, each after the moment at which it had waited half of its time, or the newest of all."""
    size = len(tuples.time)
    moments = _spread(part_of(tuples, slice(0)), np.zeros(0, np.int64), size)
    moments = moments._replace(time=np.minimum(tuples.time + wait, newest) if wait < math.inf else np.full(size, -np.inf))
    pairs = zip(moments, tuples, strict=True)
    columns: list[Any] = [np.concatenate(pair, axis=-1 if i == 0 else 0) for i, pair in enumerate(pairs)]
    both = Batch(*columns)
    return part_of(both, np.arange(2 * size).reshape(2, size).T.ravel())


def _all(steps: list[Left]) -> Left:
    return Left([batch for step in steps for batch in step.published], together([step.handed for step in steps]))
