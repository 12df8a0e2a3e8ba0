"""The groups that the trace names, members side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.audit.evidence import CLUSTER, Trace

Ints = NDArray[np.integer]


@dataclass(frozen=True)
class Groups:
    """Members of new groups, without those who reuse them.

    Group g has the rows `row[start[g] : start[g] + size[g]]` of the output, in its order; `record` has the accepted records
    behind them.
    """

    row: Ints
    record: Ints
    start: Ints
    size: Ints


def groups(trace: Trace) -> Groups | None:
    """The groups of a trace; None if there are none."""
    row = np.flatnonzero((trace.how == CLUSTER) & (trace.row >= 0) & (trace.cluster >= 0))
    if not len(row):
        return None
    row = row[np.argsort(trace.cluster[row], kind="stable")]
    start = np.flatnonzero(np.diff(trace.cluster[row], prepend=-1))
    return Groups(row, trace.row[row], start, np.diff(start, append=len(row)))
