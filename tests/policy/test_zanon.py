from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from policy.base import problems
from shoal.policy import Policy, Tuned, Zanon

RIGHT: dict[str, Any] = {
    "person": "user",
    "time": {"field": "t"},
    "item": {"field": "site"},
    "algorithm": {"name": "zanon", "z": 20, "window": "1h"},
}
TREE = {"any": {"news": ["bbc", "lemonde"], "shops": "amazon"}}


def changed(**sections: Any) -> dict[str, Any]:
    return {key: value for key, value in {**RIGHT, **sections}.items() if value is not None}


def with_parameters(**parameters: Any) -> dict[str, Any]:
    return changed(algorithm={**RIGHT["algorithm"], **parameters})


def parameters(written: dict[str, Any], folder: Path | None = None) -> Zanon:
    found = Policy.parse(written, folder).algorithm
    assert isinstance(found, Zanon)
    return found


def test_what_may_be_absent() -> None:
    policy = Policy.parse(RIGHT)
    assert policy.is_filter
    assert (policy.kept, policy.quasi, policy.privacy, policy.window) == ((), (), None, None)
    assert policy.time is not None and policy.time.publish == "keep"
    assert policy.item is not None and policy.item.names == ("site",)
    assert policy.algorithm == Zanon(name="zanon", z=20, window=3600.0)


def test_several_fields_and_a_hierarchy() -> None:
    policy = Policy.parse(changed(item={"fields": ["host", "path"]}, attributes={"note": {"publish": "keep"}}))
    assert policy.item is not None and policy.item.names == ("host", "path")
    assert policy.kept == ("note",)
    tree = Policy.parse(changed(item={"field": "site", "hierarchy": TREE})).item
    assert tree is not None and tree.hierarchy is not None and tree.hierarchy.labels[-1] == "any"


def test_a_z_that_follows_the_stream() -> None:
    found = parameters(with_parameters(z={"auto": {"k": 2, "probability": 0.95}})).z
    assert isinstance(found, Tuned)
    assert (found.auto.k, found.auto.probability, found.floor) == (2, 0.95, 5)


def test_the_file_of_the_secret_lies_in_the_folder_and_is_no_part_of_the_fingerprint(tmp_path: Path) -> None:
    written = with_parameters(secret_file="secret.txt")
    assert parameters(written, tmp_path).secret_file == str(tmp_path / "secret.txt")
    assert Policy.parse(written, tmp_path).fingerprint == Policy.parse(RIGHT).fingerprint
    for outside in ("../secret.txt", "/secret.txt"):
        assert problems(with_parameters(secret_file=outside), tmp_path) == [
            "algorithm.secret_file: lies outside the policy's folder; move it inside and name it from there"
        ]


