"""Which line of the trace belongs to which row of the output, by what a row can show of a record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import numpy as np

from shoal.audit.algorithms import imputes
from shoal.audit.equality import NOTHING, joint
from shoal.audit.original import MISSING, UNKNOWN, Category, Numeric, Original
from shoal.audit.published import NULL, Band, Node, Published
from shoal.audit.trace import SUPPRESSED, Trace
from shoal.audit.values import Flags, Integers, Ints
from shoal.policy import Attribute, Policy

NullsMatch = Literal["blurred", "extended", "root", "maybe"]
_AHEAD = 512
_MOST = 100  # lines too many that are looked for one by one


class Cover(NamedTuple):
    """What is wrong with published values of one quasi-identifier, row by row."""

    outside: Flags  # the value does not lie in what is published
    vanished: Flags  # a value became null
    appeared: Flags  # null became a value that is not in doubt

    def beyond(self, reading: NullsMatch, root: Flags) -> Cover:
        """What stays wrong under a policy's reading of nulls; `root` marks the rows that show the root.

        Under `extended` a value may be blanked, for the group to look alike; under `root` the root stands for what is missing.
        """
        if reading == "extended":
            return self._replace(vanished=np.zeros_like(self.vanished))
        return self._replace(appeared=self.appeared & ~root) if reading == "root" else self


def cover(before: Numeric | Category, after: Band | Node, records: Integers, rows: Integers) -> Cover:
    """Compare records of the input with rows of the output."""
    if isinstance(before, Numeric) and isinstance(after, Band):
        value, lo = before.value[records], after.lo[rows]
        missing, null = np.isnan(value), np.isnan(lo)
        inside = (lo <= value) & (value <= after.hi[rows])
    else:
        assert isinstance(before, Category) and isinstance(after, Node)
        leaf, node = before.leaf[records], after.node[rows]
        missing, null = leaf == MISSING, node == NULL
        known = np.maximum(node, 0)
        inside = (node >= 0) & after.holds(known, leaf)
        inside |= (leaf == UNKNOWN) & (node == 0)
    return Cover(~missing & ~null & ~inside, ~missing & null, missing & ~null & ~after.doubt[rows])


def is_root(column: Band | Node, attribute: Attribute, rows: Integers | slice = slice(None)) -> Flags:
    """Which of these rows show the whole range, or the root; in doubt or not."""
    if isinstance(column, Band):
        return (column.lo[rows] == attribute.low) & (column.hi[rows] == attribute.high)
    return column.node[rows] == 0


def is_hidden(column: Band | Node, attribute: Attribute, rows: Integers | slice = slice(None)) -> Flags:
    """Which of these rows show what a suppressed tuple does: the root, not in doubt."""
    return is_root(column, attribute, rows) & ~column.doubt[rows]


def shows_roots(policy: Policy, quasi: Mapping[str, Band | Node]) -> Flags:
    """Which rows show the whole range and the root everywhere, as suppressed tuples do."""
    return np.logical_and.reduce([is_hidden(quasi[name], attribute) for name, attribute in policy.quasi])


def placed(rows: int, lines: int, fit: Callable[[], Callable[[Ints, Ints], Flags]]) -> Ints:
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

    def __init__(self, rows: int, lines: int, fits: Callable[[Ints, Ints], Flags]) -> None:
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
        demanding = {demand.name for demand in policy.requirements}  # such a value can be withheld
        self._passed = [(*joint(before.passed[name], after.passed[name]), name in demanding) for name in after.passed]

    def __call__(self, rows: Ints, lines: Ints) -> Flags:
        record = self._trace.row[lines]
        hidden = self._trace.how[lines] == SUPPRESSED
        fits = record >= 0
        for name, attribute in self._policy.quasi:
            before, after = self._before.quasi[name], self._after.quasi[name]
            root = is_root(after, attribute, rows)
            wrong = cover(before, after, record, rows).beyond(self._policy.privacy.nulls_match, root)
            misfit = wrong.outside | wrong.vanished | (wrong.appeared & (not imputes(self._policy)))
            fits &= np.where(hidden, is_hidden(after, attribute, rows), ~misfit)
        blank = hidden & (self._policy.suppressed == "blank")
        for old, new, can_be_withheld in self._passed:
            fits &= (old[record] == new[rows]) | ((new[rows] == NOTHING) & (blank | can_be_withheld))
        return fits
