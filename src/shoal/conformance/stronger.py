"""The stronger promises, checked on the stream and on what was released alone: this code knows nothing of the engine."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from shoal.conformance.naive import Arrival, Demand, Release
from shoal.conformance.promises import arrivals, blurs, has_one_in_k, imputes, late, leaves_once, shows_one_time, stays, steps
from shoal.conformance.streams import Stream


def check(stream: Stream, releases: Sequence[Release], name: str) -> None:
    """Every tuple leaves once and in time, in a group of k persons that shows what the reading of nulls allows."""
    leaves_once(stream, releases)
    if not (name == "fast" and stream.window[0] == "time"):  # FAST waits for a full round, whatever the clock says
        patient = late(stream, releases, *stays(stream, name))
        assert stream.stretch > 1 or patient == []
        longest, *pocket = stays(stream, name)
        assert late(stream, releases, stream.stretch * longest, *pocket) == []
    has_one_in_k(stream, releases)
    shows_one_time(stream, releases)
    rows = arrivals(stream)
    groups: dict[int | None, list[Release]] = {}
    for step in steps(releases):
        if step[0].how == "suppressed":
            assert step[0].cluster is None
            assert step[0].generalization == tuple(domain.root for domain in stream.domains)
            continue
        if step[0].how == "cluster":
            assert step[0].cluster == len(groups)
            assert len({rows[r.row].person for r in step}) >= stream.k
            groups[step[0].cluster] = step
        for r in step:
            if stream.match == "blurred":
                blurs(stream, rows, r, groups[r.cluster])
            else:
                wears(stream, rows, r, groups[r.cluster], imputed=imputes(name) and stream.match == "maybe")


def wears(stream: Stream, rows: Sequence[Arrival], release: Release, group: Sequence[Release], imputed: bool) -> None:
    """A tuple shows what the members that the group left with allow, and its own values lie inside."""
    every = zip(stream.domains, rows[release.row].values, release.generalization or (), strict=True)
    for q, (domain, value, g) in enumerate(every):
        having = {rows[r.row].person for r in group if rows[r.row].values[q] is not None}
        everybody = all(rows[r.row].values[q] is not None for r in group)
        assert g == (group[0].generalization or ())[q] or (stream.match == "maybe" and None in (g, _first(group, q)))
        if stream.match == "maybe":
            if imputed and isinstance(g, tuple) and len(g) == 3:
                g = g[0]
            else:
                assert (g is None) == (value is None)
            assert g is None or len(having) >= stream.support or g == domain.root
        elif not everybody:
            assert g == (None if stream.match == "extended" else domain.root)
        else:
            assert value is not None
        assert value is None or g is None or domain.contains(g, value)


def _first(group: Sequence[Release], q: int) -> Any:
    return (group[0].generalization or ())[q]


class Values:
    """The sensitive values that groups have shown; every step must hold by one of the values that had come by then."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.rows = arrivals(stream)
        self.shown: dict[tuple[int, int], Counter[str]] = {}
        self.withheld: set[tuple[int, int]] = set()  # a group and an attribute

    def add(self, releases: Sequence[Release], came: Sequence[int]) -> None:
        """What left while so many tuples, or so many, had come."""
        for step in steps(releases):
            for i, demand in enumerate(self.stream.demands):
                cluster = step[0].cluster
                published = [r.sensitive[demand.attribute] for r in step]
                kept = published == [self.rows[r.row].sensitive[demand.attribute] for r in step]
                nothing = step[0].how == "cluster" and set(published) == {None}
                if cluster is None:
                    assert kept
                elif nothing and (not kept or self.demands_a_value(demand)):
                    self.withheld.add((cluster, demand.attribute))
                else:
                    assert kept and (cluster, demand.attribute) not in self.withheld
                    shown = self.shown.setdefault((cluster, i), Counter())
                    shown.update(value for value in published if value is not None)
                    assert any(holds(demand, shown, Counter(self.values(demand, range(number)))) for number in came)

    def demands_a_value(self, demand: Demand) -> bool:
        return any(other.kind != "t" for other in self.stream.demands if other.attribute == demand.attribute)

    def values(self, demand: Demand, rows: Iterable[int]) -> list[str]:
        found = (self.rows[row].sensitive[demand.attribute] for row in rows)
        return [value for value in found if value is not None]


def holds(demand: Demand, shown: Counter[str], came: Counter[str]) -> bool:
    total = sum(shown.values())
    counts = sorted(shown.values(), reverse=True)
    match demand.kind, demand.numbers:
        case "distinct", (n,):
            return len(counts) >= n
        case "entropy", (n,):
            return math.prod((total / count) ** (count / total) for count in counts) >= n - 1e-9
        case "recursive", (c, n):
            return bool(counts) and counts[0] < c * sum(counts[int(n) - 1 :])
        case "t", (t,):
            reference = demand.reference or {value: count / sum(came.values()) for value, count in came.items()}
            above = (shown[value] / total - reference.get(value, 0.0) for value in shown)
            return total == 0 or sum(excess for excess in above if excess > 0) <= t + 1e-9
    raise ValueError(demand.kind)
