"""Amber and red: what somebody should look at, and since when."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from shoal.telemetry.log import Level
from shoal.text import percent

_CALM = 10  # seconds for which a check is lower before it counts as lower
_FEWEST = 20  # tuples, before a share of them says anything


class Bound(NamedTuple):
    """A check is amber above the first, and red above the second."""

    amber: float
    red: float

    def level(self, value: float) -> Level:
        return "red" if value > self.red else "amber" if value > self.amber else "info"


class Bounds(NamedTuple):
    """What is looked at, and from where on it is amber or red."""

    rejected: Bound = Bound(0.01, 0.1)  # of the records of the last minute
    outside: Bound = Bound(0.05, 0.2)  # of the tuples of the last minute, outside k
    sink: Bound = Bound(0.5, 0.9)  # of the last ten seconds, spent waiting for the sink
    checkpoint: Bound = Bound(3, 10)  # ages of a checkpoint, in intervals
    wait: Bound = Bound(1, 1.5)  # longest wait of the last minute, in deadlines with their tolerance


USUAL = Bounds()


class Check(NamedTuple):
    """How one thing stands, in words."""

    level: Level
    text: str


@dataclass
class Watchdog:
    """Remembers how each check stands, and tells what changed. A check falls only after it was lower for some seconds.

    >>> dog = Watchdog()
    >>> dog.see({"sink": Check("amber", "It waits for the sink.")})
    [Check(level='amber', text='It waits for the sink.')]
    >>> [dog.see({"sink": Check("info", "The sink keeps up.")}) for _ in range(10)][-1]
    [Check(level='info', text='The sink keeps up.')]
    """

    standing: dict[str, Check] = field(default_factory=dict)
    _lower: dict[str, int] = field(default_factory=dict)

    def see(self, found: Mapping[str, Check]) -> list[Check]:
        """Called once a second; returns the checks whose level has changed."""
        changed = []
        for name, check in found.items():
            before = self.standing.get(name, Check("info", ""))
            falls = _RANK[check.level] < _RANK[before.level]
            self._lower[name] = self._lower.get(name, 0) + 1 if falls else 0
            if falls and self._lower[name] < _CALM:
                continue
            self.standing[name] = check
            if check.level != before.level:
                changed.append(check)
        return changed


_RANK = {"info": 0, "amber": 1, "red": 2}


def stream_checks(minute: Mapping[str, float], bounds: Bounds, is_filter: bool) -> Iterable[tuple[str, Check]]:
    """Of the sums of the last minute: shares of what was rejected, and of what left outside k."""
    if minute["in"] >= _FEWEST:
        part = minute["rejected"] / minute["in"]
        yield "rejected", Check(bounds.rejected.level(part), f"{percent(part)} of the last minute's records were rejected.")
    if not is_filter and minute["out"] >= _FEWEST:
        part = minute["suppressed"] / minute["out"]
        yield "suppressed", Check(bounds.outside.level(part), f"{percent(part)} of the last minute's tuples left outside k.")


def wait_check(longest: float, deadline: float, tolerance: float, bounds: Bounds) -> Check:
    """The longest wait of the last minute by the wall clock."""
    if math.isnan(longest):
        return Check("info", "No tuple has left within the last minute.")
    text = f"By the wall clock a tuple waited {longest:.3g} s; the deadline is {deadline:g} s, the tolerance {tolerance:.2g} s."
    return Check(bounds.wait.level((longest - tolerance) / deadline), text)


def promise_checks(stats: Any, k: int) -> Iterable[tuple[str, Check]]:
    """What must never be."""
    smallest = getattr(stats, "smallest_group", None)
    if smallest is not None and smallest < k:
        said = f"A group of {smallest} persons left, and {k} are promised. Stop the pipeline and report it."
        yield "promise", Check("red", said)
    stopped = sum(number for fault, number in getattr(stats, "faults", {}).items() if fault != "late")
    if stopped:
        yield "faults", Check("red", "The door stopped releases: a fault of the algorithm; please report it.")


def data_checks(stats: Any) -> Iterable[tuple[str, Check]]:
    """Fields that came or went since the first records."""
    if stats.drift.new:
        yield "drift", Check("amber", "Records have fields that the first ones did not have; these are not published.")
    if stats.drift.absent:
        yield "absent", Check("amber", f"Records lack fields of the policy: {', '.join(sorted(stats.drift.absent))}.")


def link_checks(links: Mapping[str, bool | None]) -> Iterable[tuple[str, Check]]:
    """Whether the source and the sink have a connection, where that is known."""
    for name, is_connected in links.items():
        if is_connected:
            yield name, Check("info", f"The {name} is connected.")
        elif is_connected is not None:
            yield name, Check("red", f"The {name} has lost its connection.")


def sink_check(share: float, bounds: Bounds) -> Check:
    """Back-pressure: the part of the time that the sink takes."""
    level = bounds.sink.level(share)
    said = "The sink keeps up." if level == "info" else f"The pipeline waits for its sink {percent(share)} of the time."
    return Check(level, said)


def checkpoint_check(age: float, every: float, bounds: Bounds) -> Check:
    """The age of the last checkpoint, against how often there should be one."""
    level = bounds.checkpoint.level(max(age - 5, 0) / every)
    due = f"The last checkpoint is older than {age:.0f} s; one is due every {every:g} s."
    return Check(level, "Checkpoints are written." if level == "info" else due)
