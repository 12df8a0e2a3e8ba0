"""Records that come too late: whose own time is too far behind that of others before them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.anonymizer import Rejection
from shoal.columns.encode import event_times
from shoal.columns.rejection import Rejections
from shoal.formats import Block
from shoal.pipeline.pipeline_file import Late
from shoal.policy import Policy


class Lateness:
    """Knows the newest time seen, and refuses what is too far behind it."""

    def __init__(self, policy: Policy, late: Late | None) -> None:
        self._policy = policy
        self._late = late if late and late.then == "reject" else None
        self.newest = -np.inf

    def in_time(self, block: Block) -> tuple[Block, list[Rejection]]:
        """The block without what came too late."""
        times = self._times(block.batch)
        if not len(times):
            return block, []
        before = np.fmax.accumulate(np.concatenate([[self.newest], times]))
        self.newest = float(before[-1])
        if self._late is None or not (is_late := times < before[:-1] - self._late.allow).any():
            return block, []
        assert self._policy.time is not None
        reason = f"came more than {self._late.allow:g} s after newer ones; raise late.allow"
        refused = [Rejection(int(row), self._policy.time.field, reason) for row in block.rows[is_late]]
        return block._replace(batch=block.batch.filter(pa.array(~is_late)), rows=block.rows[~is_late]), refused

    def _times(self, batch: pa.RecordBatch) -> NDArray[np.float64]:
        if self._policy.time is None:
            return np.zeros(0)
        return event_times(batch, self._policy, Rejections(batch.num_rows))
