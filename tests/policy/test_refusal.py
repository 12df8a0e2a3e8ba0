from __future__ import annotations

from typing import Any

import pytest

from policy.base import RIGHT, changed, problems, with_attribute
from shoal.policy import Policy

NUMBER = "is not a number; write one, without quotes"
FINITE = "is not finite; give a finite number"
WHOLE = "is not a whole number; round it"
BEYOND = "is beyond 2147483647; use a smaller number"
DURATION = "is not a duration; write it like 250ms, 30s, 5m, 2h, 1d, or as a number of seconds"
ROLE = "is not a mapping; write a role, such as {sensitive: true}"
TEXT = "is not text; quote it"
PAIR = "is not a pair; write [lowest, highest]"
NAMED = {"quasi": "categorical", "hierarchy": {"World": ["Oslo or missing", "missing or not"]}}

SECTIONS: list[tuple[dict[str, Any], str]] = [
    ({"version": 2}, "version: is not allowed; use 1"),
    ({"version": True}, f"version: {NUMBER}"),
    ({"version": "1"}, f"version: {NUMBER}"),
    ({"person": ""}, "person: is empty; name a field"),
    ({"person": 5}, f"person: {TEXT}"),
    ({"person": ["a", "b"]}, f"person: {TEXT}"),
    ({"person": "age"}, "attributes.age: is the person, who is never published; remove it"),
    ({"person_missing": "drop"}, "person_missing: is not allowed; use 'reject' or 'own'"),
    ({"presons": 1}, "presons: unknown key; did you mean 'person'?"),
    (
        {"zzz": 1},
        "zzz: unknown key; "
        "known are version, about, person, person_missing, time, input, nulls, item, attributes, nesting, privacy, window, "
        "weights, suppressed, sparse, releases, lanes, algorithm",
    ),
    ({"time": "ts"}, "time: is not a mapping; write the records' own time, such as {field: ts}"),
    ({"time": {}}, "time.field: is missing; add the field that holds the event time"),
    ({"time": {"field": None}}, "time.field: is empty; name a field"),
    (
        {"time": {"field": "ts", "publish": "round"}},
        'time.publish: is not allowed; use drop, generalize, keep, or {keep: true, because: "…"}',
    ),
    ({"time": {"field": "ts", "publsh": "drop"}}, "time.publsh: unknown key; did you mean 'publish'?"),
    ({"time": {"field": "pid"}}, "time.field: is also the person; name another field"),
    (
        {"time": {"field": "note"}},
        "attributes.note: is the event time, which is published by time.publish; remove it",
    ),
    (
        {"time": {"field": "ts", "publish": "generalize"}},
        "time.grid: has no default where window.count counts tuples; add grid: 1m, or use publish: drop",
    ),
    ({"time": {"field": "ts", "grid": 60}}, "time.grid: is for publish: generalize; write that, or remove it"),
    (
        {"time": {"field": "ts", "publish": "generalize", "grid": 0}},
        "time.grid: is not a whole number of milliseconds, at least one; round it",
    ),
    (
        {"time": {"field": "ts", "publish": "generalize", "grid": 1.0005}},
        "time.grid: is not a whole number of milliseconds, at least one; round it",
    ),
    ({"nulls": "NA"}, 'nulls: is not a list; write it like ["", "NA"]'),
    ({"nulls": ["", None]}, "nulls.1: is null, which always means missing; remove it, or quote it"),
    ({"nulls": [["NA"]]}, f"nulls.0: {TEXT}"),
    ({"attributes": {}}, "attributes: is empty; list what is to be published"),
    (
        {"attributes": ["age"]},
        "attributes: is not a mapping; write what is published and how; nothing else is published",
    ),
    (
        {"attributes": {"disease": {"sensitive": True}}},
        "attributes: has no quasi-identifier; give at least one quasi: numeric or quasi: categorical",
    ),
    (
        {"attributes": {f"q{number}": {"quasi": "numeric", "range": [0, 1]} for number in range(65)}},
        "attributes: has 65 quasi-identifiers; use at most 64",
    ),
    ({"attributes": {**RIGHT["attributes"], 1: {"sensitive": True}}}, f"attributes.1: {TEXT}"),
    ({"attributes": {**RIGHT["attributes"], "": {"sensitive": True}}}, "attributes.'': is empty; name a field"),
    ({"attributes": {**RIGHT["attributes"], "x": None}}, f"attributes.x: {ROLE}"),
    ({"attributes": {**RIGHT["attributes"], "x": "sensitive"}}, f"attributes.x: {ROLE}"),
    ({"privacy": 50}, "privacy: is not a mapping; write what is promised, such as {k: 50}"),
    ({"privacy": {}}, "privacy.k: is missing; add the smallest number of persons in a group"),
    ({"privacy": {"k": 0}}, "privacy.k: is below 1; use at least 1"),
    ({"privacy": {"k": -5}}, "privacy.k: is below 1; use at least 1"),
    ({"privacy": {"k": 2.5}}, f"privacy.k: {WHOLE}"),
    ({"privacy": {"k": True}}, f"privacy.k: {NUMBER}"),
    ({"privacy": {"k": "50"}}, f"privacy.k: {NUMBER}"),
    ({"privacy": {"k": None}}, f"privacy.k: {NUMBER}"),
    ({"privacy": {"k": 10**400}}, f"privacy.k: {FINITE}"),
    ({"privacy": {"k": 10**10}}, f"privacy.k: {BEYOND}"),
    (
        {"privacy": {"k": 50, "nulls_match": "never"}},
        "privacy.nulls_match: is not allowed; use 'blurred', 'extended', 'root' or 'maybe'",
    ),
    ({"privacy": {"k": 50, "null_match": "maybe"}}, "privacy.null_match: unknown key; did you mean 'nulls_match'?"),
    ({"privacy": {"k": 50, "K": 1}}, "privacy.K: unknown key; did you mean 'k'?"),
    (
        {"privacy": {"k": 50, "m": 3}},
        "privacy.m: unknown key; known are k, l, t, nulls_match, min_support, one_in_k, across, accept",
    ),
    (
        {"privacy": {"k": 50, "one_in_k": "yes"}},
        "privacy.one_in_k: is neither true nor false; write one of them, without quotes",
    ),
    ({"suppressed": "hide"}, "suppressed: is not allowed; use 'publish', 'blank' or 'drop'"),
    (
        {"about": {"purpose": 3}},
        "about.purpose: is no text; say it in words",
    ),
    (
        {"about": {"recipients": []}},
        "about.recipients: is no text; say it in words",
    ),
    (
        {"about": {"contact": "x" * 501}},
        "about.contact: has 501 characters; use at most 500",
    ),
    (
        {"privacy": {"k": 50, "accept": {"linkage": "5"}}},
        "privacy.accept.linkage: is not a share; write it like 5%, or as a number from 0 to 1",
    ),
    (
        {"privacy": {"k": 50, "accept": {"linkage": 1.5}}},
        "privacy.accept.linkage: is not a share; write it like 5%, or as a number from 0 to 1",
    ),
    ({"privacy": {"k": 50, "l": 0}}, "privacy.l: is below 1; use at least 1"),
    ({"privacy": {"k": 50, "l": 2.5}}, f"privacy.l: {WHOLE}"),
    ({"privacy": {"k": 50, "l": "many"}}, f"privacy.l: {NUMBER}"),
    (
        {"privacy": {"k": 50, "l": {"even": 2}}},
        "privacy.l: is no diversity; write a number, {entropy: l} or {recursive: [c, l]}",
    ),
    ({"privacy": {"k": 50, "l": {"entropy": 0.5}}}, "privacy.l: is below 1; use at least 1"),
    ({"privacy": {"k": 50, "l": {"recursive": 2}}}, "privacy.l.recursive: is not a pair; write [c, l]"),
    ({"privacy": {"k": 50, "l": {"recursive": [0, 2]}}}, "privacy.l.recursive: its c is not above 0; use more than 0"),
    ({"privacy": {"k": 50, "l": 51}}, "privacy.l: is above k=50; raise k to 51, or lower l"),
    (
        {"privacy": {"k": 50, "l": 2}, "attributes": {**RIGHT["attributes"], "disease": {"sensitive": True, "l": 51}}},
        "attributes.disease.l: is above k=50; raise k to 51, or lower l",
    ),
    ({"privacy": {"k": 50, "t": 0}}, "privacy.t: is not above 0; use more than 0"),
    ({"privacy": {"k": 50, "t": 2}}, "privacy.t: is above 1; use at most 1"),
    (
        {"privacy": {"k": 50, "nulls_match": "extended", "min_support": 2}},
        "privacy.min_support: is for blurred and maybe; under extended all of a group have it, remove it",
    ),
    (
        {"privacy": {"k": 50, "nulls_match": "maybe", "min_support": 51}},
        "privacy.min_support: is above k=50: nothing could be shown; use at most 50",
    ),
    (
        {"privacy": {"k": 50, "nulls_match": "blurred"}, "attributes": {**RIGHT["attributes"], "city": NAMED}},
        "attributes.city.hierarchy: 'Oslo or missing' is how CSV shows 'Oslo' in doubt; rename it",
    ),
    ({"weights": {"age": 0}}, "weights.age: is below 0.001; use at least 0.001"),
    ({"weights": {"disease": 2}}, "weights.disease: is no quasi-identifier; remove it, or list it under attributes"),
    ({"weights": {"nobody": 2}}, "weights.nobody: is no quasi-identifier; remove it, or list it under attributes"),
    ({"sparse": "wait"}, "sparse: is not allowed; use suppress, or {stretch: 4} for a window up to 4 times as long"),
    ({"lanes": 0}, "lanes: is below 1; use at least 1"),
    ({"lanes": 2000}, "lanes: is above 1024; use at most 1024"),
    (
        {"lanes": 2, "sparse": {"stretch": 2}},
        "sparse: a longer window waits for k persons of the whole stream, which no lane sees; use suppress, or lanes: 1",
    ),
    (
        {"lanes": 8, "window": {"buffer": 200}},
        "lanes: leave each lane 25 tuples of the buffer, below k=50; use at most 4 lanes",
    ),
    (
        {"lanes": 2, "algorithm": {"name": "fast", "workers": 2}},
        "algorithm.workers: a lane has one worker; use 1, or lanes: 1",
    ),
    (
        {"sparse": {"stretch": 2}, "algorithm": {"name": "fast", "workers": 2}},
        "sparse: a longer window waits for k persons of the whole stream, which no worker sees; use suppress, or 1 worker",
    ),
    (
        {"algorithm": {"name": "fast", "workers": 50}},
        "algorithm.workers: hold 50 tuples each, too many for the deadline; use at most 40, or a longer deadline",
    ),
    ({"sparse": {"stretch": 0.5}}, "sparse.stretch: is below 1; use at least 1"),
    (
        {"window": 2000},
        "window: is not a mapping; write how long a tuple may be held, such as {count: 2000} or {time: 30s}",
    ),
    ({"window": {}}, "window: has no length; write one of count, time and buffer"),
    ({"window": {"count": 60, "buffer": 60}}, "window: has more than one length (count, buffer); keep one"),
    ({"window": {"cuont": 60}}, "window.cuont: unknown key; did you mean 'count'?"),
    ({"window": {"count": 0}}, "window.count: is below 1; use at least 1"),
    ({"window": {"count": 60.5}}, f"window.count: {WHOLE}"),
    ({"window": {"buffer": True}}, f"window.buffer: {NUMBER}"),
    ({"window": {"count": float("nan")}}, f"window.count: {FINITE}"),
    (
        {"window": {"count": 20}},
        "window.count=20 is below k=50: no group could ever fill. Use at least 50.",
    ),
    (
        {"window": {"buffer": 49}},
        "window.buffer=49 is below k=50: no group could ever fill. Use at least 50.",
    ),
    ({"window": {"time": "30s"}}, "window.time: needs the records' own time; add time: {field: …}"),
    ({"window": {"time": 0}, "time": {"field": "ts"}}, "window.time: is not above 0; use a longer time"),
    ({"window": {"time": -1}, "time": {"field": "ts"}}, "window.time: is below 0; use at least 0"),
    ({"window": {"time": True}, "time": {"field": "ts"}}, f"window.time: {NUMBER}"),
    ({"window": {"time": "30"}, "time": {"field": "ts"}}, f"window.time: {DURATION}"),
    ({"window": {"time": "30 weeks"}, "time": {"field": "ts"}}, f"window.time: {DURATION}"),
    ({"window": {"time": "-30s"}, "time": {"field": "ts"}}, f"window.time: {DURATION}"),
    ({"window": {"time": "9" * 400 + "s"}, "time": {"field": "ts"}}, f"window.time: {FINITE}"),
    ({"window": {"time": float("inf")}, "time": {"field": "ts"}}, f"window.time: {FINITE}"),
    (
        {"algorithm": "idea"},
        "algorithm: is not a mapping; write the algorithm and its parameters, such as {name: idea}",
    ),
    (
        {"algorithm": {"name": "ideas"}},
        "algorithm.name: 'ideas' is no algorithm; known are fads, iot, kvarp, idea, xband, castle, fast, tide, zanon; "
        "did you mean 'idea'?",
    ),
    (
        {"algorithm": {"name": "K-VARP"}},
        "algorithm.name: 'K-VARP' is no algorithm; known are fads, iot, kvarp, idea, xband, castle, fast, tide, zanon; "
        "did you mean 'kvarp'?",
    ),
    (
        {"algorithm": {"name": "zzz"}},
        "algorithm.name: 'zzz' is no algorithm; known are fads, iot, kvarp, idea, xband, castle, fast, tide, zanon",
    ),
    (
        {"algorithm": {"name": "idea", "reuse_los": 1}},
        "algorithm.reuse_los: unknown key; did you mean 'reuse_loss'?",
    ),
    (
        {"algorithm": {"name": "idea", "radius": 1}},
        "algorithm.radius: unknown key; known are name, reuse_age, reuse_limit, reuse_loss",
    ),
    ({"algorithm": {"name": "kvarp", "radius": -0.1}}, "algorithm.radius: is below 0; use at least 0"),
    ({"algorithm": {"name": "kvarp", "radius": "0.1"}}, f"algorithm.radius: {NUMBER}"),
    ({"algorithm": {"name": "fads", "reuse_limit": -1}}, "algorithm.reuse_limit: is below 0; use at least 0"),
    ({"algorithm": {"name": "fads", "reuse_limit": 1.5}}, f"algorithm.reuse_limit: {WHOLE}"),
    ({"algorithm": {"name": "fads", "reuse_limit": True}}, f"algorithm.reuse_limit: {NUMBER}"),
    ({"algorithm": {"name": "fads", "reuse_loss": -1}}, "algorithm.reuse_loss: is below 0; use at least 0"),
    ({"algorithm": {"name": "fads", "reuse_loss": float("inf")}}, f"algorithm.reuse_loss: {FINITE}"),
    ({"algorithm": {"name": "fads", "reuse_age": -1}}, "algorithm.reuse_age: is below 0; use at least 0"),
    ({"algorithm": {"name": "fads", "reuse_age": "soon"}}, f"algorithm.reuse_age: {DURATION}"),
    (
        {"algorithm": {"name": "fads", "reuse_age": "30s"}},
        "algorithm.reuse_age: is a duration, but a count window counts arrivals; give a number of arrivals",
    ),
    (
        {"algorithm": {"name": "fads", "reuse_age": "30s"}, "window": {"buffer": 60}},
        "algorithm.reuse_age: is a duration, but a buffer window counts arrivals; give a number of arrivals",
    ),
]

