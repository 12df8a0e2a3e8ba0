"""No observation left twice, and none that was accepted is lost."""

from __future__ import annotations

import numpy as np

from shoal.audit.finding import Docket, Finding, Verdict
from shoal.audit.observations.evidence import NO_ROW, Observed

NAME = "once"
SAYS = "no observation is published twice, none that was not accepted, and what the trace tells of is in the output"


def check(evidence: Observed) -> Finding:
    """Count in the trace how often each observation left; where nothing is dropped, each must."""
    docket, told = Docket(evidence), evidence.releases
    figures = {"accepted": evidence.accepted, "rejected": evidence.rows - evidence.accepted, "released": evidence.released}
    if told is None:
        blank = evidence.rule.withheld == "blank" and not evidence.count.behind.any()
        if evidence.released > len(evidence.line) or (blank and evidence.released != evidence.accepted):
            docket.add(f"{evidence.released:,} rows left, but {evidence.accepted:,} observations were accepted")
        note = "needs a trace; without one only the numbers of observations can be compared"
        return docket.finding(NAME, SAYS, otherwise=Verdict.NOT_CHECKABLE, note=note, figures=figures)
    known = np.flatnonzero(told.row != NO_ROW)
    row, late = told.row[known], evidence.count.rejected & ~evidence.count.behind
    first = np.full(len(evidence.line), len(told.row))
    np.minimum.at(first, row, known)
    docket.lines(np.flatnonzero(told.row == NO_ROW), "left, but is no observation that can be read")
    docket.lines(known[late[row]], "left, but is more than a window older than the newest of its item")
    docket.lines(known[first[row] != known], "left before")
    if evidence.rule.withheld == "blank":
        sure = ~evidence.count.rejected & ~evidence.count.behind
        docket.records(np.flatnonzero((first == len(told.row)) & sure), "never left")
    docket.rows(np.flatnonzero(evidence.place < 0), "the trace does not tell of it")
    shown = np.zeros(len(told.row), bool)
    shown[evidence.place[evidence.place >= 0]] = True
    docket.lines(np.flatnonzero(~shown), "left by the trace, but is not in the output")
    return docket.finding(NAME, SAYS, checked=evidence.accepted, figures=figures)
