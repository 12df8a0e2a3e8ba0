"""The last minutes of a stream, one row of figures per second, in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class History:
    """A ring buffer of rows; row n belongs to the n-th second. NaN means that there is no figure.

    >>> history = History(["in", "out"], seconds=3)
    >>> for n in range(5):
    ...     history.add([n, 2 * n])
    >>> history.next, history.since(0)
    (5, (2, array([[2., 4.],
           [3., 6.],
           [4., 8.]])))
    """

    def __init__(self, names: Sequence[str], seconds: int = 600) -> None:
        self.names = tuple(names)
        self.next = 0  # the number of the next row
        self._rows = np.full((seconds, len(self.names)), np.nan)

    def add(self, row: Sequence[float] | Floats) -> None:
        self._rows[self.next % len(self._rows)] = row
        self.next += 1

    def skip(self, seconds: int) -> None:
        """Add seconds without figures."""
        for _ in range(min(seconds, len(self._rows))):
            self.add(np.full(len(self.names), np.nan))
        self.next += max(0, seconds - len(self._rows))

    def put(self, first: int, rows: Floats) -> None:
        """Begin anew with these rows, of which the first has this number."""
        self.next = first
        for row in rows:
            self._rows[self.next % len(self._rows)] = row
            self.next += 1

    def since(self, number: int) -> tuple[int, Floats]:
        """The number of the first row returned, and all rows kept from `number` on."""
        first = min(max(number, self.next - len(self._rows), 0), self.next)
        return first, self._rows[np.arange(first, self.next) % len(self._rows)]

    def last(self, seconds: int) -> Floats:
        """The rows of the last seconds, as many as exist."""
        return self.since(self.next - seconds)[1]
