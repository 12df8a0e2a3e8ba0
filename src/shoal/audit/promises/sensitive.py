"""Promises on the sensitive values of a group: diversity (l) and closeness (t)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from shoal.audit.classes import promised
from shoal.audit.evidence import Evidence
from shoal.audit.finding import Docket, Finding, Verdict
from shoal.audit.promises.in_time import INSTANT, clock
from shoal.audit.published import NO_CLASS
from shoal.audit.values import Flags, Floats, Ints, canonical, distinct
from shoal.audit.withheld import withheld
from shoal.policy import Diversity, Requirement

_CELLS = 1 << 20
NO_VALUE = -1
_DIVERSITY = (
    "whenever a tuple leaves unsuppressed, the sensitive values that its group has shown by then differ as much as l asks, or "
    "are withheld for the whole group"
)
_CLOSENESS = (
    "whenever a tuple leaves unsuppressed, the sensitive values that its group has shown by then are no further than t from "
    "those of all: half the sum of the differences in share; or they are withheld for the whole group"
)
_UNKNOWN = "needs a trace: each row of a group shows its own nulls, so that groups cannot be seen"
_OUTSIDER = "without a trace rows that look alike are judged together, as an outsider sees them"
_NO_REFERENCE = "without a distribution in the policy it needs a trace, which shows what had been accepted when a group left"
_ROUNDING = 1e-9  # of the bound, in favour of what was published


class Mixture(NamedTuple):
    """Some moments, one per row; the different values of the moment's group, one per column."""

    moment: Ints
    value: Ints  # the code of each value; -1 where a group has fewer
    counts: Ints  # how often it has been shown up to the end of the moment


def mixtures(group: Ints, moment: Ints, code: Ints, cells: int = _CELLS) -> Iterator[Mixture]:
    """The counts at every moment, some moments at a time; groups and moments are numbered from 0, in this order.

    A code below 0 is no value.

    >>> for found in mixtures(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 2]), np.array([7, 7, 4, -1])):
    ...     print(found.moment.tolist(), found.value.tolist(), found.counts.tolist())
    [2, 0, 1] [[-1, -1], [4, 7], [4, 7]] [[0, 0], [0, 2], [1, 2]]
    """
    if not len(group):
        return
    has = np.flatnonzero(code >= 0)
    width = int(code.max()) + 2
    pair, rank = np.unique(group[has] * width + code[has], return_inverse=True)
    first = np.searchsorted(pair, np.arange(int(group[-1]) + 2) * width)
    owner = group[np.flatnonzero(np.diff(moment, prepend=-1))]
    order = np.argsort(np.diff(first)[owner], kind="stable")  # like groups together, so that few columns are empty
    owner = owner[order]
    breadth = np.diff(first)[owner]
    row = np.argsort(order)[moment[has]]
    by_row = np.argsort(row, kind="stable")
    row, column = row[by_row], (rank - first[group[has]])[by_row]
    start, carried = 0, np.zeros(0, np.int64)
    while start < len(order):
        end = _end(breadth, start, cells)
        columns = np.arange(max(1, int(breadth[end - 1])))
        part = slice(*np.searchsorted(row, [start, end]))
        count = _counts(row[part] - start, column[part], owner[start:end], len(columns), carried)
        inside = columns < breadth[start:end, None]
        value = np.full(count.shape, -1)
        value[inside] = pair[(first[owner[start:end]][:, None] + columns)[inside]] % width
        yield Mixture(order[start:end], value, count)
        goes_on = end < len(order) and owner[end] == owner[end - 1]
        start, carried = end, count[-1] if goes_on else np.zeros(0, np.int64)


def _counts(row: Ints, column: Ints, owner: Ints, columns: int, carried: Ints) -> Ints:
    """Running totals down the rows of each owner; the first owner's go on from what is carried over."""
    total = np.cumsum(np.bincount(row * columns + column, minlength=len(owner) * columns).reshape(-1, columns), axis=0)
    begin = np.maximum.accumulate(np.where(np.diff(owner, prepend=-1) != 0, np.arange(len(owner)), 0))
    count: Ints = total - np.vstack([np.zeros(columns, np.int64), total])[begin]
    count[begin == 0, : len(carried)] += carried
    return count


