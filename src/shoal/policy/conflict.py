"""Sections of a policy that are right by themselves but do not go together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from shoal.policy.algorithm import FILTER, Fast, Parameters
from shoal.policy.attribute import Attribute
from shoal.policy.document import MOST_QUASI, NOBODY
from shoal.policy.event_time import Time
from shoal.policy.privacy import Privacy
from shoal.policy.sparse import SUPPRESS
from shoal.policy.window import Window


def conflicts(sections: Mapping[str, Any], names: Collection[object], filters: bool) -> Iterator[str]:
    """What does not go together, given the sections that could be read and the names of all attributes.

    `filters` says whether observations are released or withheld at once, instead of held in a window.
    """
    yield from _fields(sections, names)
    attributes = sections.get("attributes") or None
    if filters:
        yield from _filter(sections, attributes or {})
        return
    if sections.get("item"):
        yield f"item: is counted by {FILTER} only; remove it, or use algorithm: {{name: {FILTER}, …}}"
    if attributes is not None:
        yield from _quasi(sum(attribute.quasi is not None for attribute in attributes.values()))
        yield from _weights(sections.get("weights") or {}, attributes)
    match sections:
        case {"privacy": Privacy() as privacy, "attributes": dict() as listed}:
            yield from _sensitive(privacy, listed)
    match sections:
        case {"privacy": Privacy() as privacy, "window": Window() as window}:
            yield from _size(privacy, window)
    if sections.get("lanes", 1) > 1:
        yield from _lanes(sections)
    if isinstance(sections.get("algorithm"), Fast) and sections["algorithm"].workers > 1:
        yield from _workers(sections)
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
    if item := sections.get("item"):
        others = {person: "the person", **({time.field: "the event time"} if time else {})}
        for name in item.names:
            if name in names:
                yield f"attributes.{name}: is the item, which is published anyway; remove it"
            if name in others and name != NOBODY:
                yield f"item.{item.place}: is also {others[name]}; name another field"


def _filter(sections: Mapping[str, Any], attributes: Mapping[str, Attribute]) -> Iterator[str]:
    """Where observations are released or withheld at once."""
    time = sections.get("time")
    if sections.get("person") == NOBODY:
        yield "person: none tells no users apart; name the field that does"
    if sections.get("person_missing") == "own":
        yield "person_missing: own leaves nobody to count; use reject"
    if time and "publish" in time.model_fields_set and time.publish != "keep":
        yield f"time.publish: {FILTER} publishes each time as it came; use keep"
    for name, attribute in attributes.items():
        if attribute.quasi:
            yield f"attributes.{name}.quasi: {FILTER} generalizes items only; use sensitive: true or publish: keep"
    if sections.get("privacy"):
        yield f"privacy: {FILTER} promises z users an item instead of k persons a group; remove it"
    if sections.get("window"):
        yield f"window: {FILTER} holds nothing; remove it, and give algorithm.window"
    if sections.get("weights"):
        yield f"weights: {FILTER} knows no quasi-identifiers; remove it"
    if sections.get("sparse", SUPPRESS) != SUPPRESS:
        yield f"sparse: {FILTER} holds nothing; remove it"
    if sections.get("lanes", 1) > 1:
        yield f"lanes: {FILTER} holds no window to be split; remove it"
    for name, attribute in attributes.items():
        for key in ("l", "t", "distribution"):
            if getattr(attribute, key):
                yield f"attributes.{name}.{key}: {FILTER} publishes no groups; remove it"


def _quasi(number: int) -> Iterator[str]:
    if number == 0:
        yield "attributes: has no quasi-identifier; give at least one quasi: numeric or quasi: categorical"
    if number > MOST_QUASI:
        yield f"attributes: has {number} quasi-identifiers; use at most {MOST_QUASI}"


def _weights(weights: Mapping[str, float], attributes: Mapping[str, Attribute]) -> Iterator[str]:
    for name in weights:
        if name not in attributes or not attributes[name].quasi:
            yield f"weights.{name}: is no quasi-identifier; remove it, or list it under attributes"


def _sensitive(privacy: Privacy, attributes: Mapping[str, Attribute]) -> Iterator[str]:
    for key in ("l", "t"):
        if getattr(privacy, key) is not None and not any(attribute.sensitive for attribute in attributes.values()):
            yield f"privacy.{key}: no attribute is sensitive; mark one with sensitive: true, or remove it"
    for name, attribute in attributes.items():
        if attribute.distribution and attribute.t is None and privacy.t is None:
            yield f"attributes.{name}.distribution: is compared by t, which is absent; give t, or remove it"
    asked = {f"attributes.{name}.l": attribute.l for name, attribute in attributes.items() if attribute.sensitive}
    for place, demand in {**asked, "privacy.l": privacy.l if None in asked.values() else None}.items():
        if demand and demand.kind == "distinct" and demand.l > privacy.k:
            yield f"{place}: is above k={privacy.k}; raise k to {demand.l:.0f}, or lower l"


def _size(privacy: Privacy, window: Window) -> Iterator[str]:
    k, kind, length = privacy.k, window.kind, int(window.length)
    if not window.timed and length < k:
        yield f"window.{kind}={length} is below k={k}: no group could ever fill. Use at least {k}."


def _lanes(sections: Mapping[str, Any]) -> Iterator[str]:
    if sections.get("sparse", SUPPRESS) != SUPPRESS:
        yield "sparse: a longer window waits for k persons of the whole stream, which no lane sees; use suppress, or lanes: 1"
    match sections:
        case {"privacy": Privacy(k=k), "window": Window(buffer=int(room)), "lanes": int(lanes)} if k <= room < k * lanes:
            yield f"lanes: leave each lane {room // lanes} tuples of the buffer, below k={k}; use at most {room // k} lanes"


def _workers(sections: Mapping[str, Any]) -> Iterator[str]:
    if sections.get("lanes", 1) > 1:
        yield "algorithm.workers: a lane has one worker; use 1, or lanes: 1"
    elif sections.get("sparse", SUPPRESS) != SUPPRESS:
        yield "sparse: a longer window waits for k persons of the whole stream, which no worker sees; use suppress, or 1 worker"


def _clock(time: Time | None, window: Window) -> Iterator[str]:
    if window.timed and time is None:
        yield "window.time: needs the records' own time; add time: {field: …}"
    if time and time.publish == "generalize" and not window.timed:
        yield "time.publish: generalize makes buckets of a time window's length; use drop, or window: {time: …}"
