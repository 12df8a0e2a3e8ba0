"""The promises, checked on the stream and on what was released alone: this code knows nothing of the engine."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from shoal.conformance.naive import Arrival, Doubtful, Release, Tick
from shoal.conformance.streams import Stream, policy_of
from shoal.policy import NAMES, parameters_of


def arrivals(stream: Stream) -> list[Arrival]:
    return [event for event in stream.events if isinstance(event, Arrival)]


def check(stream: Stream, releases: Sequence[Release], name: str = "fads") -> None:
    """Promises 1 to 4 at once, as the named algorithm gives them."""
    leaves_once(stream, releases)
    if not (name == "fast" and stream.window[0] == "time"):  # FAST waits for a full round, whatever the clock says
        assert late(stream, releases, *stays(stream, name)) == []
    if stream.match == "blurred":
        is_blurred(stream, releases)
    else:
        is_true(stream, releases, imputes=imputes(name))
    has_k_persons(stream, releases)
    has_one_in_k(stream, releases)
    shows_one_time(stream, releases)
    if name != "fast":  # which counts a group as published anew when it is reused
        assert too_old(stream, releases) == []


def imputes(name: str) -> bool:
    """Whether an algorithm publishes values for tuples that had none, where nulls match any value."""
    return bool(getattr(parameters_of(name), "imputes", False))


def stays(stream: Stream, name: str) -> tuple[float, ...]:
    """How long a tuple may stay in the window and, of X-BAND, in the pocket, on the window's clock."""
    kind, length = stream.window
    if name not in NAMES:
        own = policy_of(name, stream)
        return (own.algorithm.longest_wait(own.window),)
    if kind == "buffer":
        return (math.inf,)
    if name == "xband":
        return length, float(stream.parameters.get("reuse_age", length))
    return (float(stream.parameters.get("deadline", length)) if name == "fast" else length,)


def too_old(stream: Stream, releases: Sequence[Release]) -> list[int]:
    """The rows that use a group whose age is above what the policy allows."""
    published = {r.cluster: r.released for r in reversed(releases) if r.how == "cluster"}
    age = float(stream.parameters.get("reuse_age", math.inf))
    return [r.row for r in releases if r.how == "reuse" and r.released - published[r.cluster] >= age]


def leaves_once(stream: Stream, releases: Sequence[Release]) -> None:
    assert Counter(r.row for r in releases) == Counter(range(len(arrivals(stream))))


def late(stream: Stream, releases: Sequence[Release], *stays: float) -> list[int]:
    """The rows that were held past their deadline; checks that arrivals bear the right time.

    Each stay begins when the clock, which may jump, says that the one before is over.
    """
    came, moments = _clock(stream)
    for r in releases:
        assert r.arrived == came[r.row]
        assert r.released >= r.arrived
    due = {}
    for r in releases:
        due[r.row] = r.arrived
        for stay in stays:
            due[r.row] = next((now for now in moments if now - due[r.row] >= stay), math.inf)
    return sorted(r.row for r in releases if r.released > due[r.row])


def is_true(stream: Stream, releases: Sequence[Release], imputes: bool = False) -> None:
    """A value lies inside what is published, a null stays null, and a suppressed tuple shows every root.

    Where an algorithm imputes, all members of an imputed group show all that any of them has, with both counts.
    """
    rows = arrivals(stream)
    members = Counter(r.cluster for r in releases if r.how == "cluster")
    for r in releases:
        shown = r.generalization
        assert shown is not None
        for q, (domain, value, g) in enumerate(zip(stream.domains, rows[r.row].values, shown, strict=True)):
            if r.how == "suppressed":
                assert g == domain.root
                continue
            if imputes and isinstance(g, tuple) and len(g) == 3:
                having = [s.row for s in releases if s.cluster == r.cluster and rows[s.row].values[q] is not None]
                assert g[1:] == (members[r.cluster], len(having))
                g = g[0]
            else:
                assert (g is None) == (value is None)
            assert value is None or domain.contains(g, value)


def is_blurred(stream: Stream, releases: Sequence[Release]) -> None:
    """Who is in a group shows what the group shows; a suppressed tuple shows every root, none in doubt."""
    rows, groups = arrivals(stream), members(releases)
    for r in releases:
        if r.how == "suppressed":
            assert r.generalization == tuple(domain.root for domain in stream.domains)
        else:
            blurs(stream, rows, r, groups[r.cluster])


def blurs(stream: Stream, rows: Sequence[Arrival], release: Release, group: Sequence[Release]) -> None:
    """A tuple shows the same as all members that the group left with, and could be one of them.

    In doubt is what some of them lack, missing what all lack; what too few persons have is the root.
    """
    assert release.generalization == group[0].generalization
    every = zip(stream.domains, rows[release.row].values, release.generalization or (), strict=True)
    for q, (domain, value, g) in enumerate(every):
        lacks = [rows[r.row].values[q] is None for r in group]
        assert (g is None) == all(lacks)
        assert isinstance(g, Doubtful) == (any(lacks) and not all(lacks))
        if value is None:
            assert any(lacks), "the tuple lacks what all members have"
        else:
            assert g is not None and domain.contains(certain(g), value)
        if g is not None and len(having(rows, group, q)) < stream.support:
            assert g == Doubtful(domain.root)


