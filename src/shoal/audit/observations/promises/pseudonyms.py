"""A user has one pseudonym in a period, nobody else has it, and the next period brings another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.audit.finding import Docket, Finding, Verdict
from shoal.audit.observations.evidence import Observed

NAME = "pseudonyms"
SAYS = "in a period a user has one pseudonym, no two users share one, and none is used in two periods"
_AGAIN = "bears a pseudonym of another period"

Ints = NDArray[np.int64]


def check(evidence: Observed) -> Finding:
    """Compare pseudonyms with users and periods; without a trace, with the times that the rows show."""
    docket = Docket(evidence)
    sound = evidence.formed & ~evidence.raw
    note = "whether they are made with the secret is not judged"
    if evidence.trace is None:
        window, time = evidence.rule.window, evidence.shown_time
        rows = np.flatnonzero(sound & ~np.isnan(time))
        period = np.floor_divide(time[rows], window) if window else time[rows]
        number = np.unique(period, return_inverse=True)[1]
        docket.rows(rows[_other(evidence.pseudonym[rows], number)], _AGAIN, evidence.policy.person)
        note = f"needs a trace; without one only their change from period to period is looked at; {note}"
        return docket.finding(NAME, SAYS, otherwise=Verdict.NOT_CHECKABLE, checked=len(rows), note=note)
    rows = evidence.linked[sound[evidence.linked]]
    checked = len(rows)
    for what, name, owner in (
        (_AGAIN, evidence.pseudonym, evidence.period[evidence.told.row]),
        ("bears a pseudonym of another user", evidence.pseudonym, evidence.user[evidence.told.row].astype(np.int64)),
        ("bears another pseudonym than before in its period", _spans(evidence), evidence.pseudonym),
    ):
        wrong = _other(name[rows], owner[rows])
        docket.rows(rows[wrong], what, evidence.policy.person)
        rows = rows[~wrong]
    figures = {"pseudonyms": len(np.unique(evidence.pseudonym[rows])), "periods": len(np.unique(evidence.period))}
    return docket.finding(NAME, SAYS, checked=checked, note=note, figures=figures)


def _other(name: Ints, owner: Ints) -> NDArray[np.bool_]:
    """Which rows have another owner than the first row of the same name."""
    if not len(name):
        return np.zeros(0, bool)
    _, first, place = np.unique(name, return_index=True, return_inverse=True)
    return owner[first][place] != owner


def _spans(evidence: Observed) -> Ints:
    """A number for each user in each period, row by row."""
    record = evidence.told.row
    return evidence.user[record].astype(np.int64) * (int(evidence.period.max(initial=0)) + 1) + evidence.period[record]
