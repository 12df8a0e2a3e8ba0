"""The promises, checked on the stream and on what was released alone: this code knows nothing of the engine."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from tests.conformance.streams import Stream
from tests.naive import Arrival, Release, Tick


def arrivals(stream: Stream) -> list[Arrival]:
    return [event for event in stream.events if isinstance(event, Arrival)]


def check(stream: Stream, releases: Sequence[Release], name: str = "fads") -> None:
    """Promises 1 to 4 at once, as the named algorithm gives them."""
    leaves_once(stream, releases)
    if not (name == "fast" and stream.window[0] == "time"):  # FAST waits for a full round, whatever the clock says
        assert late(stream, releases, *stays(stream, name)) == []
    is_true(stream, releases, imputes=name == "iot")
    has_k_persons(stream, releases)
    if name != "fast":  # which counts a group as published anew when it is reused
        assert too_old(stream, releases) == []


def stays(stream: Stream, name: str) -> tuple[float, ...]:
    """How long a tuple may stay in the window and, of X-BAND, in the pocket, on the window's clock."""
    kind, length = stream.window
    if kind == "buffer":
        return (math.inf,)
    if name == "xband":
        return length, float(stream.parameters.get("reuse_age", length))
    return (float(stream.parameters.get("deadline", length)) if name == "fast" else length,)


def too_old(stream: Stream, releases: Sequence[Release]) -> list[int]:
    """The rows that wear a group whose age is above what the policy allows."""
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


def has_k_persons(stream: Stream, releases: Sequence[Release]) -> None:
    """At the moment a group leaves it counts k persons; who wears it later finds it published; all wear the same."""
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


def mean_loss(stream: Stream, releases: Sequence[Release]) -> float:
    """The mean loss of what was published."""
    rows = arrivals(stream)
    total = 0.0
    for r in releases:
        shown = [(d, g) for d, v, g in zip(stream.domains, rows[r.row].values, r.generalization or (), strict=True)
                 if v is not None]  # fmt: skip
        if r.how == "suppressed":
            total += 1
        elif _is_imputed(r):
            every = zip(stream.domains, rows[r.row].values, r.generalization or (), strict=True)
            losses = [1 if value is None else domain.loss(g[0]) for domain, value, g in every if g is not None]
            total += sum(losses) / len(losses)
        elif shown:
            total += sum(domain.loss(g) for domain, g in shown) / len(shown)
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
