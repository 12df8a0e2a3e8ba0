"""The trace of a filter: which observations left and how, in the order of the output."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike, fspath
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.audit.block import Block
from shoal.audit.files import Source, blocks
from shoal.audit.trace import NO_ROW
from shoal.audit.values import numbers, texts
from shoal.errors import InputError

RELEASED, GENERALIZED, WITHHELD = 0, 1, 2
HOW = ("released", "generalized", "withheld")
FIELDS = ("row", "how", "z")


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

    Raises:
        InputError: it is no trace of a filter, or cannot be read.
    """
    name = fspath(source) if isinstance(source, str | PathLike) else "trace"
    parts = [Trace(np.empty(0, np.int64), np.empty(0, np.int8), np.empty(0, np.int64))]
    start = 0
    for block in blocks(source, FIELDS):
        parts.append(_part(block, line, name, start))
        start += block.rows
        on_rows(block.rows)
    return Trace(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _part(block: Block, line: NDArray[np.int64], name: str, start: int) -> Trace:
    for field in FIELDS:
        if field not in block.columns:
            raise InputError(f"{name}: has no field '{field}'; give the trace of the run that wrote the output")
    row, z = (numbers(block.columns[field], {""}) for field in ("row", "z"))
    how = texts(block.columns["how"])
    words = np.array([HOW.index(text) if text in HOW else -1 for text in how.text] + [-1], np.int8)[how.code]
    wrong = (words < 0) | row.bad | z.bad | np.isnan(row.value) | np.isnan(z.value)
    if wrong.any() or not np.array_equal(block.line, np.arange(start, start + block.rows)):
        first = start + (int(np.flatnonzero(wrong)[0]) if wrong.any() else 0)
        raise InputError(f"{name}: line {first + 1} is no line of a trace; give the trace of the run that wrote the output")
    named = row.value.astype(np.int64)
    place = np.minimum(np.searchsorted(line, named), max(len(line) - 1, 0))
    known = line[place] == named if len(line) else np.zeros(len(named), bool)
    return Trace(np.where(known, place, NO_ROW), words, z.value.astype(np.int64))
