"""Attacks on single persons: a record that the attacker knows is looked for in the published stream.

- *Linkage*: the attacker knows the quasi-identifiers of one record of a person, exactly, and reads a null as any value. One of
  the rows that fit is taken at random; success is that it is about the person. The baseline takes any row of the stream.
- *Null pattern*: the attacker also knows which of the quasi-identifiers the record does not have; so a row fits only if it is
  null there and nowhere else. Where a group shares its nulls (`extended`), it may also be null elsewhere; where it shares roots
  (`root`), it must show the root there; where it shares doubts (`blurred`), it may also be in doubt there. The baseline is
  linkage.
- *Timing*: the attacker also knows when the record was sent and when each row left; a row fits only if it left after that, no
  later than the deadline. The baseline is the null pattern.
- *Order*: the attacker also knows that tuples which leave at one moment leave in order of arrival: of m such, the first
  probably came at the window's beginning, the last at its end. The row whose place fits the arrival best is taken. The baseline
  is timing.
- *Inference*: the attacker knows what linkage knows, and guesses a sensitive value without finding the person: the most
  frequent one among the rows that fit or, where more than 10,000 different ones do, among some of them, evenly chosen. The
  baseline takes the most frequent value of the whole stream. The control makes the same guess without the rows about the
  person: it never saw this person, and what it finds out holds for anybody alike. Where groups are balanced that is worse than
  the baseline; the better of the two is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from shoal.audit.algorithms import deadline
from shoal.audit.attacks.attack import Attack, Tally
from shoal.audit.attacks.view import Target, View
from shoal.audit.values import Flags, Integers

LINKAGE = Attack(
    "linkage",
    "a person's exact quasi-identifiers",
    "a row taken at random among those that fit is about the person; baseline: among all rows",
)
NULL_PATTERN = Attack(
    "null pattern",
    "a person's exact quasi-identifiers, and which are missing",
    "a row taken at random among those that fit is about the person; baseline: without the pattern",
)
TIMING = Attack(
    "timing",
    "a person's exact quasi-identifiers, which are missing, when the record was sent, and when each row left",
    "a row taken at random among those that fit is about the person; baseline: without the times",
)
ORDER = Attack(
    "order",
    "what timing knows, and that tuples which leave at one moment leave in order of arrival",
    "the row whose place fits the arrival best is about the person; baseline: without the order",
)
_WITHHELD = -1
_CLASSES = 10_000

Fit = Callable[[View, Target], tuple[int, int]]  # how many of the rows that fit are about the person, and how many fit


def inference_of(name: str) -> Attack:
    """The attack on one sensitive attribute."""
    return Attack(
        f"inference of {name}",
        "a person's exact quasi-identifiers",
        "the most frequent value among the rows that fit is the person's; baseline: the most frequent of all",
    )


def all_rows(view: View, target: Target) -> tuple[int, int]:
    """Whoever never saw the person takes any row."""
    return len(target.own), len(view.person)


def _by_values(view: View, target: Target) -> tuple[int, int]:
    return view.inside(target.own, target.fitting), view.count(target.fitting)


def _by_pattern(view: View, target: Target) -> tuple[int, int]:
    return view.inside(target.own, target.alike), view.count(target.alike)


def _by_time(view: View, target: Target) -> tuple[int, int]:
    rows = _in_time(view, target)
    return int(np.isin(target.own, rows).sum()), len(rows)


def _in_time(view: View, target: Target) -> Integers:
    """The rows alike that left when the target can have left."""
    rows = view.rows_of(target.alike)
    waited = view.trace.released[rows] - view.trace.arrived[target.row]
    return rows[(waited >= 0) & (waited <= deadline(view.evidence.policy))]


class Linkage:
    """An attacker that takes one of the rows that fit, target by target, beside a baseline that knows less."""

    def __init__(self, view: View, plan: Attack, fit: Fit, baseline: Fit) -> None:
        self._view, self._plan, self._fit, self._baseline = view, plan, fit, baseline
        self._tally, self._without = Tally(), Tally()

    def attempt(self, target: Target) -> None:
        """Try one target."""
        self._tally.add(*self._fit(self._view, target))
        self._without.add(*self._baseline(self._view, target))

    def result(self) -> Attack:
        """What came of it."""
        tally = self._tally
        return self._plan.run(len(tally.chances), tally.rate, self._without.rate, tally.detail)


def linkages(view: View) -> list[Linkage]:
    """Linkage, null pattern and timing."""
    return [
        Linkage(view, LINKAGE, _by_values, all_rows),
        Linkage(view, NULL_PATTERN, _by_pattern, _by_values),
        Linkage(view, TIMING, _by_time, _by_pattern),
    ]


class Order:
    """Linkage by the place among those that left at the same moment, target by target."""

    def __init__(self, view: View) -> None:
        self._view, self._without, self._hits = view, Tally(), list[bool]()
        self._starts = np.flatnonzero(np.diff(view.trace.released, prepend=np.nan) != 0)

    def attempt(self, target: Target) -> None:
        """Try one target."""
        rows = _in_time(self._view, target)
        self._without.add(int(np.isin(target.own, rows).sum()), len(rows))
        self._hits.append(bool(len(rows)) and bool((target.own == self._best(rows, target.row)).any()))

    def result(self) -> Attack:
        """What came of it."""
        return ORDER.run(len(self._hits), float(np.mean(self._hits)) if self._hits else 0.0, self._without.rate)

    def _best(self, rows: Integers, target: int) -> int:
        trace, length = self._view.trace, self._view.evidence.policy.window.length
        moment = np.searchsorted(self._starts, rows, side="right") - 1
        first = self._starts[moment]
        last = np.append(self._starts[1:], len(trace.released))[moment] - 1
        place = (rows - first) / np.maximum(last - first, 1)
        expected = 1.0 - (trace.released[rows] - trace.arrived[target]) / length
        return int(rows[np.argmin(np.abs(place - expected))])


class Inference:
    """Guesses of one sensitive attribute, whose values are coded for each output row, target by target.

    What is withheld is no value: it is neither guessed nor a target.
    """

    def __init__(self, view: View, name: str, codes: Integers, withheld: Flags) -> None:
        self._view, self._name, self._codes, self._hits = view, name, np.where(withheld, _WITHHELD, codes), list[bool]()
        self._control = list[bool]()
        shown = codes[~withheld]
        count = np.bincount(shown) if len(shown) else np.zeros(1)
        self._usual, self._baseline = int(count.argmax()), float(count.max() / max(1, len(shown)))

    def attempt(self, target: Target) -> None:
        """Try one target."""
        step = len(target.fitting) // _CLASSES + 1
        if self._codes[target.row] == _WITHHELD:
            return
        rows = self._view.rows_of(target.fitting[::step])
        self._hits.append(self._guess(rows) == self._codes[target.row])
        self._control.append(self._guess(rows[~np.isin(rows, target.own)]) == self._codes[target.row])

    def result(self) -> Attack:
        """What came of it."""
        tried = len(self._hits)
        hit, control = (float(np.mean(each)) if tried else 0.0 for each in (self._hits, self._control))
        return replace(inference_of(self._name).run(tried, hit, self._baseline), control=max(control, self._baseline))

    def _guess(self, rows: Integers) -> int:
        codes = self._codes[rows]
        codes = codes[codes != _WITHHELD]
        return int(np.bincount(codes).argmax()) if len(codes) else self._usual
