"""Order and timing: when a row left, and where it stands, tells when it came.

The attacker of *timing* knows what the null pattern's knows, when the record was sent, and when each row left; a row fits
only if it left after that, no later than the deadline. Success as in linkage; the baseline goes without the times.

The attacker of *order* knows as much, and that tuples which leave at one moment leave in order of arrival: of m such, the first
probably came at the window's beginning, the last at its end. The row whose place fits the arrival best is taken; success is
that it is about the person; the baseline is timing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.audit.attacks.attack import Attack, Tally
from shoal.audit.attacks.view import Target, View
from shoal.audit.promises.in_time import deadline

PLAN = Attack(
    "timing",
    "a person's exact quasi-identifiers, which are missing, when the record was sent, and when each row left",
    "a row taken at random among those that fit is about the person; baseline: without the times",
)
ORDER = Attack(
    "order",
    "what timing knows, and that tuples which leave at one moment leave in order of arrival",
    "the row whose place fits the arrival best is about the person; baseline: without the order",
)


class Timing:
    """Linkage by the moment of release, target by target."""

    def __init__(self, view: View) -> None:
        self._view, self._tally, self._without = view, Tally(), Tally()

    def attempt(self, target: Target) -> None:
        """Try one target."""
        rows = in_time(self._view, target)
        self._tally.add(int(np.isin(target.own, rows).sum()), len(rows))
        self._without.add(self._view.inside(target.own, target.alike), self._view.count(target.alike))

    def result(self) -> Attack:
        """What came of it."""
        return PLAN.run(len(self._tally.chances), self._tally.rate, self._without.rate, self._tally.detail)


class Order:
    """Linkage by the place among those that left at the same moment, target by target."""

    def __init__(self, view: View) -> None:
        self._view, self._without, self._hits = view, Tally(), list[bool]()
        self._starts = np.flatnonzero(np.diff(view.trace.released, prepend=np.nan) != 0)

    def attempt(self, target: Target) -> None:
        """Try one target."""
        rows = in_time(self._view, target)
        self._without.add(int(np.isin(target.own, rows).sum()), len(rows))
        self._hits.append(bool(len(rows)) and bool((target.own == self._best(rows, target.row)).any()))

    def result(self) -> Attack:
        """What came of it."""
        return ORDER.run(len(self._hits), float(np.mean(self._hits)) if self._hits else 0.0, self._without.rate)

    def _best(self, rows: NDArray[np.integer], target: int) -> int:
        trace, length = self._view.trace, self._view.evidence.policy.window.length
        moment = np.searchsorted(self._starts, rows, side="right") - 1
        first = self._starts[moment]
        last = np.append(self._starts[1:], len(trace.released))[moment] - 1
        place = (rows - first) / np.maximum(last - first, 1)
        expected = 1.0 - (trace.released[rows] - trace.arrived[target]) / length
        return int(rows[np.argmin(np.abs(place - expected))])


def in_time(view: View, target: Target) -> NDArray[np.integer]:
    """The rows alike that left when the target can have left."""
    rows = view.rows_of(target.alike)
    waited = view.trace.released[rows] - view.trace.arrived[target.row]
    return rows[(waited >= 0) & (waited <= deadline(view.evidence.policy))]
