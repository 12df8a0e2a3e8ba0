"""Observations leave in the order in which they came."""

from __future__ import annotations

import numpy as np

from shoal.audit.finding import Docket, Finding, Verdict
from shoal.audit.observations.evidence import NO_ROW, Observed

NAME = "in order"
SAYS = "observations leave in the order of the input"


def check(evidence: Observed) -> Finding:
    """Look for rows whose observation came before that of an earlier row; one that left twice is named elsewhere."""
    docket, told = Docket(evidence), evidence.releases
    if told is None:
        return docket.finding(NAME, SAYS, otherwise=Verdict.NOT_CHECKABLE, note="needs a trace")
    lines = np.flatnonzero(told.row != NO_ROW)
    lines = lines[np.sort(np.unique(told.row[lines], return_index=True)[1])]
    row = told.row[lines]
    docket.lines(lines[row < np.maximum.accumulate(row)], "left after one that came later")
    return docket.finding(NAME, SAYS, checked=len(lines))
