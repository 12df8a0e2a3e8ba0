"""At the moment a tuple leaves, the group whose generalization it wears counts k persons."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.audit.classes import classes
from shoal.audit.cover import is_root
from shoal.audit.evidence import CLUSTER, NO_CLUSTER, NO_ROW, REUSE, Evidence, Trace
from shoal.audit.finding import Docket, Finding, Verdict

NAME = "k persons"
SAYS = "whenever a tuple leaves unsuppressed, the group whose generalization it wears counts at least k persons"


def check(evidence: Evidence) -> Finding:
    """Replay the trace; without one, count the rows that an outsider cannot tell apart."""
    if evidence.releases is None:
        return _outsider(evidence)
    docket, k, told = Docket(evidence), evidence.policy.privacy.k, evidence.releases
    groups = _Groups(evidence, told)
    few = groups.count < k
    what = f"left in a group of fewer than k={k} persons"
    docket.lines(groups.lines[few], what)
    docket.lines(np.flatnonzero((told.how == CLUSTER) & (told.cluster == NO_CLUSTER)), "left in a group that is not named")
    reuses = np.flatnonzero(told.how == REUSE)
    born, count = groups.at(told.cluster[reuses], reuses)
    docket.lines(reuses[~born], "reuses a group that was not published before")
    docket.lines(reuses[born & (count < k)], f"reuses a group of fewer than k={k} persons")
    figures: dict[str, Any] = {"k": k, "groups": groups.groups, "smallest": groups.smallest}
    note = "rows are counted as persons, since the policy names none" if evidence.policy.person is None else ""
    return docket.finding(NAME, SAYS, checked=len(groups.lines) + len(reuses), figures=figures, note=note)


def _outsider(evidence: Evidence) -> Finding:
    docket, k = Docket(evidence), evidence.policy.privacy.k
    found = classes(evidence, evidence.policy.privacy.nulls_match)
    size = found.size + np.where(_shows_nothing(evidence), np.count_nonzero(evidence.suppressed), 0)
    few = np.flatnonzero((size < k) & ~evidence.suppressed & ~found.unknown)
    docket.rows(few, f"fewer than k={k} rows look like it")
    figures = {"k": k, "smallest": found.smallest, "floor": found.floor}
    note = "without a trace rows that look alike are counted, as an outsider sees them, not persons"
    unknown = int(found.unknown.sum())
    if unknown:
        note += f"; {unknown:,} rows match few others at sight and were not compared with all"
    checked = int((~evidence.suppressed).sum()) - unknown
    otherwise = Verdict.NOT_CHECKABLE if unknown else Verdict.HELD
    return docket.finding(NAME, SAYS, otherwise=otherwise, checked=checked, figures=figures, note=note)


def _shows_nothing(evidence: Evidence) -> NDArray[np.bool_]:
    """Which rows show a root or null everywhere: those that show roots alone, suppressed or not, look like them."""
    shown = ((evidence.published[name], attribute) for name, attribute in evidence.policy.quasi)
    return np.logical_and.reduce([is_root(column, attribute) | column.null for column, attribute in shown])


class _Groups:
    """Groups as they were published: the persons that had left in each, at the moment of every release.

    A group leaves as a whole: lines of one group that follow each other and were released at one instant count together.
    """

    def __init__(self, evidence: Evidence, told: Trace) -> None:
        lines = np.flatnonzero((told.how == CLUSTER) & (told.cluster != NO_CLUSTER))
        self.lines = lines[np.argsort(told.cluster[lines], kind="stable")]
        cluster, instant = told.cluster[self.lines], told.released[self.lines]
        new_group = np.append(True, cluster[1:] != cluster[:-1])[: len(lines)]
        apart = np.append(True, self.lines[1:] != self.lines[:-1] + 1)[: len(lines)]
        later = np.append(True, instant[1:] != instant[:-1])[: len(lines)]
        new_run = new_group | apart | later
        run = np.cumsum(new_run) - 1
        row = told.row[self.lines]
        person = np.where(row == NO_ROW, -1, evidence.person[np.maximum(row, 0)]) if len(evidence.person) else row
        fresh = _is_fresh(np.cumsum(new_group) - 1, person)
        had_left = np.cumsum(fresh)
        runs = np.flatnonzero(new_run)
        last = np.append(runs[1:], len(lines)) - 1
        before = (had_left - fresh)[np.flatnonzero(new_group)]
        of_group = np.cumsum(new_group) - 1
        self.count = had_left[last][run] - before[of_group] if len(lines) else np.empty(0, np.int64)
        self._starts = self.lines[runs] if len(lines) else lines
        self._ends = self.lines[last] if len(lines) else lines
        self._cluster = cluster[runs] if len(lines) else lines
        self._persons = self.count[runs] if len(lines) else lines
        self.groups = int(new_group.sum())
        first = new_group[runs] if len(lines) else np.empty(0, bool)
        self.smallest = int(self._persons[first].min()) if self.groups else None

    def at(self, cluster: NDArray[np.int64], lines: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Whether each of these groups had been published before this line of the trace, and its persons by then."""
        if not len(self._cluster):
            return np.zeros(len(lines), bool), np.zeros(len(lines), np.int64)
        width = int(max(self._ends.max(), lines.max(initial=0))) + 2
        order = np.argsort(self._cluster * width + self._ends, kind="stable")
        sorted_runs = (self._cluster * width + self._ends)[order]
        last = np.searchsorted(sorted_runs, cluster * width + lines) - 1
        found = order[np.maximum(last, 0)]
        born = (last >= 0) & (self._cluster[found] == cluster)
        return born, self._persons[found]


def _is_fresh(group: NDArray[np.int64], person: NDArray[np.int64]) -> NDArray[np.int64]:
    """1 where a person appears for the first time in its group, 0 where again, or where nobody is known."""
    fresh = np.zeros(len(group), np.int64)
    width = int(person.max(initial=0)) + 2
    first = np.unique(group * width + person + 1, return_index=True)[1]
    fresh[first] = 1
    fresh[person < 0] = 0
    return fresh
