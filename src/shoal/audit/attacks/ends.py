"""End points: the end of an interval is somebody's value.

The attacker sees a group's interval and says: a member has exactly this value. Ends that are the range's own say nothing and
are left out. Success is the share of ends that a member really has.

The baseline is chance: what the same guess would be worth if an end told no more than that members lie near it. A grid tells
that some lie in its step beside the end; how many do is counted, and as many records are drawn at random from all that lie in
that step. Without a grid, or where the step holds no value but the end, nothing is hidden among neighbours, and as many records
as the group has are drawn from all that lie in the whole interval.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.audit.attacks.attack import Attack
from shoal.audit.attacks.groups import Groups
from shoal.audit.evidence import Band, Evidence, Numeric
from shoal.audit.values import Flags, Floats

PLAN = Attack(
    "end points",
    "the published intervals, and the grid",
    "an end of a group's interval is exactly a member's value; baseline: a record drawn at random from the same step of the "
    "grid, or without one from the interval, has it",
)
_MORE = "more often than by chance, since the ends are members' own values: a grid, or a wider one, would hide them"
_NOISE = 1.0  # times 1/√tried: twice the largest standard error of a share
_ROUNDING = 4  # times the distance to the next double

Ints = NDArray[np.integer]


def ends(evidence: Evidence, groups: Groups) -> Attack:
    """Try the ends of every group's intervals."""
    tried = points = 0
    hits, chances = 0.0, 0.0
    for name, attribute in evidence.policy.quasi:
        original, shown = evidence.original[name], evidence.published[name]
        if not isinstance(original, Numeric) or not isinstance(shown, Band):
            continue
        lo, hi = np.fmax.reduceat(shown.lo[groups.row], groups.start), np.fmax.reduceat(shown.hi[groups.row], groups.start)
        crowd = _Crowd(original.value, groups)
        for end, limit, is_low in ((lo, attribute.low, True), (hi, attribute.high, False)):
            telling = ~np.isnan(end) & (end != limit)
            hit, chance = crowd.guess(end, lo, hi, attribute.grid, is_low)
            tried += int(telling.sum())
            hits += float(hit[telling].sum())
            chances += float(chance[telling].sum())
        points += int((lo == hi).sum())
    if not tried:
        return PLAN.hindered("not applicable: no interval ends inside its range")
    success, baseline = hits / tried, chances / tried
    more = success > baseline + _NOISE / math.sqrt(tried)
    told = [_MORE if more else "no more often than by chance"]
    told += [f"{points:,} intervals are a single value that all their members share"] if points else []
    return PLAN.run(tried, success, baseline, "; ".join(told))


class _Crowd:
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

    def _records(self, span: _Span) -> Ints:
        return np.searchsorted(self._all, span.last, side="right") - np.searchsorted(self._all, span.first)

    def _members(self, span: _Span) -> Ints:
        first, last = (np.repeat(each, self._groups.size) for each in span)
        return np.add.reduceat(((self._own >= first) & (self._own <= last)).astype(np.int64), self._groups.start)

    def _chance(self, records: Ints, having: Ints, drawn: Ints) -> Floats:
        """That one of so many drawn has it: 1 - C(records - having, drawn) / C(records, drawn)."""
        rest = records - having - drawn
        log = self._logs
        none = log[records - having] + log[np.maximum(records - drawn, 0)] - log[np.maximum(rest, 0)] - log[records]
        return np.where(rest < 0, 1.0, 1.0 - np.exp(none))


class _Span(NamedTuple):
    """Values from the first to the last, both included."""

    first: Floats
    last: Floats
