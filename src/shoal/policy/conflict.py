"""Sections of a policy that are right by themselves but do not go together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from shoal.policy.algorithm import Parameters
from shoal.policy.document import MOST_QUASI, NOBODY
from shoal.policy.event_time import Time
from shoal.policy.privacy import Privacy
from shoal.policy.window import Window


def conflicts(sections: Mapping[str, Any], names: Collection[object]) -> Iterator[str]:
    """What does not go together, given the sections that could be read and the names of all attributes."""
    yield from _fields(sections, names)
    attributes = sections.get("attributes")
    if attributes is not None:
        yield from _quasi(sum(attribute.quasi is not None for attribute in attributes.values()))
    match sections:
        case {"privacy": Privacy() as privacy, "window": Window() as window}:
            yield from _size(privacy, window)
    match sections:
        case {"time": Time() | None as time, "window": Window() as window}:
            yield from _clock(time, window)
    match sections:
        case {"privacy": Privacy() as privacy, "window": Window() as window, "algorithm": Parameters() as algorithm}:
            yield from (f"algorithm.{key}: {text}" for key, text in algorithm.problems(privacy.k, window))


def _fields(sections: Mapping[str, Any], names: Collection[object]) -> Iterator[str]:
    person, time = sections.get("person"), sections.get("time")
    if person in names and person != NOBODY:
        yield f"attributes.{person}: is the person, who is never published; remove it"
    if time and time.field in names:
        yield f"attributes.{time.field}: is the event time, which is published by time.publish; remove it"
    if time and time.field == person and person != NOBODY:
        yield "time.field: is also the person; name another field"


def _quasi(number: int) -> Iterator[str]:
    if number == 0:
        yield "attributes: has no quasi-identifier; give at least one quasi: numeric or quasi: categorical"
    if number > MOST_QUASI:
        yield f"attributes: has {number} quasi-identifiers; use at most {MOST_QUASI}"


def _size(privacy: Privacy, window: Window) -> Iterator[str]:
    k, kind, length = privacy.k, window.kind, int(window.length)
    if not window.timed and length < k:
        yield f"window.{kind}={length} is below k={k}: no group could ever fill. Use at least {k}."


def _clock(time: Time | None, window: Window) -> Iterator[str]:
    if window.timed and time is None:
        yield "window.time: needs the records' own time; add time: {field: …}"
    if time and time.publish == "generalize" and not window.timed:
        yield "time.publish: generalize makes buckets of a time window's length; use drop, or window: {time: …}"
