"""Boxes that each cover at least k records of a batch, learned from it and used for later records."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.anonymizer import Anonymizer
from shoal.policy import Policy

Floats = NDArray[np.float64]

NONE = -1
_CELLS = 1 << 20  # values that are compared at a time


class Boxes(NamedTuple):
    """One row per box, one column per feature; NaN if no member of the group had a value."""

    low: Floats
    high: Floats
    size: Floats  # of each side, as a share of the range

    def smallest_around(self, values: Floats) -> NDArray[np.int64]:
        """The smallest box around each record, measured where the record has values; NONE if there is none."""
        found = np.full(len(values), NONE)
        rows = max(1, _CELLS // max(1, self.low.size))
        for start in range(0, len(values) if len(self.low) else 0, rows):
            some = values[start : start + rows, None, :]
            missing = np.isnan(some)
            covers = (missing | ((self.low <= some) & (some <= self.high))).all(axis=2)
            loss = np.where(missing, 0, np.nan_to_num(self.size, nan=1)).sum(axis=2)
            best = np.where(covers, loss, np.inf).argmin(axis=1)
            found[start : start + rows] = np.where(np.any(covers, axis=1), best, NONE)
        return found


def learned(values: Floats, low: Floats, high: Floats, k: int) -> Boxes:
    """The boxes of the groups of a batch, without those that fewer than k of its records would use.

    A record uses the smallest box around its values, which may be that of another group: so a box can lose records. A box that
    has fewer than k is dropped, and its records use other boxes, until every box that is left has k.
    """
    boxes = _grouped(values, low, high, k)
    while len(boxes.low):
        chosen = boxes.smallest_around(values)
        enough = np.bincount(chosen[chosen >= 0], minlength=len(boxes.low)) >= k
        if enough.all():
            break
        boxes = Boxes(*(part[enough] for part in boxes))
    return boxes


def _grouped(values: Floats, low: Floats, high: Floats, k: int) -> Boxes:
    names = [f"x{i}" for i in range(values.shape[1])]
    ranges = zip(low.tolist(), high.tolist(), strict=True)
    policy = Policy.parse({
        "person": "none",
        "attributes": {name: {"quasi": "numeric", "range": ends} for name, ends in zip(names, ranges, strict=True)},
        "privacy": {"k": k},
        "window": {"count": max(len(values), k)},
    })  # fmt: skip
    anonymizer = Anonymizer(policy)
    anonymizer.push_batch(pa.RecordBatch.from_arrays([pa.array(each, from_pandas=True) for each in values.T], names))
    published = anonymizer.flush()
    group = anonymizer.trace.column("cluster").to_numpy(zero_copy_only=False)
    known, first = np.unique(group[~np.isnan(group)], return_inverse=True)
    ends = []
    for end in range(2):
        found = np.full((len(known), len(names)), np.nan)
        for q, column in enumerate(published.columns):
            shown = column.flatten()[end].to_numpy(zero_copy_only=False).astype(np.float64)[~np.isnan(group)]
            has = ~np.isnan(shown)
            found[first[has], q] = shown[has]
        ends.append(found)
    return Boxes(ends[0], ends[1], (ends[1] - ends[0]) / (high - low))
