from __future__ import annotations

from typing import Any

import pytest

from policy.base import problems, with_attribute
from shoal.errors import PolicyError
from shoal.policy import parse_tree


def test_mappings_lists_and_single_leaves() -> None:
    tree = parse_tree({"*": {"a": {"b": ["x", "y"]}, "c": "z", "d": "d"}})
    assert tree.lines() == [["x", "b", "a", "*"], ["y", "b", "a", "*"], ["z", "c", "*"], ["d", "*"]]


def test_scalars_become_canonical_text() -> None:
    tree = parse_tree({"*": {True: [1, 2.0, 2.5], 7: [False, " x "]}})
    assert tree.lines() == [
        ["1", "true", "*"],
        ["2", "true", "*"],
        ["2.5", "true", "*"],
        ["false", "7", "*"],
        ["x", "7", "*"],
    ]


def test_a_list_or_a_leaf_right_under_the_root() -> None:
    assert parse_tree({"*": ["x", "y"]}).lines() == [["x", "*"], ["y", "*"]]
    assert parse_tree({"*": "x"}).lines() == [["x", "*"]]
    assert parse_tree({"*": "*"}).lines() == [["*"]]


ITSELF: dict[str, Any] = {}
ITSELF["*"] = ITSELF


@pytest.mark.parametrize(
    ("tree", "problem"),
    [
        ({}, "has 0 roots; put everything under one key"),
        ({"a": "x", "b": "y"}, "has 2 roots; put everything under one key"),
        ({None: ["x"]}, "its root: null is no label; quote it if it is meant as text"),
        ({"*": None}, "branch '*': null is no label; quote it if it is meant as text"),
        ({"*": {"a": ["x", None]}}, "branch '* > a': null is no label; quote it if it is meant as text"),
        ({"*": {None: ["x"]}}, "branch '*': null is no label; quote it if it is meant as text"),
        ({"*": {"a": " "}}, "branch '* > a': has an empty label; name it or remove it"),
        ({"*": {"a": []}}, "branch '* > a': has no leaves; list some"),
        ({"*": {}}, "branch '*': has no leaves; list some"),
        (
            {"*": ["x", {"a": "y"}]},
            "branch '*': a list holds leaves only; write inner nodes as keys of a mapping",
        ),
        (ITSELF, "branch '*': contains itself; write it out"),
        (
            {"*": {"a": ["x"], "b": ["x"]}},
            "branch '* > b': the leaf 'x' has another branch in branch '* > a'; keep one",
        ),
        (
            {"*": {"a": {"m": "x"}, "b": {"m": "y"}}},
            "branch '* > b > m': 'm' lies under 'b' here but under 'a' in branch '* > a > m'; give it one parent",
        ),
        (
            {"*": {"a": ["b"], "b": ["x"]}},
            "branch '* > b': 'b' is an inner node here but a leaf in branch '* > a'; rename one",
        ),
        ({"*": {"a": ["*"]}}, "branch '* > a': '*' appears twice in one branch; rename one"),
    ],
)
def test_what_is_refused(tree: dict[Any, Any], problem: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_tree(tree)
    assert caught.value.problems == (problem,)


def test_all_problems_of_a_tree_up_to_ten() -> None:
    with pytest.raises(PolicyError) as caught:
        parse_tree({"*": {"a": [None, ""], "b": []}})
    assert caught.value.problems == (
        "branch '* > a': null is no label; quote it if it is meant as text",
        "branch '* > a': has an empty label; name it or remove it",
        "branch '* > b': has no leaves; list some",
    )
    with pytest.raises(PolicyError) as caught:
        parse_tree({"*": {f"n{number}": ["x"] for number in range(100)}})
    assert len(caught.value.problems) == 11


def test_problems_of_a_tree_are_problems_of_the_policy() -> None:
    assert problems(with_attribute(quasi="categorical", hierarchy={"a": "x", "b": "y"})) == [
        "attributes.x.hierarchy: has 2 roots; put everything under one key"
    ]
    for neither in (5, ["a"], "", True):
        assert problems(with_attribute(quasi="categorical", hierarchy=neither)) == [
            "attributes.x.hierarchy: is neither a file nor a tree; "
            "name a file in the policy's folder or write a mapping with one root"
        ]
