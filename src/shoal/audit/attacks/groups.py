"""Attacks on groups: their intervals, their order, and the persons who come back.

- *End points*: the attacker sees a group's interval and says that a member has exactly the value of its end. Ends that are the
  range's own reveal nothing and are left out. Success is the share of ends that a member really has. The baseline is chance:
  what the same guess would be worth if an end revealed no more than that members lie near it. With a grid, members lie in its
  step beside the end; how many do is counted, and as many records are drawn at random from all that lie in that step. Without a
  grid, or where the step holds no value but the end, nothing is hidden among neighbours, and as many records as the group has
  are drawn from all that lie in the whole interval.
- *Minimality*: the attacker knows the algorithm: a group is the tuple that fell due and those nearest to it, and leaves in
  order of arrival. So the first of a group is its middle, and the others lie around it. The attacker says that its value is in
  the middle fifth of the group's interval. The baseline says so of a member drawn at random. A value spread evenly would be
  there one time in five.
- *Intersection*: a person who comes back is in several groups, and few others are in all of them. The attacker knows which rows
  are about one person, and which persons are behind each group's rows, though not which row is whose. The persons that appear
  in the group of every one of the rows remain; one of them is guessed. The baseline does it with one row only. Targets are
  persons with at least two unsuppressed rows, drawn at random; at most 20 rows of each count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shoal.audit.attacks.attack import Attack
from shoal.audit.attacks.view import View
from shoal.audit.evidence import Evidence
from shoal.audit.original import Numeric
from shoal.audit.published import Band
from shoal.audit.trace import CLUSTER, Trace
from shoal.audit.values import Flags, Floats, Integers

ENDS = Attack(
    "end points",
    "the published intervals, and the grid",
    "an end of a group's interval is exactly a member's value; baseline: a record drawn at random from the same step of the "
    "grid, or without one from the interval, has it",
)
_MORE = "more often than by chance, since the ends are members' own values: a grid, or a wider one, would hide them"
_NOISE = 1.0  # times 1/√tried: twice the largest standard error of a share
_ROUNDING = 4  # times the distance to the next double
MINIMALITY = Attack(
    "minimality",
    "the published intervals, their order, and that a group is formed around its oldest member",
    "the value of the first of a group is in the middle fifth of its interval; baseline: that of any member",
)
INTERSECTION = Attack(
    "intersection",
    "which rows are about the same person, and which persons are in each group",
    "a person taken at random among those in all the groups is the right one; baseline: among those in one",
)
_ROWS = 20


@dataclass(frozen=True)
class Groups:
    """Members of new groups, without tuples that reuse them.

    Group g has the rows `row[start[g] : start[g] + size[g]]` of the output, in its order; `record` has the accepted records
    behind them.
    """

    row: Integers
    record: Integers
    start: Integers
    size: Integers


def groups(trace: Trace) -> Groups | None:
    """The groups of a trace; None if there are none."""
    row = np.flatnonzero((trace.how == CLUSTER) & (trace.row >= 0) & (trace.cluster >= 0))
    if not len(row):
        return None
    row = row[np.argsort(trace.cluster[row], kind="stable")]
    start = np.flatnonzero(np.diff(trace.cluster[row], prepend=-1))
    return Groups(row, trace.row[row], start, np.diff(start, append=len(row)))


def ends(evidence: Evidence, groups: Groups) -> Attack:
    """Try the ends of every group's intervals."""
    tried = points = 0
    hits, chances = 0.0, 0.0
    for name, attribute in evidence.policy.quasi:
        original, shown = evidence.original[name], evidence.published[name]
        if not isinstance(original, Numeric) or not isinstance(shown, Band):
            continue
        lo, hi = np.fmax.reduceat(shown.lo[groups.row], groups.start), np.fmax.reduceat(shown.hi[groups.row], groups.start)
        values = _Values(original.value, groups)
        for end, limit, is_low in ((lo, attribute.low, True), (hi, attribute.high, False)):
            revealing = ~np.isnan(end) & (end != limit)
            hit, chance = values.guess(end, lo, hi, attribute.grid, is_low)
            tried += int(revealing.sum())
            hits += float(hit[revealing].sum())
            chances += float(chance[revealing].sum())
        points += int((lo == hi).sum())
    if not tried:
        return ENDS.hindered("not applicable: no interval ends inside its range")
    success, baseline = hits / tried, chances / tried
    more = success > baseline + _NOISE / math.sqrt(tried)
    detail = [_MORE if more else "no more often than by chance"]
    detail += [f"{points:,} intervals are a single value that all their members share"] if points else []
    return ENDS.run(tried, success, baseline, "; ".join(detail))


