"""What is published holds the original value, and a missing value stays missing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.audit.cover import cover, imputes, is_root
from shoal.audit.evidence import CLUSTER, NO_PAIR, NO_ROW, Band, Category, Evidence, Node, Numeric
from shoal.audit.finding import Docket, Finding, Verdict
from shoal.audit.values import Flags

NAME = "true"
_SAYS = "each original value lies inside what is published, {}, a suppressed tuple shows the root"
_NULLS = {
    "maybe": "a missing value stays missing",
    "extended": "or is blanked with its group, a missing value stays missing",
    "root": "a missing value is shown as the root",
}
_BARE = "is null, where nulls_match: root shows the root"
_INSTANT = 2e-6  # seconds; times are written to the microsecond


def check(evidence: Evidence) -> Finding:
    """Compare each row of the output with the record that the trace names."""
    docket, reading = Docket(evidence), evidence.policy.privacy.nulls_match
    says = _SAYS.format(_NULLS[reading])
    figures: dict[str, Any] = {"missing": _missing(evidence), "missing_published": _null(evidence)}
    cells = len(evidence.original) * evidence.accepted
    figures["missing_pollution_rate"] = (figures["missing_published"] - figures["missing"]) / cells if cells else 0.0
    for name in evidence.absent:
        if name in evidence.published or (evidence.moment is not None and name not in evidence.shown):
            docket.add("the output does not have this field", field=name)
    if evidence.trace is None:
        if reading == "maybe" and not docket.broken and figures["missing_published"] > figures["missing"]:
            docket.add("more values are null in the output than in the input")
        for name in evidence.published:
            docket.rows(_bare(evidence, name), _BARE, name)
        note = "needs a trace, which tells the record of each row"
        return docket.finding(NAME, says, otherwise=Verdict.NOT_CHECKABLE, note=note, figures=figures)
    figures |= _judge(evidence, docket)
    _times(evidence, docket)
    note = "iot imputes: it shows values for records that had none" if imputes(evidence.policy) else ""
    if figures["blanked"]:
        note = f"{figures['blanked']:,} values were blanked, for the rows of a group to look alike"
    return docket.finding(NAME, says, note=note, checked=evidence.released, figures=figures)


def untrue(evidence: Evidence) -> Flags:
    """Which rows say what is not so of their quasi-identifiers."""
    if NAME not in evidence.remembered:
        _judge(evidence, Docket(evidence))
    found: Flags = evidence.remembered[NAME]
    return found


def _judge(evidence: Evidence, docket: Docket) -> dict[str, int]:
    """Enter what is not so; how many values are imputed, and how many blanked."""
    told, reading = evidence.trace, evidence.policy.privacy.nulls_match
    assert told is not None
    found, imputed, blanked = np.zeros(evidence.released, bool), 0, 0
    shown = np.flatnonzero(~evidence.suppressed & (told.row != NO_ROW))
    hidden = np.flatnonzero(evidence.suppressed)
    records = told.row[shown]
    for name, attribute in evidence.policy.quasi:
        if name in evidence.absent:
            continue
        before, after = evidence.original[name], evidence.published[name]
        covered = cover(before, after, records, shown)
        wrong = covered.beyond(reading, is_root(after, attribute, shown))
        blanked += int((covered.vanished & ~wrong.vanished).sum())
        made_up = _imputed(evidence, after, shown) & wrong.appeared
        imputed += int(made_up.sum())
        kinds = {
            "the value lies outside what is published": shown[wrong.outside],
            "the value became null": shown[wrong.vanished & (reading != "root")],
            _BARE: _bare(evidence, name),
            "a missing value became a value": shown[wrong.appeared & ~made_up],
            "the tuple is suppressed, but does not show the root": hidden[~is_root(after, attribute, hidden)],
            "the counts of an imputed group are wrong": _miscounted(evidence, before, after),
        }
        for what, rows in kinds.items():
            found[rows] = True
            docket.rows(rows, what, name)
    evidence.remembered[NAME] = found
    return {"imputed": imputed, "blanked": blanked}


def _bare(evidence: Evidence, name: str) -> NDArray[np.int64]:
    """The rows that show null where the policy lets none be shown."""
    if evidence.policy.privacy.nulls_match != "root" or name in evidence.absent:
        return np.empty(0, np.int64)
    return np.flatnonzero(evidence.published[name].null & ~evidence.suppressed)


def _imputed(evidence: Evidence, after: Band | Node, rows: NDArray[np.int64]) -> Flags:
    if not imputes(evidence.policy) or after.of is None or after.had is None:
        return np.zeros(len(rows), bool)
    return (after.of[rows] != NO_PAIR) & (after.had[rows] < after.of[rows])


def _miscounted(evidence: Evidence, before: Numeric | Category, after: Band | Node) -> NDArray[np.int64]:
    """The rows whose pair is not that of their group: how many members, and how many of them had a value."""
    told = evidence.trace
    assert told is not None
    if after.of is None or after.had is None:
        return np.empty(0, np.int64)
    paired = np.flatnonzero((after.of != NO_PAIR) | (after.had != NO_PAIR))
    members = np.flatnonzero((told.how == CLUSTER) & (told.cluster >= 0) & (told.row != NO_ROW))
    if not len(members):
        return paired
    there = ~before.missing
    most = int(told.cluster.max()) + 1
    of = np.bincount(told.cluster[members], minlength=most)
    had = np.bincount(told.cluster[members], there[told.row[members]], minlength=most)
    group = told.cluster[paired]
    wrong = (group < 0) | (after.of[paired] != of[group]) | (after.had[paired] != had[group])
    return paired[wrong]


def _times(evidence: Evidence, docket: Docket) -> None:
    """A generalized time is the interval of the window's length, counted from 1970, that holds the record's time."""
    told, moment, time = evidence.trace, evidence.moment, evidence.time
    if told is None or moment is None or time is None:
        return
    rows = np.flatnonzero(told.row != NO_ROW)
    length, own = evidence.policy.window.length, time[told.row[rows]]
    lo, hi = moment.lo[rows], moment.hi[rows]
    aligned = (np.abs(lo - length * np.round(lo / length)) < _INSTANT) & (np.abs(hi - lo - length) < _INSTANT)
    holds = (lo - _INSTANT <= own) & (own <= hi + _INSTANT)
    docket.rows(rows[~(aligned & holds)], "the time is not the interval that it lies in", evidence.time_field)


def _missing(evidence: Evidence) -> int:
    return sum(int(each.missing.sum()) for each in evidence.original.values())


def _null(evidence: Evidence) -> int:
    return sum(int(each.null.sum()) for each in evidence.published.values())
