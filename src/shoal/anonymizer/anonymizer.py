"""The anonymizer: records in, anonymized records out, within the window's deadline."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.anonymizer.engine import NO_BAGS, Answer, Engine, UserCounts, joined
from shoal.anonymizer.records import MetadataFilter, to_batch, to_records
from shoal.anonymizer.snapshot import Snapshot
from shoal.anonymizer.stats import DriftWatch, FilterStats, Stats
from shoal.columns import Rejection, TimeBounds
from shoal.errors import InputError, ShoalError
from shoal.policy import Policy

_SLICE = 65_536  # records taken in and published at a time


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

    def __init__(self, policy: Policy, secret: bytes | None = None, bounds: TimeBounds | None = None) -> None:
        """`secret` is for the pseudonyms of z-anonymity; by default it is read from the policy's file or the environment.
        `bounds` rejects records by their event times; without it all times are accepted.
        """
        self.policy = policy
        self.rejected: list[Rejection] = []
        """The records of the last call that were not accepted."""
        self.bags: pa.RecordBatch = NO_BAGS
        """Of a policy with `as: bag`: the bags that became full in the last call. A row has an attribute, the number of its bag
        and a value. Values that wait for a full bag are kept, also in snapshots; `sizes` counts them."""
        self._engine = _engine(policy, secret, bounds)
        self._received = 0
        self._reasons: Counter[str] = Counter()
        self._traces: list[pa.RecordBatch | Callable[[], pa.RecordBatch]] = []
        self._watch = DriftWatch(self._engine.fields)
        self._metadata = MetadataFilter()

    def push(self, record: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Take in one record; returns the tuples that leave because of it. For many records, `push_batch` is far faster."""
        return self.to_records(self.push_record(record))

    def push_record(self, record: Mapping[str, Any]) -> pa.RecordBatch:
        """The same as `push`, but what leaves is a batch, as from `push_batch`."""
        self._begin()
        answer = self._engine.arrive_alone(record, self._received)
        if answer is None:
            return self.push_batch(to_batch(record, self._engine.fields), names=list(record))
        self._watch.see_one(record)
        self._received += 1
        return self._published(answer)

    def push_batch(
        self, batch: pa.RecordBatch, rows: NDArray[np.int64] | None = None, names: Collection[str] | None = None
    ) -> pa.RecordBatch:
        """Take in a batch; returns the tuples that leave because of it, in order.

        `rows` are the row numbers of the records, if some rows of the source never became records; `names` are the fields of
        the records, if the batch holds only some of them.
        """
        self._watch.see(batch, names)
        batch = self._metadata.strip(batch)
        if rows is None:
            rows = np.arange(self._received, self._received + batch.num_rows)
        self._begin()
        answers: list[pa.RecordBatch] = []
        for i in range(0, max(batch.num_rows, 1), _SLICE):
            self._make_traces()
            some = rows[i : i + _SLICE]
            self._received = int(some[-1]) + 1 if len(some) else self._received
            try:
                answers.append(self._published(self._engine.arrive(batch.slice(i, _SLICE), some)))
            except ShoalError as error:
                if answers:
                    error.released = joined(answers)
                raise
        return joined(answers)

    @property
    def received(self) -> int:
        """How many rows the stream has had so far; the next row has this number."""
        return self._received

    def begin_at(self, row: int) -> None:
        """The next record has this row number: those before it were taken in elsewhere, or are lost."""
        self._received = row

    def refuse(self, rejections: Iterable[Rejection]) -> None:
        """Count records that were rejected, by the anonymizer or before they reached it."""
        for rejection in rejections:
            self.rejected.append(rejection)
            self._reasons[rejection.kind] += 1
            self._received = max(self._received, rejection.row + 1)

    def tick(self, now: float | datetime) -> pa.RecordBatch:
        """Move the clock of a time window while no records arrive; returns the tuples that fall due."""
        moment = _seconds(now, "tick")
        self._begin()
        return self._published(self._engine.tick(moment))

    def set_clock(self, now: float | datetime) -> None:
        """Set the clock back, after records with wrong times moved it ahead.

        A tuple that waits has waited no longer than before, and leaves as much later. Under z-anonymity exposures from after
        `now` are forgotten. A clock that is not ahead stays as it is.
        """
        self._engine.set_clock(_seconds(now, "set_clock"))

    def flush(self) -> pa.RecordBatch:
        """End the stream: all tuples that still wait leave."""
        self._begin()
        return self._published(self._engine.flush())

    def relearn(self) -> None:
        """Learn again, from the next records, which lane a tuple takes; one lane has nothing to learn."""
        self._engine.relearn()

    def to_records(self, batch: pa.RecordBatch) -> list[dict[str, Any]]:
        """A published batch as dictionaries, in the form of JSON lines."""
        return to_records(batch, self._engine.generalized)

    @property
    def trace(self) -> pa.RecordBatch:
        """How each tuple of the last answer left, in the same order. Private: not for the readers of the output."""
        return joined(self._make_traces() or [self._engine.no_trace])

    @property
    def stats(self) -> Stats | FilterStats:
        return replace(self._engine.stats(self._received, self._reasons), drift=self._watch.drift)

    @property
    def sizes(self) -> dict[str, int]:
        """How much is held: tuples, persons, partitions and groups for reuse; under z-anonymity exposures and items."""
        return self._engine.sizes

    def user_counts(self) -> UserCounts | None:
        """Under z-anonymity: how many users the last window had, and how many of them exposed each item."""
        return self._engine.user_counts()

    def snapshot(self) -> bytes:
        """The whole state. It contains the waiting records, or the users that were counted: protect it like the input."""
        header, arrays, kept = self._engine.saved()
        own = {"policy": self.policy.fingerprint, "received": self._received, "reasons": dict(self._reasons)}
        return Snapshot({**own, "drift": self._watch.saved(), **header}, arrays, kept).to_bytes()

    def restore(self, data: bytes) -> None:
        """Continue from a snapshot that was made under the same policy."""
        snapshot = Snapshot.from_bytes(data, self.policy.fingerprint)
        self._engine.restore(snapshot)
        self._begin()
        self._received = snapshot.header["received"]
        self._reasons = Counter(snapshot.header["reasons"])
        self._watch.restore(snapshot.header["drift"])

    def _make_traces(self) -> list[pa.RecordBatch]:
        """The traces of the last answers. They must be made now: the next answer overwrites their arrays."""
        made = [trace if isinstance(trace, pa.RecordBatch) else trace() for trace in self._traces]
        self._traces = [*made]
        return made

    def _begin(self) -> None:
        self._traces, self.rejected = [], []
        self.bags = NO_BAGS

    def _published(self, answer: Answer) -> pa.RecordBatch:
        self.refuse(answer.rejected)
        if self.policy.bags:
            self.bags = joined([self.bags, self._engine.bags()])
        self._traces.append(answer.trace)
        return answer.published


def _seconds(moment: float | datetime, what: str) -> float:
    if isinstance(moment, datetime):
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if not math.isfinite(moment):
        raise InputError(f"{what}: not a finite time; give seconds or a datetime")
    return float(moment)


def _engine(policy: Policy, secret: bytes | None, bounds: TimeBounds | None) -> Engine:
    """The engine that a policy needs; the other engine and its kernels are not loaded."""
    if policy.is_filter:
        from shoal.anonymizer.filter import Filter

        return Filter(policy, secret, bounds)
    from shoal.anonymizer.windowed import Windowed

    return Windowed(policy, bounds)
