"""A value that the hierarchy lacks, under `unknown: root`: a leaf of its own below the root, published as the root."""

from __future__ import annotations

import pytest

from shoal import Anonymizer
from shoal.blocks.distance import by_values
from shoal.blocks.distance import distance as inner_distance
from shoal.compiled import kernel
from tests.columns.encoding import policy


@kernel
def distance(domain, window, t, u):
    return inner_distance(domain, window, t, u, by_values(1.0))


def published(*cities: str, k: int) -> tuple[list[str], float]:
    """What is shown for each city, in the order of the input, and the mean loss."""
    made = Anonymizer(policy(city={"unknown": "root"}, privacy={"k": k}, window={"count": max(k, len(cities))}))
    for i, city in enumerate(cities):
        made.push({"pid": i, "city": city})
    shown = made.to_records(made.flush())
    by_row = dict(zip(made.trace.column("row").to_pylist(), shown, strict=True))
    return [by_row[row]["city"] for row in range(len(cities))], made.stats.loss


def test_alone_it_is_shown_as_the_root_at_the_roots_loss() -> None:
    assert published("zz", k=1) == (["any"], 1.0)
    assert published("a", k=1) == (["a"], 0.0)


@pytest.mark.parametrize("others", [("zz",), ("yy",), ("a",), ("letters",), ("zz", "yy", "a")])
def test_in_company_too(others: tuple[str, ...]) -> None:
    assert published("zz", *others, k=1 + len(others)) == (["any"] * (1 + len(others)), 1.0)


def test_the_known_keep_their_node_beside_it() -> None:
    assert published("a", "zz", "b", "yy", k=2) == (["letters", "any", "letters", "any"], (0.4 + 1 + 0.4 + 1) / 4)


def test_distances() -> None:
    """Two unknown ones are equal to each other, and as far as can be from everybody else."""
    made = Anonymizer(policy(city={"unknown": "root"}, window={"count": 9}))
    for i, city in enumerate(["zz", "yy", "a", "b", "1"]):
        made.push({"pid": i, "city": city})
    domain, window = made._engine._lane.state.domain, made._engine._lane.state.window
    assert [distance(domain, window, 0, other) for other in range(5)] == [0.0, 0.0, 1.0, 1.0, 1.0]
    assert distance(domain, window, 2, 3) == 0.4
    assert distance(domain, window, 2, 4) == 1.0


def test_the_nearest_of_an_unknown_is_another_unknown() -> None:
    made = Anonymizer(policy(city={"unknown": "root"}, privacy={"k": 2}, window={"count": 4}))
    for i, city in enumerate(["zz", "a", "b", "yy"]):
        made.push({"pid": i, "city": city})
    made.flush()
    assert made.trace.column("row").to_pylist() == [0, 3, 1, 2]


def test_suppressed_is_the_root_too() -> None:
    assert published("zz", "a", k=3) == (["any", "any"], 1.0)


def test_a_hierarchy_of_one_leaf() -> None:
    tree = {"hierarchy": {"any": ["a"]}, "unknown": "root"}
    made = Anonymizer(policy(city=tree))
    for i, city in enumerate(["a", "zz"]):
        made.push({"pid": i, "city": city})
    assert [record["city"] for record in made.to_records(made.flush())] == ["a", "any"]
    assert made.stats.loss == 0.0