class _Values:
    """The values of all records and those of each group's members."""

    def __init__(self, value: Floats, groups: Groups) -> None:
        self._all = np.sort(value[~np.isnan(value)])
        self._own, self._groups = value[groups.record], groups
        self._logs = np.append(0.0, np.cumsum(np.log(np.arange(1, len(self._all) + 1))))  # of factorials

    def guess(self, end: Floats, lo: Floats, hi: Floats, grid: float | None, is_low: bool) -> tuple[Flags, Floats]:
        """Of each group, whether a member has the end's value, and the chance that as many drawn at random had it."""
        near = _ROUNDING * np.spacing(np.abs(end))
        at, interval = _Span(end - near, end + near), _Span(lo - near, hi + near)
        span = interval
        if grid is not None:
            step = _Span(end - near, end + grid - 2 * near) if is_low else _Span(end - grid + 2 * near, end + near)
            alone = self._records(step) == self._records(at)
            span = _Span(np.where(alone, interval.first, step.first), np.where(alone, interval.last, step.last))
        return self._members(at) > 0, self._chance(self._records(span), self._records(at), self._members(span))

    def _records(self, span: _Span) -> Integers:
        return np.searchsorted(self._all, span.last, side="right") - np.searchsorted(self._all, span.first)

    def _members(self, span: _Span) -> Integers:
        first, last = (np.repeat(each, self._groups.size) for each in span)
        return np.add.reduceat(((self._own >= first) & (self._own <= last)).astype(np.int64), self._groups.start)

    def _chance(self, records: Integers, having: Integers, drawn: Integers) -> Floats:
        """That one of so many drawn has it: 1 - C(records - having, drawn) / C(records, drawn)."""
        rest = records - having - drawn
        log = self._logs
        none = log[records - having] + log[np.maximum(records - drawn, 0)] - log[np.maximum(rest, 0)] - log[records]
        return np.where(rest < 0, 1.0, 1.0 - np.exp(none))


class _Span(NamedTuple):
    """Values from the first to the last, both included."""

    first: Floats
    last: Floats


def minimality(evidence: Evidence, groups: Groups, draw: np.random.Generator) -> Attack:
    """Try the first member of every group, in every numeric quasi-identifier."""
    any_member = groups.start + draw.integers(0, groups.size)
    counts = np.zeros((2, 2), dtype=np.int64)
    for name, _ in evidence.policy.quasi:
        original, shown = evidence.original[name], evidence.published[name]
        if isinstance(original, Numeric) and isinstance(shown, Band):
            for which, place in enumerate((groups.start, any_member)):
                counts[which] += _middle(original.value[groups.record[place]], shown, groups.row[place])
    (tried, hit), (others, struck) = counts.tolist()
    if not tried:
        return MINIMALITY.hindered("not applicable: no group shows an interval")
    return MINIMALITY.run(tried, hit / tried, struck / others if others else 0.0)


def _middle(value: Floats, shown: Band, row: Integers) -> tuple[int, int]:
    lo, hi = shown.lo[row], shown.hi[row]
    asked = (hi > lo) & ~np.isnan(value)
    inside = np.abs(value - (lo + hi) / 2) <= 0.1 * (hi - lo)
    return int(asked.sum()), int((asked & inside).sum())


def intersection(view: View, count: int, draw: np.random.Generator) -> Attack:
    """Try persons with several releases."""
    trace = view.trace
    grouped = (trace.cluster >= 0) & (view.person >= 0)
    returning = np.flatnonzero(np.bincount(view.person[grouped]) >= 2) if grouped.any() else np.zeros(0, dtype=np.int64)
    if not len(returning):
        return INTERSECTION.hindered("not applicable: no person was released twice")
    grouped_rows = np.flatnonzero(grouped)
    grouped_rows = grouped_rows[np.argsort(trace.cluster[grouped_rows], kind="stable")]
    cluster = trace.cluster[grouped_rows]
    chances, single, alone = [], [], 0
    for person in draw.permutation(returning)[:count]:
        own = view.own(int(person))
        remaining = None
        for group in np.unique(trace.cluster[own[trace.cluster[own] >= 0]])[:_ROWS]:
            first, last = np.searchsorted(cluster, [group, group + 1])
            persons = np.unique(view.person[grouped_rows[first:last]])
            if remaining is None:
                remaining = persons
                single.append(1 / len(persons))
            else:
                remaining = np.intersect1d(remaining, persons, assume_unique=True)
        assert remaining is not None
        chances.append(1 / len(remaining))
        alone += len(remaining) == 1
    detail = f"no other person is in all the groups for {alone:,} of {len(chances):,}"
    return INTERSECTION.run(len(chances), float(np.mean(chances)), float(np.mean(single)), detail)