ATTRIBUTES: list[tuple[dict[Any, Any], str]] = [
    ({}, ": has no role; write quasi: numeric, quasi: categorical, sensitive: true or publish: keep"),
    ({"grid": 5}, ": has no role; write quasi: numeric, quasi: categorical, sensitive: true or publish: keep"),
    ({"sensitive": True, "publish": "keep"}, ": has more than one role (sensitive, publish); keep one"),
    (
        {"quasi": "numeric", "range": [0, 1], "sensitive": True},
        ": has more than one role (quasi, sensitive); keep one",
    ),
    ({"sensitive": False}, ".sensitive: is not allowed; use true"),
    ({"sensitive": 1}, ".sensitive: is not allowed; use true"),
    ({"sensitive": "yes"}, ".sensitive: is not allowed; use true"),
    ({"publish": "drop"}, '.publish: is not allowed; use keep, or {keep: true, because: "…"}'),
    ({"publish": {"keep": True}}, '.publish: is not allowed; use keep, or {keep: true, because: "…"}'),
    (
        {"publish": {"keep": True, "because": " "}},
        ".publish.because: is no reason; write in words why it may be published as it is",
    ),
    ({"sensitive": True, "because": 3}, ".because: is no reason; write in words why it may be published as it is"),
    ({"quasi": "ordinal"}, ".quasi: is not allowed; use 'numeric' or 'categorical'"),
    ({"quasi": True}, ".quasi: is not allowed; use 'numeric' or 'categorical'"),
    ({"quasi": "numeric"}, ".range: is missing; write [lowest, highest]"),
    ({"quasi": "numeric", "rnage": [0, 1]}, ".rnage: unknown key; did you mean 'range'?"),
    (
        {"sensitive": True, 1: 2},
        ".1: unknown key; known are quasi, range, grid, part, out_of_range, hierarchy, values, unknown, generalize, sensitive, "
        "stable, as, blocks, bag, l, t, distribution, because, publish",
    ),
    ({"quasi": "numeric", "range": 5}, f".range: {PAIR}"),
    ({"quasi": "numeric", "range": [5]}, f".range: {PAIR}"),
    ({"quasi": "numeric", "range": "05"}, f".range: {PAIR}"),
    ({"quasi": "numeric", "range": [0, "9"]}, f".range: {NUMBER}"),
    ({"quasi": "numeric", "range": [False, True]}, f".range: {NUMBER}"),
    ({"quasi": "numeric", "range": [0, float("inf")]}, f".range: {FINITE}"),
    ({"quasi": "numeric", "range": [float("nan"), 0]}, f".range: {FINITE}"),
    (
        {"quasi": "numeric", "range": [5, 5]},
        ".range: its low end is not below its high end; write [lowest, highest]",
    ),
    (
        {"quasi": "numeric", "range": [9, 5]},
        ".range: its low end is not below its high end; write [lowest, highest]",
    ),
    ({"quasi": "numeric", "range": [-1.7e308, 1.7e308]}, ".range: is too wide for floating point; narrow it"),
    ({"quasi": "numeric", "range": [0, 9], "grid": 0}, ".grid: is not above 0; use more than 0"),
    ({"quasi": "numeric", "range": [0, 9], "grid": -1}, ".grid: is not above 0; use more than 0"),
    ({"quasi": "numeric", "range": [0, 9], "grid": True}, f".grid: {NUMBER}"),
    ({"quasi": "numeric", "range": [0, 9], "grid": float("inf")}, f".grid: {FINITE}"),
    (
        {"quasi": "numeric", "range": [-(2.0**60), 0], "grid": 127.9},
        ".grid: is too fine for the range in floating point; use at least 128",
    ),
    (
        {"quasi": "numeric", "range": [0, 1], "grid": 1e-310},
        ".grid: is too fine for the range in floating point; use at least 1.1102230246251565e-16",
    ),
    ({"quasi": "numeric", "range": [0, 9], "grid": 10}, ".grid: is wider than the range; use at most 9"),
    (
        {"quasi": "numeric", "range": [0, 9], "unknown": "root"},
        ".unknown: applies to categorical quasi-identifiers and to as: block only; remove it",
    ),
    (
        {"quasi": "numeric", "range": [0, 9], "hierarchy": {"*": "x"}},
        ".hierarchy: applies to categorical quasi-identifiers and to as: block only; remove it",
    ),
    (
        {"quasi": "numeric", "range": [0, 9], "out_of_range": "drop"},
        ".out_of_range: is not allowed; use 'reject' or 'clip'",
    ),
    (
        {"quasi": "categorical"},
        ".hierarchy: is missing; name a file in the policy's folder, write a mapping with one root, or list its values: [a, b]",
    ),
    (
        {"quasi": "categorical", "hierarchy": {"*": "x"}, "unknown": "drop"},
        ".unknown: is not allowed; use 'reject', 'root', 'unlisted' or 'null'",
    ),
    (
        {"quasi": "categorical", "hierarchy": {"*": "x"}, "out_of_range": "clip"},
        ".out_of_range: applies to numeric quasi-identifiers only; remove it",
    ),
    (
        {"quasi": "categorical", "hierarchy": {"*": "x"}, "grid": 1},
        ".grid: applies to numeric quasi-identifiers only; remove it",
    ),
    ({"sensitive": True, "range": [0, 9]}, ".range: applies to numeric quasi-identifiers only; remove it"),
    (
        {"publish": "keep", "unknown": "reject"},
        ".unknown: applies to categorical quasi-identifiers and to as: block only; remove it",
    ),
]


