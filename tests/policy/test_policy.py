from __future__ import annotations

import copy
import dataclasses
import pickle
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from policy.base import RIGHT, changed, with_attribute
from shoal.errors import PolicyError
from shoal.policy import Hierarchy, Policy, Privacy, Reuse, Time, Window

WRITTEN = """
version: 1
person: pid
person_missing: own
time: {field: ts, publish: generalize}
nulls: ["", "?", NA, " NA ", -1]
attributes:
  age:       {quasi: numeric, range: [17, 90], grid: 5, out_of_range: clip}
  disease:   {sensitive: true}
  workclass: {quasi: categorical, hierarchy: workclass.csv, unknown: root}
  note:      {publish: keep}
privacy: {k: 50, nulls_match: maybe}
window: {time: 30s}
algorithm: {name: kvarp, reuse_age: 2h, radius: 0.3}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "policy.yaml").write_text("\ufeff" + WRITTEN, encoding="utf-8")
    (tmp_path / "workclass.csv").write_text("State;Public;*\nFederal;Public;*\nPrivate;*\n")
    return tmp_path


def test_everything_a_policy_can_say(folder: Path) -> None:
    policy = Policy.load(folder / "policy.yaml")
    assert (policy.person, policy.person_missing) == ("pid", "own")
    assert policy.time == Time(field="ts", publish="generalize")
    assert policy.nulls == ("", "?", "NA", "-1")
    assert list(policy.attributes) == ["age", "disease", "workclass", "note"]
    assert [attribute.role for attribute in policy.attributes.values()] == [
        "numeric",
        "sensitive",
        "categorical",
        "kept",
    ]
    assert [name for name, _ in policy.quasi] == ["age", "workclass"]
    assert policy.kept == ("disease", "note")
    age, workclass = policy.attributes["age"], policy.attributes["workclass"]
    assert (age.quasi, age.low, age.high, age.grid, age.out_of_range) == ("numeric", 17.0, 90.0, 5.0, "clip")
    assert (workclass.quasi, workclass.unknown) == ("categorical", "root")
    assert workclass.hierarchy == Hierarchy.of([["State", "Public", "*"], ["Federal", "Public", "*"], ["Private", "*"]])
    assert policy.attributes["disease"].sensitive
    assert policy.attributes["note"].publish == "keep"
    assert policy.privacy == Privacy(k=50, nulls_match="maybe")
    assert (policy.window.kind, policy.window.length) == ("time", 30.0)
    assert policy.algorithm.name == "kvarp"
    assert policy.algorithm.radius == 0.3
    assert policy.reuse == Reuse(7200.0, 1000, float("inf"))


def test_defaults() -> None:
    policy = Policy.parse(RIGHT)
    assert (policy.person_missing, policy.time, policy.nulls) == ("reject", None, ("",))
    assert (policy.privacy.nulls_match, policy.privacy.min_support, policy.privacy.support) == ("blurred", None, 2)
    assert [Privacy(k=k, nulls_match=match).support for k, match in ((1, "blurred"), (5, "maybe"), (5, "extended"))] == [
        1,
        1,
        1,
    ]
    assert (policy.requirements, dict(policy.weights), policy.stretch) == ((), {}, 1.0)
    age, city = policy.attributes["age"], policy.attributes["city"]
    assert (age.out_of_range, city.unknown) == ("reject", "reject")
    assert Policy.parse(changed(time={"field": "ts"})).time == Time(field="ts", publish="drop")


def test_text_and_mapping_say_the_same(folder: Path) -> None:
    assert Policy.parse(WRITTEN, folder) == Policy.load(str(folder / "policy.yaml"))


def test_nobody() -> None:
    policy = Policy.parse(changed(person="none"))
    assert policy.person is None
    assert Policy.parse(changed(person="none", time={"field": "none"})).person is None


@pytest.mark.parametrize(
    ("window", "kind", "length"),
    [
        ({"count": 50}, "count", 50.0),
        ({"count": 2000.0}, "count", 2000.0),
        ({"buffer": 60}, "buffer", 60.0),
        ({"time": "250ms"}, "time", 0.25),
        ({"time": "30s"}, "time", 30.0),
        ({"time": "1.5 m"}, "time", 90.0),
        ({"time": "2h"}, "time", 7200.0),
        ({"time": "1d"}, "time", 86400.0),
        ({"time": 5}, "time", 5.0),
        ({"time": 0.5}, "time", 0.5),
    ],
)
def test_windows(window: dict[str, object], kind: str, length: float) -> None:
    read = Policy.parse(changed(window=window, time={"field": "ts"})).window
    assert (read.kind, read.length, read.timed) == (kind, length, kind == "time")


def test_sixty_four_quasi_identifiers_are_enough() -> None:
    attributes = {f"q{number}": {"quasi": "numeric", "range": [0, 1]} for number in range(64)}
    assert len(Policy.parse(changed(attributes=attributes)).quasi) == 64


def test_nothing_can_be_changed() -> None:
    policy = Policy.parse(RIGHT)
    with pytest.raises(dataclasses.FrozenInstanceError):
        policy.person = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        policy.attributes["x"] = 1  # type: ignore[index]
    with pytest.raises(AttributeError, match="a FrozenMap does not change"):
        policy.attributes.x = 1  # type: ignore[attr-defined]
    for part in (policy.privacy, policy.window, policy.algorithm, policy.attributes["age"]):
        with pytest.raises(ValidationError):
            part.k = 1  # type: ignore[union-attr]


def test_copies_are_equal() -> None:
    policy = Policy.parse(RIGHT)
    for twin in (pickle.loads(pickle.dumps(policy)), copy.deepcopy(policy), Policy.parse(RIGHT)):
        assert twin == policy
        assert hash(twin) == hash(policy)
        assert twin.attributes == policy.attributes
        assert hash(twin.attributes) == hash(policy.attributes)
    assert policy != RIGHT


def test_parsing_leaves_what_was_written_alone() -> None:
    written = copy.deepcopy(RIGHT)
    Policy.parse(written)
    assert written == RIGHT


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    absent, latin = tmp_path / "absent.yaml", tmp_path / "latin.yaml"
    latin.write_bytes(b"person: \xe4")
    for path, problem in (
        (absent, "does not exist; correct the path"),
        (latin, "is not UTF-8; save it as UTF-8"),
        (tmp_path, "cannot be read; check that it is a file and its permissions"),
    ):
        with pytest.raises(PolicyError) as caught:
            Policy.load(path)
        assert caught.value.problems == (f"{path}: {problem}",)


def test_a_window_by_hand() -> None:
    assert Window(count=5).length == 5.0


NULLS = "privacy.nulls_match: maybe lets a null stand for any value; an observer who takes nulls as values sees smaller groups"


@pytest.mark.parametrize(
    ("written", "notes"),
    [
        (RIGHT, []),
        (
            changed(person="none"),
            ["person: none counts every record as a person; one who comes back counts more than once"],
        ),
        (
            changed(time={"field": "ts", "publish": "keep"}),
            ["time.publish: keep publishes each record's exact time, which may single it out; drop is safer"],
        ),
        (
            with_attribute(quasi="numeric", range=[0, 1]),
            ["attributes.x.grid: without one, the ends of a published interval are persons' own values"],
        ),
        (
            changed(nulls=["Oslo"]),
            ["attributes.city.hierarchy: has a leaf that nulls lists too; it is always read as missing"],
        ),
        (changed(privacy={"k": 1}), ["privacy.k: 1 hides nobody among others"]),
        (changed(privacy={"k": 50, "nulls_match": "maybe"}), [NULLS]),
        (changed(privacy={"k": 50, "nulls_match": "root"}), []),
        (
            changed(window={"buffer": 60}),
            ["window.buffer: bounds memory but promises no delay; count and time do"],
        ),
    ],
)
def test_notes(written: dict[str, Any], notes: list[str]) -> None:
    assert list(Policy.parse(written).notes) == notes


def fingerprint(written: dict[str, Any], folder: Path | None = None) -> str:
    return Policy.parse(written, folder).fingerprint


def test_it_is_a_digest_that_stays() -> None:
    assert fingerprint(RIGHT) == "b0b3c628c9800f37ce0dd844892da0e4ad31b108cd621fb2290b91ba42a948d1"


AGE = {"quasi": "numeric", "range": [17, 90], "grid": 5}
CITY = RIGHT["attributes"]["city"]


@pytest.mark.parametrize(
    "sections",
    [
        {"person": "id"},
        {"person": "none"},
        {"person_missing": "own"},
        {"time": {"field": "ts"}},
        {"time": {"field": "ts", "publish": "keep"}},
        {"nulls": ["", "?"]},
        {"privacy": {"k": 51}},
        {"privacy": {"k": 50, "nulls_match": "maybe"}},
        {"privacy": {"k": 50, "nulls_match": "maybe", "min_support": 2}},
        {"privacy": {"k": 50, "one_in_k": False}},
        {"privacy": {"k": 50, "l": 2}},
        {"privacy": {"k": 50, "l": {"entropy": 2}}},
        {"privacy": {"k": 50, "t": 0.5}},
        {"weights": {"age": 2}},
        {"sparse": {"stretch": 2}},
        {"lanes": 2},
        {"window": {"count": 2001}},
        {"window": {"buffer": 2000}},
        {"algorithm": {"name": "kvarp"}},
        {"algorithm": {"name": "idea", "reuse_limit": 100}},
        {"algorithm": {"name": "idea", "reuse_age": 100}},
        {"attributes": {"age": AGE, "city": CITY}},
        {"attributes": {**RIGHT["attributes"], "age": {**AGE, "grid": 10}}},
        {"attributes": {**RIGHT["attributes"], "age": {**AGE, "range": [16, 90]}}},
        {"attributes": {**RIGHT["attributes"], "age": {**AGE, "out_of_range": "clip"}}},
        {"attributes": {**RIGHT["attributes"], "city": {**CITY, "unknown": "root"}}},
        {"attributes": {**RIGHT["attributes"], "city": {**CITY, "hierarchy": {"World": ["Paris", "Lyon", "Oslo"]}}}},
        {"attributes": dict(reversed(RIGHT["attributes"].items()))},
    ],
)
def test_it_changes_with_what_decides_the_outcome(sections: dict[str, Any]) -> None:
    assert fingerprint(changed(**sections)) != fingerprint(RIGHT)


@pytest.mark.parametrize(
    "sections",
    [
        {"version": 1},
        {"person_missing": "reject"},
        {"nulls": [" "]},
        {"privacy": {"nulls_match": "blurred", "k": 50.0, "min_support": 2}},
        {"weights": {}},
        {"sparse": "suppress"},
        {"window": {"count": 2000.0}},
        {"algorithm": {"name": "idea", "reuse_limit": 200, "reuse_loss": 0.5}},
        {"attributes": {**RIGHT["attributes"], "age": {"grid": 5.0, "range": [17.0, 90.0], "quasi": "numeric"}}},
    ],
)
def test_it_stays_with_other_words_for_the_same(sections: dict[str, Any]) -> None:
    assert fingerprint(changed(**sections)) == fingerprint(RIGHT)


def test_a_file_and_an_inline_tree_are_one_hierarchy(tmp_path: Path) -> None:
    (tmp_path / "city.csv").write_text("Paris;France;World\nLyon;France;World\nOslo;Norway;World\n")
    attributes = {**RIGHT["attributes"], "city": {"quasi": "categorical", "hierarchy": "city.csv"}}
    assert fingerprint(changed(attributes=attributes), tmp_path) == fingerprint(RIGHT)


def test_seconds_have_one_fingerprint() -> None:
    time = {"field": "ts"}
    assert fingerprint(changed(time=time, window={"time": "2m"})) == fingerprint(changed(time=time, window={"time": 120}))