def certain(g: Any) -> Any:
    """What is shown, in doubt or not."""
    return g.value if isinstance(g, Doubtful) else g


def having(rows: Sequence[Arrival], group: Sequence[Release], q: int) -> set[Any]:
    """The persons of a group that have a quasi-identifier."""
    return {rows[r.row].person for r in group if rows[r.row].values[q] is not None}


def members(releases: Sequence[Release]) -> dict[int | None, list[Release]]:
    """The tuples that left together, by group."""
    groups: dict[int | None, list[Release]] = {}
    for r in releases:
        if r.how == "cluster":
            groups.setdefault(r.cluster, []).append(r)
    return groups


def has_k_persons(stream: Stream, releases: Sequence[Release]) -> None:
    """When a group leaves, it counts k persons. A tuple that reuses it leaves later. All its tuples show the same."""
    rows = arrivals(stream)
    worn: dict[int, dict[int, Any]] = {}
    for group in steps(releases):
        first = group[0]
        if first.how == "suppressed":
            assert first.cluster is None
            continue
        assert first.cluster is not None
        if first.how == "cluster":
            assert first.cluster == len(worn), "groups are numbered in order, and none is published twice"
            assert len({rows[r.row].person for r in group}) >= stream.k
            assert len({r.released for r in group}) == 1
            assert [r.row for r in group] == sorted(r.row for r in group)
            worn[first.cluster] = {}
        for r in group:
            for q, g in enumerate(r.generalization or ()):
                assert g is None or worn[first.cluster].setdefault(q, g) == g


def has_one_in_k(stream: Stream, releases: Sequence[Release]) -> None:
    """At every moment no person has more than 1/k of the rows of a group."""
    rows, people = arrivals(stream), dict[int, Counter[Any]]()
    for step in steps(releases) if stream.one_in_k else ():
        if step[0].cluster is not None:
            counted = people.setdefault(step[0].cluster, Counter())
            counted.update(rows[r.row].person for r in step)
            assert max(counted.values()) * stream.k <= counted.total()


def shows_one_time(stream: Stream, releases: Sequence[Release]) -> None:
    """All rows of a group show one interval on the grid, no wider than its members need; a suppressed tuple shows none."""
    rows, groups, grid = arrivals(stream), members(releases), stream.time_grid
    for r in releases:
        if grid is None or r.how == "suppressed":
            assert r.moment is None
            continue
        assert r.moment is not None
        low, high = r.moment
        times = [rows[member.row].time for member in groups[r.cluster]]
        assert low <= rows[r.row].time <= high
        assert min(times) < low + grid and high - grid < max(times)  # max(times) + grid may be rounded
        assert all(math.isclose(end / grid, round(end / grid), abs_tol=1e-9) for end in r.moment)


def mean_loss(stream: Stream, releases: Sequence[Release]) -> float:
    """The mean loss of what was published; what too few persons of a group have is lost."""
    rows, groups = arrivals(stream), members(releases)
    total = 0.0
    for r in releases:
        every = zip(stream.domains, rows[r.row].values, r.generalization or (), strict=True)
        shown = [(q, domain, g) for q, (domain, value, g) in enumerate(every) if value is not None]
        if r.how == "suppressed":
            total += 1
        elif _is_imputed(r):
            every = zip(stream.domains, rows[r.row].values, r.generalization or (), strict=True)
            losses = [1 if value is None else domain.loss(g[0]) for domain, value, g in every if g is not None]
            total += sum(losses) / len(losses)
        elif shown:
            thin = [len(having(rows, groups[r.cluster], q)) < stream.support for q, _, _ in shown]
            losses = [1 if few else domain.loss(certain(g)) for few, (_, domain, g) in zip(thin, shown, strict=True)]
            total += sum(losses) / len(losses)
    return total / len(releases) if releases else 0.0


def _is_imputed(r: Release) -> bool:
    return any(isinstance(g, tuple) and len(g) == 3 for g in r.generalization or ())


def steps(releases: Sequence[Release]) -> Iterator[list[Release]]:
    """Groups as they left, one after the other; a reuse or a suppressed tuple is a step of its own."""
    step: list[Release] = []
    for r in releases:
        if step and not (r.how == "cluster" and step[-1].how == "cluster" and r.cluster == step[-1].cluster):
            yield step
            step = []
        step.append(r)
    if step:
        yield step


def _clock(stream: Stream) -> tuple[list[float], list[float]]:
    """When each arrival came on the window's clock, and every moment that the clock showed."""
    if stream.window[0] != "time":
        numbers = [float(i) for i in range(len(arrivals(stream)))]
        return numbers, numbers
    came, moments = [], []
    for event in stream.events:
        own = event.now if isinstance(event, Tick) else event.time
        assert own is not None
        moments.append(max([own, *moments[-1:]]))
        if isinstance(event, Arrival):
            came.append(moments[-1])
    return came, moments
