"""A batch: the encoded tuples that a window takes in, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ARRIVAL = np.uint8(0)
"""The tuple arrives now, in this lane."""

HANDED_OVER = np.uint8(1)
"""The tuple arrived earlier, at `time`, as number `arrival`, in another lane that handed it over to this one."""

ELSEWHERE = np.uint8(2)
"""A tuple arrives now in another lane: it only moves the clock and counts in the reference distribution of sensitive values."""

ANNOUNCED = np.uint8(3)
"""The clock moves to an arrival whose own row follows, after tuples that are handed over at that moment."""


class Batch(NamedTuple):
    values: NDArray[np.float64]  # one row per quasi-identifier: a number or a leaf; NaN is missing
    pattern: NDArray[np.uint64]  # bit q: the tuple has quasi-identifier q
    person: NDArray[np.uint64]  # two words per tuple
    time: NDArray[np.float64]
    moment: NDArray[np.float64]  # the record's own time, also where `time` is when it arrived on the window's clock
    payload: NDArray[np.int64]  # the row of the payload buffer that holds the fields that are passed through
    sensitive: NDArray[np.uint64]  # one row per tuple: fingerprints of the attributes with a demand (l or t); 0 is missing
    arrival: NDArray[np.int64]  # the number of the arrival; used only for tuples that are handed over
    kind: NDArray[np.uint8]  # what the row stands for: ARRIVAL, HANDED_OVER, ELSEWHERE or ANNOUNCED

    @property
    def entering(self) -> int:
        """How many rows bring a tuple into the window."""
        return int(np.count_nonzero((self.kind == ARRIVAL) | (self.kind == HANDED_OVER)))

    def select(self, rows: Any) -> Batch:
        """Some rows, selected by a slice, indices or a mask."""
        values = np.ascontiguousarray(self.values[:, rows])
        return Batch(values, *(column[rows] for column in self[1:]))


def blank(quasi: int, sensitive: int, rows: int, kind: np.uint8 = ARRIVAL) -> Batch:
    """A batch of rows of one kind, with zeros in all other columns."""
    return Batch(
        np.zeros((quasi, rows)), np.zeros(rows, np.uint64), np.zeros((rows, 2), np.uint64), np.zeros(rows), np.zeros(rows),
        np.zeros(rows, np.int64), np.zeros((rows, sensitive), np.uint64), np.zeros(rows, np.int64), np.full(rows, kind),
    )  # fmt: skip


def among_others(own: Batch, place: NDArray[np.int64], rows: int) -> Batch:
    """A batch of `rows` arrivals: those of `own` at their places, and arrivals in other lanes at all other places."""
    batch = blank(len(own.values), own.sensitive.shape[1], rows, ELSEWHERE)
    columns: Any = zip(batch[1:], own[1:], strict=True)
    batch.values[:, place] = own.values
    for column, given in columns:
        column[place] = given
    return batch


def concat(batches: Sequence[Batch]) -> Batch:
    values, *columns = zip(*batches, strict=True)
    return Batch(np.hstack(values), *map(np.concatenate, columns))
