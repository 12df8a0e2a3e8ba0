from __future__ import annotations

import pytest

from shoal import Anonymizer, Policy

POLICY = """
person: pid
attributes: {age: {quasi: numeric, range: [0, 100]}}
privacy: {k: 2}
window: {count: 3}
algorithm: {name: NAME}
"""


@pytest.mark.parametrize(("name", "shown"), [("tight", [30, 31]), ("queue", [30, 60])])
def test_the_first_group(name: str, shown: list[int]) -> None:
    anonymizer = Anonymizer(Policy.parse(POLICY.replace("NAME", name)))
    released = [row for pid, age in enumerate([30, 60, 31, 90]) for row in anonymizer.push({"pid": pid, "age": age})]
    assert released == [{"age": shown}, {"age": shown}]
