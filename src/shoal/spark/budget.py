"""The budget of releases in a query: a bucket counts the tuples of some of the persons, in the order of their times."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.anonymizer import Snapshot, Transfer
from shoal.columns import Budget
from shoal.spark.job import Job
from shoal.spark.message import Message, one_per_lane
from shoal.spark.message import counts as message_counts


class Bucket:
    """All tuples of a person are in the same bucket, so its counts are those of the whole stream.

    Its clock is the newest time of the batches before, then the time of each tuple; the tuples of a batch are sorted by time
    and digest. A person that is not known is not counted.
    """

    def __init__(self, job: Job) -> None:
        assert job.policy.releases is not None
        self._job, self._releases = job, job.policy.releases
        self._budget = Budget(self._releases)
        self._newest = -math.inf

    def take_in(self, messages: Sequence[Message]) -> list[Message]:
        """Messages for the lanes, with what is within the budget, or without the sensitive values of the rest."""
        own = Transfer.concat([Transfer.from_bytes(message.tuples) for message in messages if message.tuples])
        own = own.select(np.lexsort((own.rows, own.tuples.time)))
        received, rejected = message_counts(messages)
        known = own.known
        beyond = np.zeros(len(known), bool)
        beyond[known] = self._budget.beyond(own.tuples.person[known], np.maximum(own.tuples.time[known], self._newest))
        self._newest = max(self._newest, *(message.newest for message in messages))
        if self._releases.beyond == "withhold":
            own = self._withheld(own, beyond)
        elif beyond.any():
            own = own.select(~beyond)
        cause = messages[0]._replace(received=received, rejected=rejected)
        newest = float(own.tuples.time.max(initial=-math.inf))
        to_lanes = one_per_lane(self._job, lane_of(self._job, own), cause, newest)
        return [message._replace(tuples=own.select(rows).to_bytes()) for message, rows in to_lanes]

    def _withheld(self, own: Transfer, beyond: NDArray[np.bool_]) -> Transfer:
        kept, rows = own.kept, pa.array(np.arange(len(beyond)), mask=beyond)
        for name in (name for name, attribute in self._job.policy.attributes.items() if attribute.sensitive):
            place = kept.schema.get_field_index(name)
            kept = kept.set_column(place, kept.schema.field(place), kept.column(place).take(rows))
        sensitive = np.where(beyond[:, None], np.uint64(0), own.tuples.sensitive)
        return own._replace(tuples=own.tuples._replace(sensitive=sensitive), kept=kept)

    def snapshot(self) -> bytes:
        arrays = {**self._budget.saved(), "newest": np.array([self._newest])}
        return Snapshot({"policy": self._job.policy.fingerprint}, arrays, pa.table({})).to_bytes()

    def restore(self, data: bytes) -> None:
        arrays = Snapshot.from_bytes(data, self._job.policy.fingerprint).arrays
        self._budget.restore(arrays)
        self._newest = float(arrays["newest"][0])


def bucket_of(job: Job, tuples: Transfer) -> NDArray[np.int64]:
    """The bucket of each tuple; there are as many as lanes, with the same keys."""
    return (tuples.tuples.person[:, 0] % np.uint64(job.lanes)).astype(np.int64)


def lane_of(job: Job, tuples: Transfer) -> NDArray[np.int64]:
    """The lane of each tuple, by the split tree."""
    tree = job.routing.tree
    return tree.lanes(tuples.tuples.values) if tree else np.zeros(len(tuples.rows), np.int64)
