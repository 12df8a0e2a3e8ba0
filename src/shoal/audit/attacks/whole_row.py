"""Singling out by the whole row.

*Whole row*: the attacker knows one record of a person as far as the output shows it: the quasi-identifiers and which of them
are missing, the time if it is published, and the kept fields for which the policy gives no reason. One of the rows that fit is
taken at random; success is that it is about the person. Chance takes any row, as one must who never saw the person.
"""

from __future__ import annotations

import numpy as np

from shoal.audit.attacks.attack import Attack
from shoal.audit.attacks.view import Target, View
from shoal.audit.equality import joint
from shoal.audit.values import Integers

WHOLE_ROW = Attack(
    "whole row",
    "a person's exact quasi-identifiers, which are missing, and all else that is published but sensitive values",
    "a row taken at random among those that fit is about the person; baseline: among all rows",
)
_INSTANT = 2e-6  # seconds; times are written to the microsecond


class WholeRow:
    """How many of the rows that fit in all that is published are about the person, and how many fit."""

    def __init__(self, view: View) -> None:
        evidence = view.evidence
        names = [name for name in evidence.policy.counted if name in evidence.kept and name in evidence.shown]
        self._kept = [joint(evidence.kept[name], evidence.shown[name]) for name in names]

    def __call__(self, view: View, target: Target) -> tuple[int, int]:
        rows: Integers = view.rows_of(target.alike)
        record = int(view.trace.row[target.row])
        for before, after in self._kept:
            rows = rows[after[rows] == before[record]]
        moment, time = view.evidence.moment, view.evidence.time
        if moment is not None and time is not None:
            rows = rows[(moment.lo[rows] - _INSTANT <= time[record]) & (time[record] <= moment.hi[rows] + _INSTANT)]
        return int(np.isin(target.own, rows).sum()), len(rows)
