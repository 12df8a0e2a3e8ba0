"""Which line of the trace belongs to which row of the output, if one of them has lines too many."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.audit.algorithms import imputes
from shoal.audit.cover import cover, is_root
from shoal.audit.equality import joint
from shoal.audit.original import Original
from shoal.audit.published import Published
from shoal.audit.trace import SUPPRESSED, Trace
from shoal.audit.values import Flags
from shoal.policy import Policy

Rows = NDArray[np.int64]

_AHEAD = 512
_MOST = 100  # lines too many that are looked for one by one


def placed(rows: int, lines: int, fit: Callable[[], Callable[[Rows, Rows], Flags]]) -> Rows:
    """The line of the trace for each row of the output, -1 where there is none.

    Both have the same order. Where one is longer, lines are missing at the place where rows stop to fit; `fit` makes the
    function that says which rows fit which lines.
    """
    if rows == lines:
        return np.arange(rows)
    found = np.full(rows, -1)
    missing = lines - rows
    if abs(missing) > _MOST:
        found[: min(rows, lines)] = np.arange(min(rows, lines))
        return found
    fitting = _Fitting(rows, lines, fit())
    row = line = 0
    while row < rows and line < lines:
        run = fitting.run(row, line)
        found[row : row + run] = np.arange(line, line + run)
        row, line = row + run, line + run
        if row >= rows or line >= lines:
            break
        step = fitting.step(row, line, missing)
        if step > 0:
            line, missing = line + step, missing - step
        elif step < 0:
            row, missing = row - step, missing - step
        else:
            found[row] = line
            row, line = row + 1, line + 1
    return found


class _Fitting:
    """Where rows of the output can be what lines of the trace name."""

    def __init__(self, rows: int, lines: int, fits: Callable[[Rows, Rows], Flags]) -> None:
        self._rows, self._lines, self._fits = rows, lines, fits

    def step(self, row: int, line: int, missing: int) -> int:
        """How many lines of the trace, or if below 0 rows of the output, to pass over so that most rows fit."""
        sign = 1 if missing > 0 else -1
        steps = [0, *(sign * count for count in range(1, abs(missing) + 1))]
        runs = [self._ahead(row + 1, line + 1), *(self._ahead(row + max(-step, 0), line + max(step, 0)) for step in steps[1:])]
        return steps[int(np.argmax(runs))]

    def run(self, row: int, line: int) -> int:
        """How many rows fit from here on."""
        total = 0
        while count := self._ahead(row + total, line + total):
            total += count
        return total

    def _ahead(self, row: int, line: int) -> int:
        count = min(_AHEAD, self._rows - row, self._lines - line)
        if count <= 0:
            return 0
        fits = self._fits(np.arange(row, row + count), np.arange(line, line + count))
        return count if fits.all() else int(np.argmin(fits))


class Tuples:
    """Whether rows of the output can be the tuples that lines of the trace name."""

    def __init__(self, policy: Policy, before: Original, after: Published, trace: Trace) -> None:
        self._policy = policy
        self._before = before
        self._after = after
        self._trace = trace
        self._passed = [joint(before.passed[name], after.passed[name]) for name in after.passed]

    def __call__(self, rows: Rows, lines: Rows) -> Flags:
        record = self._trace.row[lines]
        hidden = self._trace.how[lines] == SUPPRESSED
        fits = record >= 0
        for name, attribute in self._policy.quasi:
            before, after = self._before.quasi[name], self._after.quasi[name]
            root = is_root(after, attribute, rows)
            wrong = cover(before, after, record, rows).beyond(self._policy.privacy.nulls_match, root)
            misfit = wrong.outside | wrong.vanished | (wrong.appeared & (not imputes(self._policy)))
            fits &= np.where(hidden, root, ~misfit)
        for old, new in self._passed:
            fits &= old[record] == new[rows]
        return fits
