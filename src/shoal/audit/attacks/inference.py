"""Inference: a sensitive value is guessed, without finding the person.

The attacker knows what linkage knows, and takes the most frequent value among the rows that fit, or, where more than 10,000
different ones do, among some of them, evenly chosen. Success is that it is the person's. The baseline takes the most frequent
value of the whole stream.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.audit.attacks.attack import Attack
from shoal.audit.attacks.view import Target, View

_CLASSES = 10_000


def plan(name: str) -> Attack:
    """The attack on one sensitive attribute."""
    return Attack(
        f"inference of {name}",
        "a person's exact quasi-identifiers",
        "the most frequent value among the rows that fit is the person's; baseline: the most frequent of all",
    )


class Inference:
    """Guesses of one sensitive attribute, whose values are coded for each output row, target by target."""

    def __init__(self, view: View, name: str, codes: NDArray[np.integer]) -> None:
        self._view, self._name, self._codes, self._hits = view, name, codes, list[bool]()
        count = np.bincount(codes) if len(codes) else np.zeros(1)
        self._usual, self._baseline = int(count.argmax()), float(count.max() / max(1, len(codes)))

    def attempt(self, target: Target) -> None:
        """Try one target."""
        step = len(target.fitting) // _CLASSES + 1
        codes = self._codes[self._view.rows_of(target.fitting[::step])]
        guess = int(np.bincount(codes).argmax()) if len(codes) else self._usual
        self._hits.append(bool(guess == self._codes[target.row]))

    def result(self) -> Attack:
        """What came of it."""
        return plan(self._name).run(len(self._hits), float(np.mean(self._hits)) if self._hits else 0.0, self._baseline)
