from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from policy.base import RIGHT, changed
from shoal.policy import Policy


def fingerprint(written: dict[str, Any], folder: Path | None = None) -> str:
    return Policy.parse(written, folder).fingerprint


def test_it_is_a_digest_that_stays() -> None:
    assert fingerprint(RIGHT) == "91c9a0a357174115a4cf943e905d58c5457e22f73498f4a27495e57aa549437d"


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
        {"privacy": {"nulls_match": "extended", "k": 50.0}},
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
