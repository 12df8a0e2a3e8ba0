"""Records of a file whose time is far ahead of the records around them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from shoal.columns import Rejections, event_times
from shoal.formats import Block
from shoal.policy import Policy

BEHIND = 100  # records behind a record that tell whether the stream follows it


class Pace:
    """Moves records to a block's malformed ones if they are ahead of the stream's own pace.

    A record is ahead if its time is more than `allow` seconds after the newest before it, and after most of the hundred
    behind it: the stream does not follow it. A gap in the stream is none: what comes behind is as late.
    """

    def __init__(self, policy: Policy, allow: float) -> None:
        self._policy, self._allow = policy, allow
        self._newest = -math.inf
        self._reason = f"more than {allow:g} s ahead of the records around it; correct its time, or raise --ahead"

    def blocks(self, blocks: Iterable[Block]) -> Iterator[Block]:
        waiting: deque[tuple[Block, list[float]]] = deque()
        for block in blocks:
            waiting.append((block, self._times(block)))
            while len(waiting) > 1 and sum(len(times) for _, times in waiting) - len(waiting[0][1]) >= BEHIND:
                yield self._decided(waiting)
        while waiting:
            yield self._decided(waiting)

    def _decided(self, waiting: deque[tuple[Block, list[float]]]) -> Block:
        block, times = waiting.popleft()
        known = [*times, *(time for _, some in waiting for time in some)]
        ahead = np.zeros(len(times), bool)
        for i, time in enumerate(times):
            if time > self._newest + self._allow:
                behind = known[i + 1 : i + 1 + BEHIND]
                ahead[i] = 2 * sum(other < time - self._allow for other in behind) > len(behind)
            if not ahead[i] and time > self._newest:
                self._newest = time
        if not ahead.any():
            return block
        bad = sorted([*block.bad, *((int(row), self._reason) for row in block.rows[ahead])])
        return block._replace(batch=block.batch.filter(pa.array(~ahead)), rows=block.rows[~ahead], bad=bad)

    def _times(self, block: Block) -> list[float]:
        return event_times(block.batch, self._policy, Rejections(block.batch.num_rows)).tolist()
