"""What too few persons of a group have is shown as the root."""

from __future__ import annotations

import numpy as np

from shoal.audit.cover import is_root
from shoal.audit.evidence import CLUSTER, NO_ROW, Evidence
from shoal.audit.finding import Docket, Finding, Verdict
from shoal.policy import Policy

NAME = "support"
SAYS = "what fewer than min_support persons of a group have is shown as the root by all who show it"


def is_asked(policy: Policy) -> bool:
    return policy.privacy.min_support > 1


def check(evidence: Evidence) -> Finding:
    """Count, for each group, the members who have each quasi-identifier."""
    docket, told, least = Docket(evidence), evidence.trace, evidence.policy.privacy.min_support
    figures = {"min_support": least, "groups": 0}
    if told is None:
        note = "needs a trace, which tells the groups"
        return docket.finding(NAME, SAYS, otherwise=Verdict.NOT_CHECKABLE, note=note, figures=figures)
    wearing = np.flatnonzero(~evidence.suppressed & (told.cluster >= 0))
    _, group = np.unique(told.cluster[wearing], return_inverse=True)
    groups = int(group.max(initial=-1)) + 1
    record = told.row[wearing]
    is_member = (told.how[wearing] == CLUSTER) & (record != NO_ROW)
    person = evidence.person_of(record)
    width = int(person.max(initial=0)) + 1
    bared = np.zeros(groups, bool)
    for name, attribute in evidence.policy.quasi:
        if name in evidence.absent:
            continue
        counted = np.flatnonzero(is_member & ~evidence.original[name].missing[record])
        support = np.bincount(np.unique(group[counted] * width + person[counted]) // width, minlength=groups)
        scarce = (support > 0) & (support < least)
        column = evidence.published[name]
        shows = ~column.null[wearing] & ~is_root(column, attribute, wearing)
        what = f"is not the root, though fewer than min_support={least} persons of its group have it"
        docket.rows(wearing[shows & scarce[group]], what, name)
        bared |= scarce
    figures["groups"] = int(bared.sum())
    note = f"{figures['groups']:,} of {groups:,} groups have something that fewer than {least} persons of theirs have"
    return docket.finding(NAME, SAYS, note=note, checked=len(wearing), figures=figures)