@pytest.mark.parametrize(
    "written",
    [
        changed(item={"field": "host"}),
        changed(item={"field": "site", "hierarchy": TREE}),
        changed(time={"field": "ts"}),
        changed(attributes={"note": {"publish": "keep"}}),
        with_parameters(z=21),
        with_parameters(z={"auto": {"k": 2, "probability": 0.95}}),
        with_parameters(window=60),
        with_parameters(withheld="blank"),
    ],
)
def test_what_decides_the_outcome_is_in_the_fingerprint(written: dict[str, Any]) -> None:
    assert Policy.parse(written).fingerprint != Policy.parse(RIGHT).fingerprint


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (changed(person="none"), "person: none tells no users apart; name the field that does"),
        (changed(person_missing="own"), "person_missing: own leaves nobody to count; use reject"),
        (changed(time=None), "time: is missing; add the records' own time, such as {field: ts}"),
        (changed(item=None), "item: is missing; add what is counted and published by zanon, such as {field: site}"),
        (changed(time={"field": "t", "publish": "drop"}), "time.publish: zanon publishes each time as it came; use keep"),
        (changed(privacy={"k": 5}), "privacy: zanon promises z users an item instead of k persons a group; remove it"),
        (changed(window={"count": 50}), "window: zanon holds nothing; remove it, and give algorithm.window"),
        (
            changed(attributes={"age": {"quasi": "numeric", "range": [0, 1]}}),
            "attributes.age.quasi: zanon generalizes items only; use sensitive: true or publish: keep",
        ),
        (
            changed(attributes={"site": {"publish": "keep"}}),
            "attributes.site: is the item, which is published anyway; remove it",
        ),
        (changed(item={"field": "user"}), "item.field: is also the person; name another field"),
        (changed(item={"fields": ["site", "t"]}), "item.fields: is also the event time; name another field"),
        (changed(item={}), "item: names no field; write field: … or fields: […]"),
        (changed(item={"field": "a", "fields": ["b"]}), "item: has both field and fields; keep one"),
        (changed(item={"fields": []}), "item.fields: is not a list of fields; write it like [host, path]"),
        (changed(item={"fields": ["a", "a"]}), "item.fields: names a field twice; keep one"),
        (
            changed(item={"fields": ["a", "b"], "hierarchy": TREE}),
            "item.hierarchy: generalizes a single field; remove it, or name one field",
        ),
        (changed(item={"feild": "a", "field": "b"}), "item.feild: unknown key; did you mean 'field'?"),
        (with_parameters(z=0), "algorithm.z: is below 1; use at least 1"),
        (with_parameters(z="many"), "algorithm.z: is not a number; write one, without quotes"),
        (
            with_parameters(z={"auto": {"k": 1, "probability": 0.9}}),
            "algorithm.z.auto.k: is below 2; use at least 2",
        ),
        (
            with_parameters(z={"auto": {"k": 2, "probability": 1}}),
            "algorithm.z.auto.probability: lies outside 0 to 1; 0.95 is a usual choice",
        ),
        (
            with_parameters(z={"auto": {"k": 2}}),
            "algorithm.z.auto.probability: is missing; add the share of the users for whom this should hold",
        ),
        (
            with_parameters(z={"auto": 3}),
            "algorithm.z.auto: is not a mapping; write the goal, such as {k: 2, probability: 0.95}",
        ),
        (
            with_parameters(z={"floor": 3}),
            "algorithm.z.auto: is missing; add the goal, such as {k: 2, probability: 0.95}",
        ),
        (
            with_parameters(z={"auto": {"k": 2, "probability": 0.9}, "flor": 3}),
            "algorithm.z.flor: unknown key; did you mean 'floor'?",
        ),
        (
            with_parameters(z={"auto": {"k": 2, "probability": 0.9}}, window=0),
            "algorithm.window: is 0, in which no z can be found; use a longer one, or a fixed z",
        ),
        (with_parameters(window=0.0005), "algorithm.window: is below 1ms; use 0 or at least 1ms"),
        (with_parameters(withheld="hide"), "algorithm.withheld: is not allowed; use 'drop' or 'blank'"),
        (with_parameters(reuse_age=3), "algorithm.reuse_age: unknown key; known are name, z, window, withheld, secret_file"),
        (
            with_parameters(secret_file="secret.txt"),
            "algorithm.secret_file: is a file, but the policy has no folder; give a folder, or set SHOAL_SECRET",
        ),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_is_refused(written: dict[str, Any], said: str) -> None:
    assert problems(written) == [said]


def test_all_at_once_also_where_the_algorithm_is_wrong() -> None:
    written = changed(
        person="none", privacy={"k": 5}, time={"field": "t", "publish": "generalize"}, algorithm={"name": "zanon", "z": 0}
    )
    assert problems(written) == [
        "algorithm.z: is below 1; use at least 1",
        "algorithm.window: is missing; add how far back users are counted, and how long a pseudonym lasts, such as 1h",
        "person: none tells no users apart; name the field that does",
        "time.publish: zanon publishes each time as it came; use keep",
        "privacy: zanon promises z users an item instead of k persons a group; remove it",
    ]


def test_other_algorithms_count_no_items() -> None:
    written = {
        **RIGHT,
        "attributes": {"age": {"quasi": "numeric", "range": [0, 1]}},
        "privacy": {"k": 2},
        "window": {"count": 4},
        "algorithm": {"name": "fads"},
    }
    assert problems(written) == ["item: is counted by zanon only; remove it, or use algorithm: {name: zanon, …}"]


def test_notes() -> None:
    told = "time: is published as it came, exactly, and so are kept attributes; either may single an observation out"
    assert Policy.parse(RIGHT).notes == (told,)
    assert Policy.parse(with_parameters(z=1, window=0)).notes == (
        told,
        "algorithm.z: 1 withholds nothing",
        "algorithm.window: 0 counts a single moment only, and changes pseudonyms with every time",
    )
