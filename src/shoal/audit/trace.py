"""The trace: how each tuple left, in the order of the output."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike, fspath
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.audit.block import Block
from shoal.audit.files import Source, blocks
from shoal.audit.values import Floats, numbers, texts
from shoal.errors import InputError

CLUSTER, REUSE, SUPPRESSED = 0, 1, 2
HOW = ("cluster", "reuse", "suppressed")
NO_ROW = -1
NO_CLUSTER = -1
_MOST = 2**53  # up to here doubles hold every whole number
FIELDS = ("row", "how", "cluster", "arrived", "released")


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
    """Read a trace; `line` holds the input row of each accepted record.

    Raises:
        InputError: it is no trace, or cannot be read.
    """
    parts = []
    start = 0
    for block in blocks(source, FIELDS):
        name = fspath(source) if isinstance(source, str | PathLike) else "trace"
        parts.append(_part(block, line, name, start))
        start += block.rows
        on_rows(block.rows)
    if not parts:
        return Trace(np.empty(0, np.int64), np.empty(0, np.int8), np.empty(0, np.int64), np.empty(0), np.empty(0))
    return Trace(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _part(block: Block, line: NDArray[np.int64], name: str, start: int) -> Trace:
    for field in FIELDS:
        if field not in block.columns:
            raise InputError(f"{name}: has no field '{field}'; give the trace of the run that wrote the output")
    read = {field: numbers(block.columns[field], {""}) for field in FIELDS if field != "how"}
    how = texts(block.columns["how"])
    words = np.array([HOW.index(text) if text in HOW else -1 for text in how.text] + [-1], np.int8)[how.code]
    wrong = words < 0
    for field, found in read.items():
        wrong |= found.bad | (np.isnan(found.value) & (field != "cluster"))
        if field in ("row", "cluster"):
            wrong |= (found.value < 0) | (found.value > _MOST) | (found.value > np.floor(found.value))
    if wrong.any() or not np.array_equal(block.line, np.arange(start, start + block.rows)):
        first = int(np.flatnonzero(wrong)[0]) + start if wrong.any() else start
        raise InputError(f"{name}: line {first + 1} is no line of a trace; give the trace of the run that wrote the output")
    row = read["row"].value.astype(np.int64)
    place = np.minimum(np.searchsorted(line, row), max(len(line) - 1, 0))
    known = line[place] == row if len(line) else np.zeros(len(row), bool)
    cluster = np.where(np.isnan(read["cluster"].value), NO_CLUSTER, read["cluster"].value).astype(np.int64)
    return Trace(np.where(known, place, NO_ROW), words, cluster, read["arrived"].value, read["released"].value)
