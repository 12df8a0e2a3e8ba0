"""The last ten minutes, hour and day of a stream, in bounded memory: rows of one second, and coarser ones made of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.telemetry.history import Floats, History

SPANS = {"hour": (10, 360), "day": (240, 360)}  # seconds of a row, and rows


class Spans(History):
    """A history with coarser ones beside it. A row of these is the mean of its seconds; of names in `peaks` the highest value.

    >>> spans = Spans(["in", "wait"], peaks=["wait"])
    >>> for n in range(12):
    ...     spans.add([n, n])
    >>> spans.of("hour")
    (0, array([[ 4.5,  9. ],
           [10.5, 11. ]]))
    """

    def __init__(self, names: Sequence[str], peaks: Collection[str] = ()) -> None:
        super().__init__(names)
        self._coarse = {name: _Coarse(self.names, step, rows, peaks) for name, (step, rows) in SPANS.items()}

    def add(self, row: Sequence[float] | Floats) -> None:
        super().add(row)
        for coarse in self._coarse.values():
            coarse.take(np.asarray(row, np.float64))

    def skip(self, seconds: int) -> None:
        before = self.next
        for _ in range(min(seconds, len(self._rows))):
            super().add(np.full(len(self.names), np.nan))
        self.next = before + max(0, seconds)
        for coarse in self._coarse.values():
            coarse.leave_out(max(0, seconds))

    def of(self, span: str) -> tuple[int, Floats]:
        """The number of the first row of a span, and its rows; the last one may be incomplete."""
        return self._coarse[span].rows()

    def saved(self) -> dict[str, Any]:
        """Everything, in types of JSON."""
        coarse = {name: coarse.history.since(0) for name, coarse in self._coarse.items()}
        spans = {name: [first, plain(rows)] for name, (first, rows) in coarse.items()}
        rows = self.since(0)[1]
        return {"names": list(self.names), "next": self.next, "rows": plain(rows), "spans": spans}

    def restore(self, saved: dict[str, Any], gap: int) -> None:
        """Go on from what was saved, so many seconds later."""
        rows = _values(saved["rows"], len(self.names))
        self.put(int(saved["next"]) - len(rows), rows)
        for name, coarse in self._coarse.items():
            first, rows = saved["spans"][name]
            coarse.restore(int(first), _values(rows, len(self.names)), self.next)
        self.skip(gap)


class _Coarse:
    """Rows of several seconds."""

    def __init__(self, names: Sequence[str], step: int, rows: int, peaks: Collection[str]) -> None:
        self.history = History(names, rows)
        self._step, self._second = step, 0
        self._peaks = np.array([name in peaks for name in names])
        self._forget()

    def _forget(self) -> None:
        self._sum, self._known = np.zeros(len(self._peaks)), np.zeros(len(self._peaks), np.int64)
        self._high = np.full(len(self._peaks), -math.inf)

    def take(self, row: Floats) -> None:
        known = ~np.isnan(row)
        self._sum[known] += row[known]
        self._high[known] = np.maximum(self._high, row)[known]
        self._known += known
        self._move(1)

    def leave_out(self, seconds: int) -> None:
        first = min(seconds, self._step - self._second)
        self._move(first)
        whole, rest = divmod(seconds - first, self._step)
        self.history.skip(whole)
        self._move(rest)

    def _move(self, seconds: int) -> None:
        self._second += seconds
        if self._second == self._step:
            self.history.add(self._row())
            self._second = 0
            self._forget()

    def _row(self) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            means = self._sum / self._known
        return np.where(self._known == 0, np.nan, np.where(self._peaks, self._high, means))

    def rows(self) -> tuple[int, Floats]:
        first, rows = self.history.since(0)
        return (first, np.vstack([rows, self._row()])) if self._second else (first, rows)

    def restore(self, first: int, rows: NDArray[np.float64], seconds: int) -> None:
        self.history.put(first, rows)
        self._second = 0
        upto = (first + len(rows)) * self._step
        self.leave_out(seconds - upto)


def plain(rows: NDArray[np.float64]) -> list[list[float | None]]:
    """Four digits suffice for a plot; NaN becomes None, since JSON has no NaN."""
    return [[None if math.isnan(value) else float(f"{value:.4g}") for value in row] for row in rows.tolist()]


def _values(rows: list[list[float | None]], width: int) -> NDArray[np.float64]:
    found = np.array([[math.nan if value is None else value for value in row] for row in rows], np.float64)
    return found.reshape(-1, width)
