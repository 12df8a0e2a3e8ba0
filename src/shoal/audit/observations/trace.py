"""The trace of a filter: which observations left and how, in the order of the output."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.audit.files import Source
from shoal.audit.ledger import NO_ROW, Field, ledger

RELEASED, GENERALIZED, WITHHELD = 0, 1, 2
HOW = ("released", "generalized", "withheld")
FIELDS = (Field("row"), Field("z"))


class Trace(NamedTuple):
    """How observations left."""

    row: NDArray[np.int64]  # of the input's readable observations, by arrival; NO_ROW: it names none
    how: NDArray[np.int8]  # RELEASED, GENERALIZED, or WITHHELD: left without its item
    z: NDArray[np.int64]  # of that moment

    def at(self, lines: NDArray[np.int64]) -> Trace:
        """These lines of it; where one is below 0, an entry that tells nothing."""
        known = lines >= 0
        if not len(self.row):
            return Trace(*(np.full(len(lines), none, kind) for none, kind in ((NO_ROW, "i8"), (WITHHELD, "i1"), (0, "i8"))))
        found = Trace(self.row[lines], self.how[lines], self.z[lines])
        return found._replace(row=np.where(known, found.row, NO_ROW))


def trace(source: Source, line: NDArray[np.int64], on_rows: Callable[[int], None]) -> Trace:
    """Read a trace; `line` holds the input row of each readable observation.

    Raises
    ------
    InputError
        It is no trace of a filter, or cannot be read.
    """
    found = ledger(source, HOW, FIELDS, on_rows)
    return Trace(found.record(line), found.how, found.number["z"].astype(np.int64))
