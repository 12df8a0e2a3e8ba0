"""Times and kept values are published as they came."""

from __future__ import annotations

import numpy as np

from shoal.audit.equality import altered
from shoal.audit.finding import Docket, Finding, Verdict
from shoal.audit.observations.evidence import Observed

NAME = "unaltered"
SAYS = "times and kept values are published as they came"


def check(evidence: Observed) -> Finding:
    """Compare each with the observation that the trace names; without one, whether the input has such a time."""
    docket = Docket(evidence)
    for name in evidence.kept:
        if name in evidence.absent:
            docket.add("the output does not have this field", field=name)
    passed = {name: column for name, column in evidence.kept.items() if name not in evidence.absent}
    if evidence.trace is None:
        if evidence.time_field in passed:
            strange = np.flatnonzero(~np.isin(evidence.shown_time, evidence.time))
            docket.rows(strange, "no observation has this time", evidence.time_field)
        note = "needs a trace; without one only times are looked for in the input"
        return docket.finding(NAME, SAYS, otherwise=Verdict.NOT_CHECKABLE, note=note)
    rows = evidence.linked
    for name, before in passed.items():
        wrong = altered(before, evidence.shown[name].take(rows), evidence.told.row[rows])
        docket.rows(rows[wrong], "the value is not the one that came", name)
    return docket.finding(NAME, SAYS, checked=len(rows) * len(passed))
