"""Records to observations: who, when and what, as the filter counts them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.columns.encode import UNREADABLE, event_times, policy_fields
from shoal.columns.identity import Identities, identities, joined
from shoal.columns.rejection import Rejection, Rejections
from shoal.columns.uniform import column, unreadable
from shoal.policy import Policy

_LATE = "more than a window older than the newest of its item; sort the stream, or use a longer algorithm.window"


class Observed(NamedTuple):
    """The accepted records of a batch, and why the others were not."""

    batch: pa.RecordBatch
    rows: NDArray[np.int64]  # their row numbers
    time: NDArray[np.float64]
    user: NDArray[np.uint64]  # two words each
    item: NDArray[np.uint64]
    rejected: list[Rejection]


class Observer:
    """Checks records against a policy, and tells users and items apart in those that hold."""

    def __init__(self, policy: Policy, key: NDArray[np.uint64]) -> None:
        assert policy.person and policy.item and policy.time
        self._policy = policy
        self._key = key
        self._person, self._items, self._time = policy.person, policy.item.names, policy.time.field
        self.fields = policy_fields(policy)

    def observe(self, batch: pa.RecordBatch, rows: NDArray[np.int64]) -> Observed:
        rejections = Rejections(batch.num_rows)
        user = self._identities(batch, self._person, "the person is missing; give one", rejections)
        time = event_times(batch, self._policy, rejections)
        parts = [self._identities(batch, name, "the item is missing; give one", rejections) for name in self._items]
        item = joined(parts, self._key)
        if not rejections:
            return Observed(batch, rows, time, user.keys, item.keys, [])
        accepted = rejections.accepted
        return Observed(
            batch.filter(pa.array(accepted)), rows[accepted], time[accepted], user.keys[accepted], item.keys[accepted],
            rejections.listed(rows),
        )  # fmt: skip

    def late(self, rows: NDArray[np.int64]) -> list[Rejection]:
        """Accepted records that turned out to come too late."""
        return [Rejection(row, self._time, _LATE) for row in rows.tolist()]

    def _identities(self, batch: pa.RecordBatch, name: str, reason: str, rejections: Rejections) -> Identities:
        array = column(batch, name)
        found = identities(array, self._policy.nulls, self._key)
        if found.missing.any():
            rejections.add(unreadable(array), name, UNREADABLE)
            rejections.add(found.missing, name, reason)
        return found