@pytest.mark.parametrize(("sections", "problem"), SECTIONS, ids=lambda value: value if isinstance(value, str) else "")
def test_sections(sections: dict[str, Any], problem: str) -> None:
    assert problems(changed(**sections)) == [problem]


@pytest.mark.parametrize(("attribute", "problem"), ATTRIBUTES, ids=lambda value: value if isinstance(value, str) else "")
def test_attributes(attribute: dict[str, Any], problem: str) -> None:
    written = changed(attributes={**RIGHT["attributes"], "x": attribute})
    assert problems(written) == [f"attributes.x{problem}"]


def test_a_person_who_is_null() -> None:
    assert problems({**RIGHT, "person": None}) == [
        "person: is empty; name a field, or write none where every record is its own person"
    ]


def test_what_is_missing() -> None:
    assert problems({}) == [
        "person: is missing; add the field that identifies persons, or none if every record is a different person",
        "attributes: is missing; add what is published and how; nothing else is published",
        "privacy: is missing; add what is promised, such as {k: 50}",
        "window: is missing; add how long a tuple may be held, such as {count: 2000} or {time: 30s}",
    ]


def test_several_problems_of_one_attribute() -> None:
    assert problems(with_attribute(quasi="numeric", hierarchy={"*": "x"}, unknown="root")) == [
        "attributes.x.hierarchy: applies to categorical quasi-identifiers and to as: block only; remove it",
        "attributes.x.unknown: applies to categorical quasi-identifiers and to as: block only; remove it",
        "attributes.x.range: is missing; write [lowest, highest]",
    ]


