"""Rejected records: the row, the field and the reason, never the value."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Rejection(NamedTuple):
    """A record that was not accepted.

    >>> str(Rejection(1182, "postcode", "not in hierarchy (value withheld)"))
    "row 1182, 'postcode': not in hierarchy (value withheld)"
    """

    row: int
    field: str | None
    reason: str

    @property
    def kind(self) -> str:
        """The field and the reason, which many rejections may share."""
        return self.reason if self.field is None else f"'{self.field}': {self.reason}"

    def __str__(self) -> str:
        return f"row {self.row}{', ' if self.field else ': '}{self.kind}"


class Rejections:
    """The rejections of one batch; if there are several reasons to reject a record, the first is kept."""

    def __init__(self, size: int) -> None:
        self._reason = np.zeros(size, np.int64)
        self._texts: list[tuple[str | None, str]] = [(None, "")]

    def add(self, mask: NDArray[np.bool_], field: str, reason: str) -> None:
        if mask.any():
            self._texts.append((field, reason))
            self._reason[mask & (self._reason == 0)] = len(self._texts) - 1

    def __bool__(self) -> bool:
        return len(self._texts) > 1

    @property
    def accepted(self) -> NDArray[np.bool_]:
        return self._reason == 0

    def listed(self, rows: NDArray[np.int64]) -> list[Rejection]:
        """The rejections in order; `rows` gives the row number of each record."""
        if not self:
            return []
        return [Rejection(int(rows[i]), *self._texts[self._reason[i]]) for i in np.flatnonzero(self._reason)]
