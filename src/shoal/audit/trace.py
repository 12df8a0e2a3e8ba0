"""The trace: how each tuple left, in the order of the output."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.audit.files import Source
from shoal.audit.ledger import NO_ROW, Field, ledger
from shoal.audit.values import Floats

CLUSTER, REUSE, SUPPRESSED = 0, 1, 2
HOW = ("cluster", "reuse", "suppressed")
NO_CLUSTER = -1
FIELDS = (
    Field("row"),
    Field("cluster", may_miss=True),
    Field("arrived", is_whole=False),
    Field("released", is_whole=False),
)

__all__ = ["CLUSTER", "HOW", "NO_CLUSTER", "NO_ROW", "REUSE", "SUPPRESSED", "Trace", "trace"]


class Trace(NamedTuple):
    """How tuples left."""

    row: NDArray[np.int64]  # of the accepted input, by arrival; NO_ROW: it names no accepted record
    how: NDArray[np.int8]  # CLUSTER, REUSE or SUPPRESSED
    cluster: NDArray[np.int64]  # NO_CLUSTER: none
    arrived: Floats
    released: Floats

    def at(self, lines: NDArray[np.int64]) -> Trace:
        """These lines of it; where one is below 0, an entry that tells nothing."""
        known = lines >= 0
        if not len(self.row):
            count = len(lines)
            nothing = np.full(count, np.nan)
            return Trace(
                np.full(count, NO_ROW), np.full(count, SUPPRESSED, np.int8), np.full(count, NO_CLUSTER), nothing, nothing
            )
        return Trace(
            np.where(known, self.row[lines], NO_ROW),
            np.where(known, self.how[lines], SUPPRESSED).astype(np.int8),
            np.where(known, self.cluster[lines], NO_CLUSTER),
            np.where(known, self.arrived[lines], np.nan),
            np.where(known, self.released[lines], np.nan),
        )


def trace(source: Source, line: NDArray[np.int64], on_rows: Callable[[int], None]) -> Trace:
    """Read a trace; `line` holds the input row of each accepted record. Groups are numbered anew, from 0, in their order.

    Raises
    ------
    InputError
        It is no trace, or cannot be read.
    """
    found = ledger(source, HOW, FIELDS, on_rows)
    told = found.number["cluster"]
    cluster, named = np.full(len(told), NO_CLUSTER), ~np.isnan(told)
    cluster[named] = np.unique(told[named], return_inverse=True)[1]
    return Trace(found.record(line), found.how, cluster, found.number["arrived"], found.number["released"])
