"""The anonymizer: records in, anonymized records out, within the window's deadline."""

from __future__ import annotations

import math
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.algorithms import algorithm
from shoal.anonymizer.lobby import Guests, Lobby
from shoal.anonymizer.records import to_batch, to_records
from shoal.anonymizer.snapshot import Snapshot, packed, unpacked
from shoal.anonymizer.stats import Stats, stats
from shoal.blocks.release import OUTCOMES
from shoal.blocks.state import new_state, restored, saved, with_exits, with_slots
from shoal.blocks.window import TIME, advance
from shoal.columns.encode import Batch, Encoder, no_arrivals
from shoal.columns.publish import Publisher
from shoal.columns.rejection import Rejection
from shoal.errors import InputError
from shoal.policy import Policy

_SLICE = 65_536  # records encoded and published at a time
_STEP = 4096  # records taken in at a time: the window has slots for so many besides those held


class Anonymizer:
    """Anonymizes one stream by a policy.

    >>> policy = Policy.parse('''
    ... person: pid
    ... attributes: {age: {quasi: numeric, range: [0, 100], grid: 5}, disease: {sensitive: true}}
    ... privacy: {k: 2}
    ... window: {count: 4}
    ... algorithm: {name: fads}
    ... ''')
    >>> anonymizer = Anonymizer(policy)
    >>> for pid, age in enumerate([34, 61, 36, 58]):
    ...     assert anonymizer.push({"pid": pid, "age": age, "disease": "flu"}) == []
    >>> anonymizer.push({"pid": 4, "age": 21, "disease": "cold"})
    [{'age': [30, 40], 'disease': 'flu'}, {'age': [30, 40], 'disease': 'flu'}]
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.rejected: list[Rejection] = []
        """The records of the last call that were not accepted."""
        self._start(np.frombuffer(secrets.token_bytes(16), np.uint64).copy())

    def _start(self, key: NDArray[np.uint64]) -> None:
        policy = self.policy
        chosen = algorithm(policy)
        self._kernel = chosen.run
        self._state = new_state(policy, chosen.parameters, chosen.deadline, chosen.memory)
        self._key = key
        self._encoder = Encoder(policy, key)
        self._publisher = Publisher(policy)
        self._lobby = Lobby(self._encoder.passed)
        self._received = 0
        self._reasons: Counter[str] = Counter()
        self._trace: list[pa.RecordBatch] = []

    def push(self, record: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Take in one record; the tuples that leave because of it. For many records `push_batch` is far quicker."""
        self._trace, self.rejected = [], []
        leaving = self._arrive(to_batch(record, self._encoder.fields), np.array([self._received]))
        return self.to_records(self._depart(leaving)) if leaving else []

    def push_batch(self, batch: pa.RecordBatch, rows: NDArray[np.int64] | None = None) -> pa.RecordBatch:
        """Take in a batch; the tuples that leave because of it, in order.

        `rows` are the row numbers of the records, where some rows of the source never became records.
        """
        self._trace, self.rejected = [], []
        if rows is None:
            rows = np.arange(self._received, self._received + batch.num_rows)
        starts = range(0, max(batch.num_rows, 1), _SLICE)
        return _joined([self._depart(self._arrive(batch.slice(i, _SLICE), rows[i : i + _SLICE])) for i in starts])

    def refuse(self, rejections: Iterable[Rejection]) -> None:
        """Count records that were rejected, here or before they came here."""
        for rejection in rejections:
            self.rejected.append(rejection)
            self._reasons[rejection.kind] += 1
            self._received = max(self._received, rejection.row + 1)

    def tick(self, now: float | datetime) -> pa.RecordBatch:
        """Move the clock of a time window on while no records come; the tuples that fall due."""
        if isinstance(now, datetime):
            now = (now if now.tzinfo else now.replace(tzinfo=UTC)).timestamp()
        if not math.isfinite(now):
            raise InputError("tick: not a finite time; give seconds or a datetime")
        clock = self._state.window.clock
        if clock.kind == TIME:
            advance(clock, float(now))
        return self._without_arrivals()

    def flush(self) -> pa.RecordBatch:
        """The end of the stream: everything that still waits leaves."""
        return self._without_arrivals(closing=True)

    def to_records(self, batch: pa.RecordBatch) -> list[dict[str, Any]]:
        """A published batch as dictionaries, in the form of JSON lines."""
        return to_records(batch, self._publisher.generalized)

    @property
    def trace(self) -> pa.RecordBatch:
        """How each tuple of the last answer left, in the same order. Private: not for those who get the output."""
        return _joined(self._trace or [self._traced(np.zeros(0, np.int64), 0)])

    @property
    def stats(self) -> Stats:
        return stats(self._received, self._reasons, int(self._state.window.clock.held), self._state.exits.tally)

    def snapshot(self) -> bytes:
        """The whole state. It holds what waits in the window: guard it like the input."""
        seats = self._state.window.seat[: int(self._state.window.clock.held)]
        self._lobby.settle(seats, always=True)
        guests = self._lobby.guests
        header = {
            "policy": self.policy.fingerprint, "key": self._key.tolist(), "received": self._received,
            "reasons": dict(self._reasons), "whole": self._publisher.whole.tolist(),
        }  # fmt: skip
        return packed(Snapshot(header, {**saved(self._state), "rows": guests.rows}, guests.kept))

    def restore(self, data: bytes) -> None:
        """Go on from a snapshot that was made under the same policy."""
        snapshot = unpacked(data, self.policy.fingerprint)
        self._start(np.array(snapshot.header["key"], np.uint64))
        self._state = restored(self._state, snapshot.arrays)
        self._lobby.guests = Guests(snapshot.kept, snapshot.arrays["rows"])
        self._publisher.whole[:] = snapshot.header["whole"]
        self._received = snapshot.header["received"]
        self._reasons.update(snapshot.header["reasons"])

    def _without_arrivals(self, closing: bool = False) -> pa.RecordBatch:
        self._trace, self.rejected = [], []
        return self._depart(self._advance(no_arrivals(len(self.policy.quasi)), closing))

    def _arrive(self, batch: pa.RecordBatch, rows: NDArray[np.int64]) -> int:
        """Take in records; how many tuples leave."""
        self._received = int(rows[-1]) + 1 if len(rows) else self._received
        encoded = self._encoder.encode(batch, rows)
        self._publisher.whole &= encoded.whole
        self.refuse(encoded.rejected)
        seats = self._lobby.enter(encoded.kept, encoded.rows)
        return self._advance(encoded.batch._replace(seat=seats))

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

    def _depart(self, leaving: int) -> pa.RecordBatch:
        """Fetch the tuples that leave, as they are published."""
        s = self._state
        s.exits.tally.waiting = 0
        guests = self._lobby.fetch(s.exits.seat[:leaving])
        self._lobby.settle(s.window.seat[: int(s.window.clock.held)])
        self._trace.append(self._traced(guests.rows, leaving))
        groups = int(s.groups.rows[0])
        return self._publisher.publish(
            guests.kept, s.exits.pattern[:leaving], s.exits.row[:leaving],
            s.groups.shown_low[:groups], s.groups.shown_high[:groups], s.groups.size[:groups], s.groups.had[:groups],
        )  # fmt: skip

    def _traced(self, rows: NDArray[np.int64], leaving: int) -> pa.RecordBatch:
        s = self._state
        row = s.exits.row[:leaving]
        clock = pa.float64() if s.window.clock.kind == TIME else pa.int64()
        columns = {
            "row": pa.array(rows),
            "how": pa.DictionaryArray.from_arrays(s.exits.how[:leaving].astype(np.int8), list(OUTCOMES)),
            "cluster": pa.array(s.groups.number[row], mask=row < 0),
            "arrived": pa.array(s.exits.arrived[:leaving]).cast(clock),
            "released": pa.array(s.exits.released[:leaving]).cast(clock),
        }
        return pa.RecordBatch.from_pydict(columns)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