def _end(breadth: Ints, start: int, cells: int) -> int:
    """Where to stop so that rows times columns stay below so many cells; breadths ascend."""
    far = min(start + max(1, cells // max(1, int(breadth[start]))), len(breadth))
    return min(far, start + max(1, cells // max(1, int(breadth[far - 1]))))


def distance(count: Ints, share: Floats) -> Floats:
    """Half the sum of the differences in share, row by row; `share` is that of the reference in the same values.

    It is the earth mover's distance where all values are equally far from each other, and no less than that along an order. A
    group without any value is at distance 0.

    >>> distance(np.array([[1, 1], [0, 0]]), np.array([[0.5, 0.25], [0.5, 0.25]])).tolist()
    [0.25, 0.0]
    """
    size = count.sum(axis=1, keepdims=True)
    apart = np.abs(count / np.maximum(size, 1) - share).sum(axis=1) + np.maximum(1.0 - share.sum(axis=1), 0.0)
    return np.where(size[:, 0] > 0, apart / 2, 0.0)


class Given(NamedTuple):
    """The distribution that a policy gives; a value that it lacks has share 0."""

    share: Floats  # by code

    @classmethod
    def of(cls, distribution: Mapping[str, float], texts: list[str]) -> Given:
        whole = sum(distribution.values())  # about 1
        return cls(np.array([*(distribution.get(text, 0.0) / whole for text in texts), 0.0]))

    def distance(self, value: Ints, count: Ints) -> Floats:
        return distance(count, self.share[value])


class Stream:
    """The values of the accepted records, in the order of their arrival; below 0 is no value.

    >>> Stream(np.array([1, -1, 0, 1])).distance(np.array([[0, 1]]), np.array([[1, 1]]), np.array([4])).round(3).tolist()
    [0.167]
    """

    def __init__(self, code: Ints) -> None:
        self._width = len(code) + 1
        has = np.flatnonzero(code >= 0)
        self._arrival = np.sort(code[has] * self._width + has)
        self._first = np.searchsorted(self._arrival, np.arange(int(code.max(initial=0)) + 1) * self._width)
        self.valued = np.append(0, np.cumsum(code >= 0))  # how many of the first n have a value

    def distance(self, value: Ints, count: Ints, arrivals: Ints) -> Floats:
        """How far each row is from the first so many arrivals."""
        known = np.maximum(value, 0)
        seen = np.searchsorted(self._arrival, known * self._width + arrivals[:, None]) - self._first[known]
        share = np.where(value < 0, 0, seen) / np.maximum(self.valued[arrivals], 1)[:, None]
        return distance(count, share)


class Values(NamedTuple):
    """A column by its different canonical texts; what is missing has no value."""

    code: Ints
    text: list[str]


def values(column: pa.ChunkedArray, nulls: Collection[str]) -> Values:
    """A number for each different value.

    >>> values(pa.chunked_array([[" flu", "flu", None, "?", "cold"]]), ["?"])
    Values(code=array([ 0,  0, -1, -1,  1]), text=['flu', 'cold'])
    >>> values(pa.chunked_array([[[1], [1], None]]), [])
    Values(code=array([ 0,  0, -1]), text=['[1]'])
    """
    whole = pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0)
    code, different = distinct(whole) if not pa.types.is_nested(whole.type) else (np.arange(len(whole)), whole)
    numbers: dict[str, int] = {}
    each = [_number(value, nulls, numbers) for value in different.to_pylist()]
    return Values(np.array([*each, NO_VALUE], np.int64)[code], list(numbers))


def _number(value: object, nulls: Collection[str], numbers: dict[str, int]) -> int:
    try:
        text = canonical(value)
    except ValueError:  # it is no text, but still a value of its own
        text = repr(value)
    return NO_VALUE if text is None or text in nulls else numbers.setdefault(text, len(numbers))


class Moments(NamedTuple):
    """What shows sensitive values, by group and moment: lines of the trace or, without one, rows that look alike."""

    place: Ints
    group: Ints
    moment: Ints
    traced: bool

    def add(self, docket: Docket, is_bad: Flags, what: str, field: str) -> None:
        """A violation for every line or row at a moment that is bad."""
        found = np.sort(self.place[is_bad[self.moment]]) if len(self.moment) else self.place
        if self.traced:
            docket.lines(found, f"left in {what}", field)
        else:
            docket.rows(found, f"looks like {what}", field)


def moments_of(evidence: Evidence) -> Moments | None:
    """The moments of an output; None where rows of one group look different and there is no trace to name the groups."""
    replay = evidence.replay
    if replay is not None:
        return Moments(replay.line, replay.group, replay.moment, True)
    if promised(evidence.policy) == "maybe":
        return None
    alike = evidence.alike.of
    rows = np.flatnonzero(alike != NO_CLASS)
    rows = rows[np.argsort(alike[rows], kind="stable")]
    return Moments(rows, alike[rows].astype(np.int64), alike[rows].astype(np.int64), False)


def values_at(evidence: Evidence, name: str, moments: Moments) -> Values:
    """The values shown there: with a trace those of its records that are not withheld, without one those of the output."""
    nulls = evidence.policy.nulls_of(name)
    if not moments.traced or evidence.releases is None:
        found = values(evidence.shown[name], nulls)
        return found._replace(code=found.code[moments.place])
    found = values(evidence.sensitive[name], nulls)
    code = np.append(found.code, NO_VALUE)[evidence.releases.row]
    hidden = withheld(evidence, name) & (evidence.place >= 0)
    code[evidence.place[hidden]] = NO_VALUE
    return found._replace(code=code[moments.place])


def diversity(evidence: Evidence) -> Finding:
    """Count the values of each group at each moment; without a trace those of rows that look alike."""
    docket, moments = Docket(evidence), moments_of(evidence)
    asked = {demand.name: demand.l for demand in evidence.policy.requirements if demand.l}
    figures: dict[str, Any] = {
        name: {**bound._asdict(), "least": None, "withheld": int(withheld(evidence, name).sum())}
        for name, bound in asked.items()
    }
    if moments is None:
        return docket.finding("diversity", _DIVERSITY, otherwise=Verdict.NOT_CHECKABLE, note=_UNKNOWN, figures=figures)
    for name, bound in asked.items():
        if name not in evidence.absent or moments.traced:
            figures[name]["least"] = _least_diverse(evidence, docket, moments, name, bound)
    least = ((in_short(bound), name, figures[name]["least"]) for name, bound in asked.items())
    notes = [f"{name}: at least {found:.3g}, {bound}" for bound, name, found in least if found is not None]
    notes += [f"{name}: {each['withheld']:,} values withheld" for name, each in figures.items() if each["withheld"]]
    note = "; ".join(notes if moments.traced else [*notes, _OUTSIDER])
    return docket.finding("diversity", _DIVERSITY, checked=len(moments.place) * len(asked), figures=figures, note=note)


def _least_diverse(evidence: Evidence, docket: Docket, moments: Moments, name: str, asked: Diversity) -> float | None:
    """Add the moments at which one attribute differs too little; the result is the least that was found."""
    bad, least = np.zeros(int(moments.moment.max(initial=-1)) + 1, bool), np.inf
    for moment, _, count in mixtures(moments.group, moments.moment, values_at(evidence, name, moments).code):
        found, shows = measure(asked, count), count.any(axis=1)
        bad[moment] = shows & (found < asked.l * (1 - _ROUNDING) if asked.kind == "entropy" else found < asked.l)
        least = min(least, float(found[shows].min(initial=np.inf)))
    moments.add(docket, bad, f"a group whose values do not differ by {in_short(asked)}", name)
    return least if np.isfinite(least) else None


def measure(asked: Diversity, count: Ints) -> Floats:
    """The largest l for which each row of counts is diverse in the kind that is asked.

    >>> counts = np.array([[4, 2, 1, 1], [4, 0, 0, 0], [0, 0, 0, 0]])
    >>> [measure(Diversity(kind, 2, 2.0), counts).round(2).tolist() for kind in ("distinct", "entropy", "recursive")]
    [[4.0, 1.0, 0.0], [3.36, 1.0, 0.0], [2.0, 1.0, 0.0]]
    """
    if asked.kind == "distinct":
        return (count > 0).sum(axis=1).astype(np.float64)
    if asked.kind == "entropy":
        size = count.sum(axis=1)
        share = count / np.maximum(size, 1)[:, None]
        return np.where(size > 0, np.exp(-(share * np.log(np.where(count > 0, share, 1.0))).sum(axis=1)), 0.0)
    ranked = -np.sort(-count, axis=1)
    bound = asked.c * np.cumsum(ranked[:, ::-1], axis=1)[:, ::-1]
    most = ranked[:, :1]
    return ((most < bound * (1 + _ROUNDING)) & (most != bound)).sum(axis=1).astype(np.float64)


def in_short(asked: Diversity) -> str:
    """What is asked, in short.

    >>> in_short(Diversity("distinct", 3)), in_short(Diversity("entropy", 2.5)), in_short(Diversity("recursive", 3, 2.0))
    ('l=3', 'entropy l=2.5', 'recursive c=2, l=3')
    """
    kind = {"distinct": "", "entropy": "entropy ", "recursive": f"recursive c={asked.c:g}, "}[asked.kind]
    return f"{kind}l={asked.l:g}"


def closeness(evidence: Evidence) -> Finding:
    """Compare each group at each moment with the policy's distribution, or with the input that had been accepted."""
    docket, moments = Docket(evidence), moments_of(evidence)
    asked = [demand for demand in evidence.policy.requirements if demand.t is not None]
    figures: dict[str, Any] = {
        each.name: {"t": each.t, "reference": "input so far" if each.distribution is None else "distribution", "largest": None}
        for each in asked
    }
    if moments is None:
        return docket.finding("closeness", _CLOSENESS, otherwise=Verdict.NOT_CHECKABLE, note=_UNKNOWN, figures=figures)
    able = [each for each in asked if moments.traced or (each.distribution is not None and each.name not in evidence.absent)]
    for demand in able:
        figures[demand.name]["largest"] = _furthest(evidence, docket, moments, demand)
    notes = [
        f"{name}: at most {each['largest']:.3g} from the {each['reference']}, t={each['t']:g}"
        for name, each in figures.items()
        if each["largest"] is not None
    ]
    notes += [] if moments.traced or not able else [_OUTSIDER]
    notes += [_NO_REFERENCE] if len(able) < len(asked) else []
    otherwise = Verdict.HELD if len(able) == len(asked) else Verdict.NOT_CHECKABLE
    checked = len(moments.place) * len(able)
    return docket.finding("closeness", _CLOSENESS, otherwise=otherwise, note="; ".join(notes), checked=checked, figures=figures)


def _furthest(evidence: Evidence, docket: Docket, moments: Moments, demand: Requirement) -> float | None:
    """Add the moments at which one attribute is too far from the reference; the result is the largest distance."""
    assert demand.t is not None
    bound = demand.t * (1 + _ROUNDING)
    found = values_at(evidence, demand.name, moments)
    measured = _Measured(evidence, moments, demand, found, bound)
    bad, largest = np.zeros(int(moments.moment.max(initial=-1)) + 1, bool), -1.0
    for mixture in mixtures(moments.group, moments.moment, found.code):
        apart = measured.distance(mixture)
        bad[mixture.moment] = apart > bound
        largest = max(largest, float(apart.max()))
    moments.add(docket, bad, f"a group whose values are further than t={demand.t:g} from those of all", demand.name)
    return largest if largest >= 0 else None


class _Measured:
    """The distance of groups from the reference of one attribute.

    For the input so far, the files do not say whether the newest arrival was counted at the moment of a release, nor how many
    of several at one instant. So the most favourable reading is taken.
    """

    def __init__(self, evidence: Evidence, moments: Moments, demand: Requirement, found: Values, bound: float) -> None:
        self._bound = bound
        self._given = None if demand.distribution is None else Given.of(demand.distribution, found.text)
        if self._given is None:
            self._stream = Stream(values(evidence.sensitive[demand.name], evidence.policy.nulls_of(demand.name)).code)
            self._fewest, self._most = _arrived(evidence, moments)

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


def _arrived(evidence: Evidence, moments: Moments) -> tuple[Ints, Ints]:
    """How many records had been accepted at each moment, at least and at most."""
    releases = evidence.releases
    assert releases is not None
    first = np.flatnonzero(np.diff(moments.moment, prepend=-1))
    released = releases.released[moments.place[first]]
    if not evidence.policy.window.timed:
        number = np.clip(released, 0, max(evidence.accepted - 1, 0)).astype(np.int64)
        return number, np.minimum(number + 1, evidence.accepted)
    arrived = clock(evidence)
    known = releases.row >= 0
    np.maximum.at(arrived, releases.row[known], releases.arrived[known])
    arrived = np.maximum.accumulate(arrived)
    return np.searchsorted(arrived, released - INSTANT), np.searchsorted(arrived, released + INSTANT, side="right")
