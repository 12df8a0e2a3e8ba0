"""Null pattern: which values a person does not have tells the person apart.

The attacker knows what linkage knows, and also which of the quasi-identifiers the record does not have; so a row fits only if
it is null there and nowhere else. Where a group shares its nulls (`extended`), it may also be null elsewhere; where it shares
roots (`root`), it must show the root there. Success as in linkage, which is the baseline.
"""

from __future__ import annotations

from shoal.audit.attacks.attack import Attack, Tally
from shoal.audit.attacks.view import Target, View

PLAN = Attack(
    "null pattern",
    "a person's exact quasi-identifiers, and which are missing",
    "a row taken at random among those that fit is about the person; baseline: without the pattern",
)


class NullPattern:
    """Linkage with the pattern of nulls, target by target."""

    def __init__(self, view: View) -> None:
        self._view, self._tally, self._without = view, Tally(), Tally()

    def attempt(self, target: Target) -> None:
        """Try one target."""
        view = self._view
        self._tally.add(view.inside(target.own, target.alike), view.count(target.alike))
        self._without.add(view.inside(target.own, target.fitting), view.count(target.fitting))

    def result(self) -> Attack:
        """What came of it."""
        return PLAN.run(len(self._tally.chances), self._tally.rate, self._without.rate, self._tally.detail)
