"""What is published is the item or an ancestor of it, or blank."""

from __future__ import annotations

import numpy as np

from shoal.audit.finding import Docket, Finding, Verdict
from shoal.audit.observations.evidence import BLANK, NO_LEVEL, UNKNOWN, Observed
from shoal.audit.observations.trace import GENERALIZED, RELEASED, WITHHELD

NAME = "true"
SAYS = "what is published is the item, or an ancestor of it, or blank where that is allowed"


def check(evidence: Observed) -> Finding:
    """Compare each row with the observation that the trace names; without one, whether the input has such an item."""
    docket = Docket(evidence)
    field = evidence.item.names[0]
    for name in evidence.item.names:
        if name in evidence.absent:
            docket.add("the output does not have this field", field=name)
    if docket.broken:
        return docket.finding(NAME, SAYS)
    blank = evidence.nodes.shown == BLANK
    if evidence.rule.withheld == "drop":
        docket.rows(np.flatnonzero(blank), "the item is blank, though the policy drops what is withheld", field)
    if evidence.trace is None:
        docket.rows(np.flatnonzero(evidence.nodes.shown == UNKNOWN), "is no item of the input and no ancestor of one", field)
        note = "needs a trace, which tells the observation of each row"
        return docket.finding(NAME, SAYS, otherwise=Verdict.NOT_CHECKABLE, note=note)
    rows, level = evidence.linked, evidence.level
    docket.rows(rows[(level == NO_LEVEL) & ~blank[rows]], "what is published is not the item, nor an ancestor of it", field)
    how = evidence.told.how[rows]
    shown = np.select([blank[rows], level == 0, level > 0], [WITHHELD, RELEASED, GENERALIZED], how)
    docket.rows(rows[how != shown], "the trace tells another way of leaving than the row shows", field)
    return docket.finding(NAME, SAYS, checked=len(rows))
