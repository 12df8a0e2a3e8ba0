"""When records came, by the clock of this machine: how long tuples really waited, whatever times the records tell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_MOST = 2048  # marks
_FINEST = 0.01  # seconds


class Arrivals:
    """Marks in the numbering of records: those below a mark, and not below the one before, came at its time.

    Records that come within `step` share a mark. A mark is forgotten when all of its records have left. If there are too many
    marks, the step is doubled up to `coarsest`; then the oldest ones are forgotten, and their records are not measured.

    >>> arrivals = Arrivals()
    >>> arrivals.came(3, 3, now=10.0); arrivals.came(5, 2, now=11.0)
    >>> arrivals.left(np.array([0, 4]), now=12.5)
    array([2.5, 1.5])
    """

    def __init__(self, coarsest: float = 1.0, most: int = _MOST) -> None:
        self.step = _FINEST
        self._coarsest, self._most = coarsest, most
        self.begin(0)

    def begin(self, received: int) -> None:
        """Records below this number came before, at times that are not known."""
        self._first = received
        self._rows, self._held = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._times = np.zeros(0)

    def came(self, received: int, accepted: int, now: float) -> None:
        """Records up to this number have come; so many of the new ones were accepted."""
        if len(self._times) and now // self.step == self._times[-1] // self.step:
            self._rows[-1] = received
            self._held[-1] += accepted
            return
        self._rows = np.append(self._rows, received)
        self._held = np.append(self._held, accepted)
        self._times = np.append(self._times, now)
        if len(self._rows) > self._most:
            self._thin()

    def left(self, rows: Integers, now: float) -> Floats:
        """How long these records waited; those whose arrival is not known are left out."""
        marks = np.searchsorted(self._rows, rows, side="right")
        marks = marks[(rows >= self._first) & (marks < len(self._rows))]
        waits: Floats = now - self._times[marks]
        self._held -= np.bincount(marks, minlength=len(self._held))
        gone = int(np.argmax(self._held > 0)) if (self._held > 0).any() else len(self._held)
        if gone:
            self._forget(gone)
        return waits

    def _forget(self, marks: int) -> None:
        self._first = int(self._rows[marks - 1])
        self._rows, self._held, self._times = self._rows[marks:], self._held[marks:], self._times[marks:]

    def _thin(self) -> None:
        while len(self._rows) > self._most and self.step < self._coarsest:
            self.step *= 2
            begins = np.append(True, np.diff(self._times // self.step) > 0)
            first = np.flatnonzero(begins)
            self._rows = self._rows[np.append(first[1:], len(self._rows)) - 1]
            self._held = np.add.reduceat(self._held, first)
            self._times = self._times[first]
        if len(self._rows) > self._most:
            self._forget(len(self._rows) // 2)
