"""Rejected records: the row, the field and the reason, never the value."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_LEFT_OUT = -1


class Rejection(NamedTuple):
    """A record that was not accepted.

    >>> str(Rejection(1181, "postcode", "not in hierarchy (value withheld)"))
    "row 1182, 'postcode': not in hierarchy (value withheld)"
    >>> str(Rejection(0, None, "a quoted value is not closed", line=2))
    'line 2: a quoted value is not closed'
    """

    row: int  # from 0
    field: str | None
    reason: str
    line: int | None = None  # of the file, from 1, if that is known

    @property
    def place(self) -> str:
        """The line of the file, or else the row, both counted from 1."""
        return f"row {self.row + 1}" if self.line is None else f"line {self.line}"

    @property
    def kind(self) -> str:
        """The field and the reason, which many rejections may share."""
        return self.reason if self.field is None else f"'{self.field}': {self.reason}"

    def __str__(self) -> str:
        return f"{self.place}{', ' if self.field else ': '}{self.kind}"


class Rejections:
    """The rejections of one batch; if there are several reasons to reject a record, the first is kept."""

    def __init__(self, size: int) -> None:
        self._reason = np.zeros(size, np.int64)
        self._texts: list[tuple[str | None, str]] = [(None, "")]

    def add(self, mask: NDArray[np.bool_], field: str, reason: str) -> None:
        if mask.any():
            self._texts.append((field, reason))
            self._reason[mask & (self._reason == 0)] = len(self._texts) - 1

    def leave_out(self, mask: NDArray[np.bool_]) -> None:
        """Records that are neither accepted nor rejected: nothing is wrong with them."""
        self._reason[mask & (self._reason == 0)] = _LEFT_OUT

    def __bool__(self) -> bool:
        return len(self._texts) > 1

    @property
    def accepted(self) -> NDArray[np.bool_]:
        return self._reason == 0

    def listed(self, rows: NDArray[np.int64]) -> list[Rejection]:
        """The rejections in order; `rows` gives the row number of each record."""
        if not self:
            return []
        return [Rejection(int(rows[i]), *self._texts[self._reason[i]]) for i in np.flatnonzero(self._reason > 0)]
