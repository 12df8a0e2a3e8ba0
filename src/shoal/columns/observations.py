"""Records to the observations that z-anonymity counts; released observations back to records, with pseudonyms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.columns.convert import column, texts, unreadable
from shoal.columns.encode import UNREADABLE, event_times, field_of
from shoal.columns.fingerprint import Keys, joined_keys, keys_of
from shoal.columns.floats import blank_nulls, only_used
from shoal.columns.pseudonym import Pseudonyms
from shoal.columns.rejection import Rejection, Rejections
from shoal.columns.time_bounds import TimeBounds
from shoal.path import head
from shoal.policy import Policy

_LATE = "more than a window older than the newest of its item; sort the stream, or use a longer algorithm.window"


class Observations(NamedTuple):
    """The accepted records of a batch, and the reasons why the others were rejected."""

    batch: pa.RecordBatch
    rows: NDArray[np.int64]  # their row numbers
    time: NDArray[np.float64]
    user: NDArray[np.uint64]  # two words per row
    item: NDArray[np.uint64]  # two words per row
    rejected: list[Rejection]


class ObservationEncoder:
    """Checks records against a policy, and turns the users and items of the accepted records into keys."""

    def __init__(self, policy: Policy, key: NDArray[np.uint64], bounds: TimeBounds | None = None) -> None:
        assert policy.person and policy.item and policy.time
        self._policy, self._bounds = policy, bounds
        self._key = key
        self._person, self._items, self._time = policy.person, policy.item.names, policy.time.field

    def encode(self, batch: pa.RecordBatch, rows: NDArray[np.int64]) -> Observations:
        rejections = Rejections(batch.num_rows)
        user = self._keys(batch, self._person, "the person is missing; give one", rejections)
        time = event_times(batch, self._policy, rejections)
        parts = [self._keys(batch, name, "the item is missing; give one", rejections) for name in self._items]
        item = joined_keys(parts, self._key)
        if self._bounds:
            self._bounds.check(time, self._time, rejections)
        if not rejections:
            return Observations(batch, rows, time, user.keys, item.keys, [])
        accepted = rejections.accepted
        return Observations(
            batch.filter(pa.array(accepted)), rows[accepted], time[accepted], user.keys[accepted], item.keys[accepted],
            rejections.listed(rows),
        )  # fmt: skip

    def late(self, rows: NDArray[np.int64]) -> list[Rejection]:
        """The rejections of records that were accepted first, and then turned out to be late."""
        return [Rejection(row, self._time, _LATE) for row in rows.tolist()]

    def _keys(self, batch: pa.RecordBatch, name: str, reason: str, rejections: Rejections) -> Keys:
        array = column(batch, name)
        found = keys_of(array, self._policy.nulls_of(name), self._key)
        if found.missing.any():
            rejections.add(unreadable(array), name, UNREADABLE)
            rejections.add(found.missing, name, reason)
        return found


class ObservationPublisher:
    """Builds the published columns: the time unchanged, the pseudonym, the item, the kept attributes."""

    def __init__(self, policy: Policy, pseudonyms: Pseudonyms) -> None:
        assert policy.person and policy.item and policy.time
        self._person, self._item, self._nulls_of = policy.person, policy.item, policy.nulls_of
        self._pseudonyms = pseudonyms
        self._labels = pa.array(policy.item.hierarchy.labels if policy.item.hierarchy else [], pa.large_string())
        self.nothing = pa.RecordBatch.from_pydict({name: pa.nulls(0) for name in policy.published})
        """An empty batch of the columns that were published last."""

    def publish(
        self, batch: pa.RecordBatch, leaving: NDArray[np.int64], user: NDArray[np.uint64], period: NDArray[np.int64],
        shown: NDArray[np.int32], generalized: NDArray[np.bool_] | None,
    ) -> pa.RecordBatch:  # fmt: skip
        """Publish the rows `leaving`.

        `shown` is the item of each of these rows: -1 if it is withheld, a node of the hierarchy if it is `generalized`.
        Without a hierarchy, `generalized` is None. `user` and `period` have an entry for every row of the batch.
        """
        came, named = batch, not pa.types.is_signed_integer(column(batch, self._person).type) and bool(user[:, 1].any())
        if len(leaving) < batch.num_rows:
            names = [name for name in self.nothing.schema.names if name != self._person or named]
            needed = {*names, *map(head, names)}
            batch = batch.select([i for i, name in enumerate(batch.schema.names) if name in needed])
            batch = pc.take(batch, pa.array(leaving), boundscheck=False)
        columns, fields = [], []
        for name in self.nothing.schema.names:
            if name == self._person:
                array = self._pseudonyms.of(user, period, leaving, texts(column(batch, name), ()) if named else None)
            elif name in self._item.names:
                array = self._shown(name, column(batch, name), shown, generalized)
            else:
                array = column(batch, name)
            array = blank_nulls(only_used(array))
            columns.append(array)
            fields.append(field_of(came, name).with_type(array.type))
        published = pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))
        self.nothing = published.slice(0, 0)
        return published

    def _shown(self, name: str, array: pa.Array, shown: NDArray[np.int32], generalized: NDArray[np.bool_] | None) -> pa.Array:
        if generalized is not None:
            array = texts(array, self._nulls_of(name))
            if generalized.any():
                labels = self._labels.take(pa.array(shown, mask=~generalized))
                array = pc.if_else(pa.array(generalized), labels, array)
        withheld = shown < 0
        if withheld.any():
            array = pc.if_else(pa.array(withheld), pa.scalar(None, array.type), array)
        return array
