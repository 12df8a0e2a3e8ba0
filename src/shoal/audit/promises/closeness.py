"""Whenever a tuple leaves, the sensitive values that its group has shown are distributed about as those of all."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.audit.evidence import Evidence
from shoal.audit.finding import Docket, Finding, Verdict
from shoal.audit.mixture import Mixture, mixtures
from shoal.audit.promises.diversity import OUTSIDER, UNKNOWN
from shoal.audit.promises.in_time import INSTANT, clock
from shoal.audit.reference import Given, Stream
from shoal.audit.sensitive import Showing, Values, showing, shown, values
from shoal.policy import Policy
from shoal.policy.sensitive import Requirement

NAME = "closeness"
SAYS = (
    "whenever a tuple leaves unsuppressed, the sensitive values that its group has shown by then are no further than t from "
    "those of all: half the sum of the differences in share"
)
_NO_REFERENCE = "without a distribution in the policy it needs a trace, which tells what had been accepted when a group left"
_ROUNDING = 1e-9  # of t, in favour of what was published

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def is_asked(policy: Policy) -> bool:
    return any(demand.t is not None for demand in policy.requirements)


def check(evidence: Evidence) -> Finding:
    """Compare each group at each moment with the policy's distribution, or with the input that had been accepted."""
    docket, who = Docket(evidence), showing(evidence)
    asked = [demand for demand in evidence.policy.requirements if demand.t is not None]
    figures: dict[str, Any] = {
        each.name: {"t": each.t, "reference": "input so far" if each.distribution is None else "distribution", "largest": None}
        for each in asked
    }
    if who is None:
        return docket.finding(NAME, SAYS, otherwise=Verdict.NOT_CHECKABLE, note=UNKNOWN, figures=figures)
    able = [each for each in asked if who.traced or (each.distribution is not None and each.name not in evidence.absent)]
    for demand in able:
        figures[demand.name]["largest"] = _judge(evidence, docket, who, demand)
    notes = [
        f"{name}: {each['largest']:.3g} at the most from the {each['reference']}, t={each['t']:g}"
        for name, each in figures.items()
        if each["largest"] is not None
    ]
    notes += [] if who.traced or not able else [OUTSIDER]
    notes += [_NO_REFERENCE] if len(able) < len(asked) else []
    otherwise = Verdict.HELD if len(able) == len(asked) else Verdict.NOT_CHECKABLE
    checked = len(who.place) * len(able)
    return docket.finding(NAME, SAYS, otherwise=otherwise, note="; ".join(notes), checked=checked, figures=figures)


def _judge(evidence: Evidence, docket: Docket, who: Showing, demand: Requirement) -> float | None:
    """Enter the moments at which one attribute is too far from the reference; the largest distance."""
    assert demand.t is not None
    bound = demand.t * (1 + _ROUNDING)
    found = shown(evidence, demand.name, who)
    measured = _Measured(evidence, who, demand, found, bound)
    bad, largest = np.zeros(int(who.moment.max(initial=-1)) + 1, bool), -1.0
    for mixture in mixtures(who.group, who.moment, found.code):
        apart = measured.distance(mixture)
        bad[mixture.moment] = apart > bound
        largest = max(largest, float(apart.max()))
    who.enter(docket, bad, f"a group whose values are further than t={demand.t:g} from those of all", demand.name)
    return largest if largest >= 0 else None


class _Measured:
    """The distance of groups from the reference of one attribute.

    Of the input so far, the files do not tell whether the newest arrival was counted at the moment of a release, nor, of
    several at one instant, how many. So the most favourable reading is taken.
    """

    def __init__(self, evidence: Evidence, who: Showing, demand: Requirement, found: Values, bound: float) -> None:
        self._bound = bound
        self._given = None if demand.distribution is None else Given.of(demand.distribution, found.text)
        if self._given is None:
            self._stream = Stream(values(evidence.sensitive[demand.name], evidence.policy.nulls).code)
            self._fewest, self._most = _arrived(evidence, who)

    def distance(self, mixture: Mixture) -> Floats:
        moment, value, count = mixture
        if self._given is not None:
            return self._given.distance(value, count)
        fewest, most = self._fewest[moment], self._most[moment]
        apart = np.minimum(self._stream.distance(value, count, fewest), self._stream.distance(value, count, most))
        for row in np.flatnonzero((apart > self._bound) & (most - fewest > 1)).tolist():
            apart[row] = min(apart[row], self._between(value[[row]], count[[row]], int(fewest[row]), int(most[row])))
        return apart

    def _between(self, value: Ints, count: Ints, fewest: int, most: int) -> float:
        """The first distance within the bound, or the smallest; n values more move the distance by at most n of all."""
        smallest, at = np.inf, fewest
        while at <= most:
            apart = float(self._stream.distance(value, count, np.array([at]))[0])
            smallest = min(smallest, apart)
            if apart <= self._bound:
                break
            at += max(1, int((apart - self._bound) * self._stream.valued[at]))
        return smallest


def _arrived(evidence: Evidence, who: Showing) -> tuple[Ints, Ints]:
    """How many records had been accepted at each moment, at least and at most."""
    told = evidence.releases
    assert told is not None
    first = np.flatnonzero(np.diff(who.moment, prepend=-1))
    released = told.released[who.place[first]]
    if not evidence.policy.window.timed:
        number = np.clip(released, 0, max(evidence.accepted - 1, 0)).astype(np.int64)
        return number, np.minimum(number + 1, evidence.accepted)
    arrived = clock(evidence)
    known = told.row >= 0
    np.maximum.at(arrived, told.row[known], told.arrived[known])
    arrived = np.maximum.accumulate(arrived)
    return np.searchsorted(arrived, released - INSTANT), np.searchsorted(arrived, released + INSTANT, side="right")
