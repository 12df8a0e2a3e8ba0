from __future__ import annotations

from typing import Any

import pytest

from policy.base import RIGHT, changed, with_attribute
from shoal.policy import Policy

NULLS = "privacy.nulls_match: maybe lets a null stand for any value; who takes nulls for values sees smaller groups"


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
