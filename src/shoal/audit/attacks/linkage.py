"""Linkage: a known person's quasi-identifiers are looked for in the published stream.

The attacker knows the quasi-identifiers of one record of a person, exactly, and reads a null as any value. One of the rows that
fit is taken at random; success is that it is about the person. The baseline takes any row of the stream.
"""

from __future__ import annotations

import numpy as np

from shoal.audit.attacks.attack import Attack, Tally
from shoal.audit.attacks.view import Target, View

PLAN = Attack(
    "linkage",
    "a person's exact quasi-identifiers",
    "a row taken at random among those that fit is about the person; baseline: among all rows",
)


class Linkage:
    """Linkage, target by target."""

    def __init__(self, view: View) -> None:
        self._view, self._tally, self._blind = view, Tally(), list[float]()

    def attempt(self, target: Target) -> None:
        """Try one target."""
        self._tally.add(self._view.inside(target.own, target.fitting), self._view.count(target.fitting))
        self._blind.append(len(target.own) / len(self._view.person))

    def result(self) -> Attack:
        """What came of it."""
        baseline = float(np.mean(self._blind)) if self._blind else 0.0
        return PLAN.run(len(self._blind), self._tally.rate, baseline, self._tally.detail)