def test_all_problems_at_once() -> None:
    written = changed(
        person="disease",
        time={"field": "disease"},
        attributes={**RIGHT["attributes"], "x": {"quasi": "numeric", "rnage": [0, 1]}},
        window={"count": 20},
        algorithm={"name": "fads", "reuse_age": "30s", "reuse_lmit": 3},
        windw=1,
    )
    assert problems(written) == [
        "windw: unknown key; did you mean 'window'?",
        "attributes.x.rnage: unknown key; did you mean 'range'?",
        "algorithm.reuse_lmit: unknown key; did you mean 'reuse_limit'?",
        "attributes.disease: is the person, who is never published; remove it",
        "attributes.disease: is the event time, which is published by time.publish; remove it",
        "time.field: is also the person; name another field",
        "window.count=20 is below k=50: no group could ever fill. Use at least 50.",
    ]


def test_a_policy_must_be_a_mapping() -> None:
    for written in (None, ["person"], 5):
        assert problems(written) == ["the policy is not a mapping; write it as key: value pairs"]


@pytest.mark.parametrize("nulls_match", ["extended", "root", "maybe"])
def test_labels_that_look_as_if_in_doubt_are_allowed_where_nothing_is(nulls_match: str) -> None:
    Policy.parse(changed(privacy={"k": 50, "nulls_match": nulls_match}, attributes={**RIGHT["attributes"], "city": NAMED}))
