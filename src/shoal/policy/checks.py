"""Checks across the sections of a policy: what does not go together, and what is legal but worth saying."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from shoal.column_types import OR_MISSING
from shoal.policy.algorithm import FILTER, Parameters
from shoal.policy.attribute import NO_BLOCKS, Attribute
from shoal.policy.sections import MOST_QUASI, NOBODY, SUPPRESS, Privacy, Time, Window
from shoal.policy.stable import Releases, lowest_nodes
from shoal.policy.zanon import Zanon

if TYPE_CHECKING:
    from shoal.policy.policy import Policy


def conflicts(sections: Mapping[str, Any], names: Collection[object], filters: bool) -> Iterator[str]:
    """Conflicts between the sections that could be read; `names` are those of all attributes.

    `filters` says that the algorithm releases or withholds observations at once, without a window.
    """
    yield from _fields(sections, names)
    if sections.get("nesting") == "keep":
        yield from _nesting(sections, names)
    attributes = sections.get("attributes") or None
    yield from _holders(sections, attributes or {})
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
            yield from _stable(privacy, listed)
            yield from _labels(privacy, listed)
            yield from _support(privacy, listed)
    match sections:
        case {"privacy": Privacy() as privacy, "window": Window() as window}:
            yield from _size(privacy, window)
    if sections.get("lanes", 1) > 1:
        yield from _lanes(sections)
    if getattr(sections.get("algorithm"), "workers", 1) > 1:
        yield from _workers(sections)
    if releases := sections.get("releases"):
        yield from _budget(releases, sections)
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


def _nesting(sections: Mapping[str, Any], names: Collection[object]) -> Iterator[str]:
    """A field cannot hold a value and other fields."""
    time, item = sections.get("time"), sections.get("item")
    others = [time.field] if time and time.publish != "drop" else []
    published = [*others, *(item.names if item else ()), *(name for name in names if isinstance(name, str))]
    for name in published:
        for other in published:
            if other.startswith(f"{name}."):
                yield f"nesting: {name!r} cannot be a value and hold {other!r}; use flat, or publish one of them"


def _holders(sections: Mapping[str, Any], attributes: Mapping[str, Attribute]) -> Iterator[str]:
    """A field that is published as it is must not hold one that is not: `payload` beside `payload.age`."""
    person, time, item = sections.get("person"), sections.get("time"), sections.get("item")
    hidden = [name for name, each in attributes.items() if each.quasi or (each.stable and each.shown_as != "exact")]
    shown = {f"attributes.{name}": name for name in attributes if name not in hidden}
    shown |= {f"item.{item.place}": name for name in item.names} if item else {}
    hidden = [] if sections.get("nesting") == "keep" else hidden  # there, none holds any other that is published
    hidden += [time.field] if time and time.publish != "keep" else []
    hidden += [person] if isinstance(person, str) else []
    for place, name in shown.items():
        for other in hidden:
            if other.startswith(f"{name}."):
                remedy = "remove it, and list the fields inside it one by one"
                yield f"{place}: would publish {other!r} inside it as it came; {remedy}"


def _filter(sections: Mapping[str, Any], attributes: Mapping[str, Attribute]) -> Iterator[str]:
    """Conflicts of a policy without a window."""
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
    if sections.get("suppressed", "blank") != "blank":
        yield f"suppressed: {FILTER} suppresses no rows; remove it, and use algorithm.withheld"
    if sections.get("sparse", SUPPRESS) != SUPPRESS:
        yield f"sparse: {FILTER} holds nothing; remove it"
    if sections.get("lanes", 1) > 1:
        yield f"lanes: {FILTER} holds no window to be split; remove it"
    if sections.get("releases"):
        yield f"releases: {FILTER} counts users of items, not tuples of persons; remove it"
    for name, attribute in attributes.items():
        for key in ("l", "t", "distribution"):
            if getattr(attribute, key):
                yield f"attributes.{name}.{key}: {FILTER} publishes no groups; remove it"
        if attribute.stable:
            yield f"attributes.{name}.stable: {FILTER} publishes values as they are, without blocks and bags; remove it"


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


def _stable(privacy: Privacy, attributes: Mapping[str, Attribute]) -> Iterator[str]:
    """Whether each stable attribute can be published as the policy says."""
    m = privacy.across
    stable = {name: attribute for name, attribute in attributes.items() if attribute.stable}
    if m and not stable:
        yield "privacy.across: no attribute is stable; mark one with stable: true, or remove it"
    for name, attribute in stable.items():
        place = f"attributes.{name}"
        if attribute.shown_as is None and m is None:
            yield f"{place}.as: is missing; write block, bag or exact, or give privacy: {{across: 3}}"
        elif attribute.shown_as == "bag":
            if attribute.bag_size < privacy.k:
                yield f"{place}.bag: is below k={privacy.k}; use at least {privacy.k}"
        elif attribute.shown_as in (None, "block"):
            yield from (f"{place}.{problem}" for problem in _blocks(attribute, m))


def _blocks(attribute: Attribute, m: int | None) -> Iterator[str]:
    tree, blocks = attribute.hierarchy, attribute.blocks
    if tree and m is None:
        yield "hierarchy: how many leaves a block has is said by privacy.across, which is absent; add it, or write blocks"
    elif tree and m and lowest_nodes(tree, m) is None:
        yield f"hierarchy: has {tree.leaves} leaves, fewer than privacy.across={m}; lower it, or use as: bag"
    elif blocks is None and tree is None:
        yield NO_BLOCKS
    for number, block in enumerate(blocks.values if blocks else ()):
        if m and len(block) < m:
            place = blocks.names[number] if blocks and blocks.names else number
            yield f"blocks.{place}: has {len(block)} values, fewer than privacy.across={m}; put more together, or lower it"


def _budget(releases: Releases, sections: Mapping[str, Any]) -> Iterator[str]:
    if sections.get("person") == NOBODY:
        yield "releases: person: none tells no persons apart; name the field that does, or remove it"
    if sections.get("time") is None and "time" in sections:
        yield "releases.per: needs the records' own time; add time: {field: …}"
    attributes = sections.get("attributes") or {}
    if releases.beyond == "withhold" and attributes and not any(each.sensitive for each in attributes.values()):
        yield "releases.beyond: no attribute is sensitive, so that nothing can be withheld; use drop"


def _labels(privacy: Privacy, attributes: Mapping[str, Attribute]) -> Iterator[str]:
    """In CSV, a label that ends like a value in doubt could not be told from one."""
    for name, attribute in attributes.items() if privacy.nulls_match == "blurred" else ():
        for label in attribute.hierarchy.labels if attribute.hierarchy else ():
            if label.endswith(OR_MISSING):
                shown = label.removesuffix(OR_MISSING)
                yield f"attributes.{name}.hierarchy: {label!r} is how CSV shows {shown!r} in doubt; rename it"


def _support(privacy: Privacy, attributes: Mapping[str, Attribute]) -> Iterator[str]:
    for name, attribute in attributes.items():
        if attribute.sets and attribute.sets.min_support > privacy.k:
            place = f"attributes.{name}.generalize.set.min_support"
            yield f"{place}: is above k={privacy.k}: a group of {privacy.k} could show only the root; use at most {privacy.k}"


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
    if time and time.publish == "generalize" and time.grid is None and not window.timed:
        yield f"time.grid: has no default where window.{window.kind} counts tuples; add grid: 1m, or use publish: drop"


def notes(policy: Policy) -> Iterator[str]:
    """What is legal, but should be known before the policy is used."""
    if policy.person is None:
        yield "person: none counts every record as a person; one who comes back counts more than once"
    if policy.time and policy.time.publish == "keep" and not policy.is_filter:
        yield "time.publish: keep publishes each record's exact time, which may single it out; drop is safer"
    if isinstance(policy.algorithm, Zanon):
        yield from _filter_notes(policy.algorithm)
        return
    for name, attribute in policy.quasi:
        if attribute.quasi == "numeric" and attribute.grid is None:
            yield f"attributes.{name}.grid: without one, the ends of a published interval are persons' own values"
        if attribute.hierarchy and any(text in attribute.hierarchy.code for text in policy.nulls_of(name)):
            yield f"attributes.{name}.hierarchy: has a leaf that nulls lists too; it is always read as missing"
    if policy.suppressed == "publish" and policy.kept:
        yield "suppressed: publish shows the sensitive and kept values of rows that are in no group; blank hides them"
    if policy.privacy.k == 1:
        yield "privacy.k: 1 hides nobody among others"
    if policy.privacy.nulls_match == "maybe":
        yield (
            "privacy.nulls_match: maybe lets a null stand for any value; "
            "an observer who takes nulls as values sees smaller groups"
        )
    for name in policy.attributes:
        if policy.shown_as(name) == "exact":
            yield f"attributes.{name}.as: exact lets releases of one person add up to a stable value; block and bag do not"
    if policy.window.kind == "buffer":
        yield "window.buffer: bounds memory but promises no delay; count and time do"


def _filter_notes(parameters: Zanon) -> Iterator[str]:
    yield "time: is published as it came, exactly, and so are kept attributes; either may single an observation out"
    if parameters.z == 1:
        yield "algorithm.z: 1 withholds nothing"
    if parameters.window == 0:
        yield "algorithm.window: 0 counts a single moment only, and changes pseudonyms with every time"
