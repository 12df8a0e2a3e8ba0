"""Sensitive and kept values are published as they came."""

from __future__ import annotations

import numpy as np

from shoal.audit.equality import altered, same_counts
from shoal.audit.evidence import NO_ROW, Evidence
from shoal.audit.finding import Docket, Finding, Verdict

NAME = "unaltered"
SAYS = "sensitive and kept values are published as they came"


def check(evidence: Evidence) -> Finding:
    """Compare each with the record that the trace names; without a trace, how often each value appears."""
    docket = Docket(evidence)
    passed = {**evidence.sensitive, **evidence.kept}
    for name in passed:
        if name in evidence.absent:
            docket.add("the output does not have this field", field=name)
    passed = {name: column for name, column in passed.items() if name not in evidence.absent}
    told = evidence.trace
    if told is None:
        for name, before in passed.items():
            if evidence.accepted == evidence.released and not same_counts(before, evidence.shown[name]):
                docket.add("the values are not those of the input", field=name)
        note = "needs a trace; without one only the numbers of each value can be compared"
        return docket.finding(NAME, SAYS, otherwise=Verdict.NOT_CHECKABLE, note=note)
    rows = np.flatnonzero(told.row != NO_ROW)
    for name, before in passed.items():
        after = evidence.shown[name]
        wrong = altered(before, after if len(rows) == evidence.released else after.take(rows), told.row[rows])
        docket.rows(rows[wrong], "the value is not the one that came", name)
    return docket.finding(NAME, SAYS, checked=len(rows) * len(passed))
