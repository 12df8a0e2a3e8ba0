"""The core of a windowed engine: one lane or several, and the payloads of the waiting tuples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.anonymizer.bags import Bags
from shoal.anonymizer.lane import Lane
from shoal.anonymizer.lanes import LaneSet
from shoal.anonymizer.released import Released, ReleasedTuples
from shoal.anonymizer.snapshot import Snapshot
from shoal.anonymizer.whole_rows import WholeRows
from shoal.blocks import ARRIVAL, Batch, Diversity, new_diversity
from shoal.columns import PERSON, Encoded, Publisher, StablePublisher, one_word
from shoal.errors import InputError
from shoal.policy import Policy

_SLACK = 4096
_LABELS = pa.dictionary(pa.int32(), pa.string())  # the type of the labels of blocks


class Payload(NamedTuple):
    """The columns that are passed through unchanged, for some tuples, and the row numbers of these tuples."""

    kept: pa.Table
    rows: NDArray[np.int64]


class PayloadBuffer:
    """The payloads of the waiting tuples, in order of arrival. The window stores the buffer row of each tuple."""

    def __init__(self, passed: Sequence[str], kinds: Mapping[str, pa.DataType]) -> None:
        empty = {name: pa.nulls(0, kinds.get(name, pa.null())) for name in passed}
        self.content = Payload(pa.table(empty), np.zeros(0, np.int64))

    def add(self, kept: pa.RecordBatch, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Append payloads; returns their rows in the buffer."""
        first = len(self.content.rows)
        table = pa.Table.from_batches([kept])
        if first or any(not pa.types.is_null(kind) for kind in self.content.kept.schema.types):
            table = _appended(self.content.kept, table)
        self.content = Payload(table, np.concatenate([self.content.rows, rows]))
        return np.arange(first, first + len(rows))

    def take(self, used: NDArray[np.int64], blank: NDArray[np.bool_] | None = None) -> Payload:
        """The payloads in these rows of the buffer; all columns are null where `blank` says so."""
        kept = self.content.kept
        return Payload(kept.take(pa.array(used, mask=blank)) if kept.num_columns else kept, self.content.rows[used])

    def compact(self, used: Sequence[NDArray[np.int64]], always: bool = False) -> None:
        """If much of the buffer is unused, keep only the rows in `used`, and write their new numbers in place."""
        ends = np.cumsum([len(some) for some in used])
        if always or len(self.content.rows) > 2 * ends[-1] + _SLACK:
            self.content = self.take(np.concatenate(used))
            for some, end in zip(used, ends, strict=True):
                some[:] = np.arange(end - len(some), end)


class WindowCore:
    """The part that all windowed engines share."""

    def __init__(
        self, policy: Policy, lane: Lane | LaneSet, passed: Sequence[str], bags: Bags | None = None,
        whole: WholeRows | None = None,
    ) -> None:  # fmt: skip
        self.lane = lane
        self._whole = whole if whole and whole.names else None
        self.bags = bags if policy.bags else None
        self._stable = StablePublisher(policy)
        self._suppressed = policy.suppressed
        self.publisher = Publisher(policy)
        self.payloads = PayloadBuffer(passed, dict.fromkeys(policy.blocks, _LABELS))

    def arrivals(self, encoded: Encoded) -> Batch:
        """Encoded records as a batch for the lane. Their payloads are added to the buffer."""
        return arrivals(encoded, self.payloads.add(encoded.kept, encoded.rows))

    def publish(self, left: Released) -> tuple[pa.RecordBatch, NDArray[np.int64]]:
        """The published form of the tuples that left, and the row numbers of all of them. Call `compact` afterwards.

        The policy says whether suppressed tuples are published with nulls in their payload, as they are, or not at all.
        """
        tuples, groups = left.tuples, left.groups
        rows, suppressed = self.payloads.content.rows[tuples.payload], tuples.group < 0
        blank = None
        if self._suppressed == "blank" and suppressed.any():
            blank = suppressed
        elif self._suppressed == "drop" and suppressed.any():
            tuples = ReleasedTuples._make(column[~suppressed] for column in tuples)
        payload = self.payloads.take(tuples.payload, blank)
        published = self.publisher.publish(
            payload.kept, tuples.pattern, tuples.group, groups.low, groups.high, groups.size, groups.had, groups.doubt,
            (groups.early, groups.late), groups.withheld, groups.nodes,
        )  # fmt: skip
        if (self.bags or self._whole) and len(tuples.payload):
            persons = self.payloads.content.kept.column(PERSON).to_numpy()[tuples.payload]
            if self.bags:
                self.bags.add(payload.kept, persons)
            if self._whole:
                self._whole.see(tuples, groups, payload.kept, persons)
        return self._stable.published(published), rows

    def compact(self) -> None:
        """Free the payloads of tuples that left. A payload is lost if its tuple is not in the window yet."""
        self.payloads.compact(self.lane.payload_rows)

    def saved(self, header: Mapping[str, Any]) -> Snapshot:
        self.payloads.compact(self.lane.payload_rows, always=True)
        payload = self.payloads.content
        bags = self.bags.saved() if self.bags else {}
        return Snapshot(header, {**self.lane.saved(), **bags, "rows": payload.rows}, payload.kept)

    def restore(self, snapshot: Snapshot) -> None:
        self.lane.restore(snapshot.arrays)
        self.payloads.content = Payload(snapshot.kept, snapshot.arrays["rows"])
        if self.bags:
            self.bags.restore(snapshot.arrays)


def arrivals(encoded: Encoded, payload: NDArray[np.int64]) -> Batch:
    return Batch(
        encoded.values, encoded.pattern, encoded.person, encoded.time, encoded.time, payload, encoded.sensitive,
        arrival=np.zeros(len(payload), np.int64), kind=np.full(len(payload), ARRIVAL),
    )  # fmt: skip


def demands(policy: Policy, key: NDArray[np.uint64]) -> Diversity:
    """The policy's requirements for sensitive values, with a fingerprint in place of each value."""
    given = [(demand.name, value) for demand in policy.requirements for value in demand.distribution or ()]
    words = one_word(pa.array([value for _, value in given], pa.large_string()), key)
    return new_diversity(policy, dict(zip(given, words.tolist(), strict=True)))


def _appended(old: pa.Table, new: pa.Table) -> pa.Table:
    try:
        return pa.concat_tables([old, new], promote_options="permissive").combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        odd = [f.name for f in new.schema if f.type != old.schema.field(f.name).type] or new.schema.names
        raise InputError(f"{', '.join(odd)}: the type changes within the stream; give one type throughout") from None
