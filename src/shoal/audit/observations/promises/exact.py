"""What is withheld, or generalized, had to be."""

from __future__ import annotations

import numpy as np

from shoal.audit.finding import Docket, Finding, Verdict
from shoal.audit.observations.evidence import BLANK, NO_LEVEL, NO_ROW, Observed
from shoal.audit.observations.promises.z_users import required

NAME = "exact"
SAYS = "an observation is published as its item, or else its nearest ancestor, that z users exposed; else it is withheld"


def check(evidence: Observed) -> Finding:
    """Compare what left with the recount; one far behind the stream is left out, whose users may be forgotten."""
    docket, told = Docket(evidence), evidence.releases
    if told is None:
        return _foretold(evidence, docket)
    if set(evidence.item.names) & set(evidence.absent):
        return docket.finding(NAME, SAYS, otherwise=Verdict.NOT_CHECKABLE, note="the output does not have the item")
    count, notes = evidence.count, []
    judged = ~count.behind[evidence.told.row[evidence.linked]]
    rows, level = evidence.linked[judged], evidence.level[judged]
    enough = count.users[evidence.told.row[rows]] >= required(evidence, rows)[:, None]
    nearest = np.where(enough.any(axis=1), enough.argmax(axis=1), NO_LEVEL)
    blank = evidence.nodes.shown[rows] == BLANK
    farther = (nearest != NO_LEVEL) & (nearest < level)
    docket.rows(rows[farther], "the item or a nearer ancestor had z users")
    docket.rows(rows[blank & (nearest != NO_LEVEL)], "left blank, but the item or an ancestor had z users")
    checked = len(rows)
    if evidence.rule.withheld == "drop":
        if evidence.fixed:
            open_ones = ~count.rejected & ~count.behind
            open_ones[told.row[told.row != NO_ROW]] = False
            docket.records(
                np.flatnonzero(open_ones & (count.users >= evidence.least).any(axis=1)),
                "withheld, but the item or an ancestor had z users",
            )
            checked += int(open_ones.sum())
        else:
            notes.append("what was dropped cannot be judged, since its z stands in no file")
    behind = int((count.behind & ~count.rejected).sum())
    if behind:
        notes.append(f"{behind:,} observations more than a window behind the stream are not judged")
    return docket.finding(NAME, SAYS, checked=checked, note="; ".join(notes))


def _foretold(evidence: Observed, docket: Docket) -> Finding:
    """Without a trace: the rows that are not what the input and the policy lead to, and those that are not there."""
    behind, otherwise, note = int((evidence.count.behind).sum()), Verdict.NOT_CHECKABLE, ""
    if evidence.strange is None:
        note = "needs a trace, which tells what was withheld"
    elif behind:
        note = f"needs a trace: of {behind:,} observations more than a window behind the stream it cannot be foretold what left"
    else:
        docket.rows(evidence.strange, "is not what the input and the policy lead to")
        docket.records(evidence.missing, "should have left, but is not in the output")
        note = "without a trace the output is held against what the input and the policy lead to"
    return docket.finding(NAME, SAYS, otherwise=otherwise, checked=evidence.released, note=note)
