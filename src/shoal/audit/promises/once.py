"""Every accepted record left exactly once."""

from __future__ import annotations

import numpy as np

from shoal.audit.evidence import NO_ROW, Evidence
from shoal.audit.finding import Docket, Finding, Verdict

NAME = "once"
SAYS = "every accepted record left exactly once"


def check(evidence: Evidence) -> Finding:
    """Count in the trace how often each record left, and whether trace and output tell of the same releases."""
    docket = Docket(evidence)
    told = evidence.releases
    figures = {"accepted": evidence.accepted, "rejected": evidence.rows - evidence.accepted, "released": evidence.released}
    if told is None:
        if evidence.accepted != evidence.released:
            docket.add(f"{evidence.released:,} rows left, but {evidence.accepted:,} records were accepted")
        note = "needs a trace; without one only the numbers of records can be compared"
        return docket.finding(NAME, SAYS, otherwise=Verdict.NOT_CHECKABLE, note=note, figures=figures)
    known = np.flatnonzero(told.row != NO_ROW)
    row = told.row[known]
    first = np.full(evidence.accepted, len(told.row))
    np.minimum.at(first, row, known)
    docket.lines(np.flatnonzero(told.row == NO_ROW), "left, but is no accepted record")
    docket.lines(known[first[row] != known], "left before")
    docket.records(np.flatnonzero(first == len(told.row)), "never left")
    docket.rows(np.flatnonzero(evidence.place < 0), "the trace does not tell of it")
    shown = np.zeros(len(told.row), bool)
    shown[evidence.place[evidence.place >= 0]] = True
    docket.lines(np.flatnonzero(~shown), "left by the trace, but is not in the output")
    return docket.finding(NAME, SAYS, checked=evidence.accepted, figures=figures)
