from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import PolicyError
from shoal.policy import Hierarchy, parse_file

Lines = list[list[str]]

LINES = [
    ["Paris", "France", "Europe", "World"],
    ["Oslo", "Norway", "Europe", "World"],
    ["Lima", "World"],
    ["Lyon", "France", "Europe", "World"],
]


@st.composite
def trees(draw: st.DrawFn) -> Lines:
    """Random trees, as lines from leaf to root in depth-first order."""
    size = draw(st.integers(1, 30))
    above = [-1] + [draw(st.integers(0, node - 1)) for node in range(1, size)]
    signs = draw(st.sampled_from(["n", "é ", 'a"b', "x;y", "#", "0"]))
    lines: Lines = []

    def walk(node: int, line: list[str]) -> None:
        line = [f"{signs}{node}", *line]
        below = [child for child in range(size) if above[child] == node]
        for child in below:
            walk(child, line)
        if not below:
            lines.append(line)

    walk(0, [])
    return lines


def as_file(lines: Lines) -> bytes:
    return "\n".join(";".join('"' + label.replace('"', '""') + '"' for label in line) for line in lines).encode()


def test_leaves_come_first_in_depth_first_order_and_the_root_last() -> None:
    tree = Hierarchy.of(LINES)
    assert tree.labels == ("Paris", "Lyon", "Oslo", "Lima", "France", "Norway", "Europe", "World")
    assert tree.leaves == 4
    assert tree.root == 7
    assert tree.parent.tolist() == [4, 4, 5, 7, 6, 6, 7, -1]
    assert tree.first.tolist() == [0, 1, 2, 3, 0, 2, 0, 0]
    assert tree.last.tolist() == [0, 1, 2, 3, 1, 2, 2, 3]
    assert dict(tree.code) == {"Paris": 0, "Lyon": 1, "Oslo": 2, "Lima": 3}


def test_one_node_is_leaf_and_root() -> None:
    tree = Hierarchy.of([["all"]])
    assert (tree.labels, tree.leaves, tree.root) == (("all",), 1, 0)
    assert tree.parent.tolist() == [-1]
    assert tree.lines() == [["all"]]


def test_labels_are_trimmed_and_repeats_collapse() -> None:
    assert Hierarchy.of([[" a ", "b", "b", "*", "*"]]).lines() == [["a", "b", "*"]]


def test_nothing_can_be_changed() -> None:
    tree = Hierarchy.of(LINES)
    for array in (tree.parent, tree.first, tree.last):
        assert array.dtype == np.int64
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 9
    with pytest.raises(AttributeError):
        tree.leaves = 9  # type: ignore[misc]
    with pytest.raises(TypeError):
        tree.code["Paris"] = 9  # type: ignore[index]


def test_copies_are_equal_and_frozen() -> None:
    tree = Hierarchy.of(LINES)
    for twin in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
        assert twin == tree
        assert hash(twin) == hash(tree)
        assert not twin.parent.flags.writeable
    assert tree != Hierarchy.of(LINES[:1])
    assert tree != "a tree"
    assert repr(tree) == "Hierarchy(root='World', leaves=4, nodes=8)"


def test_no_lines_are_no_tree() -> None:
    with pytest.raises(PolicyError) as caught:
        Hierarchy.of([])
    assert caught.value.problems == ("has no leaves; write one line per leaf",)


def test_a_deep_tree() -> None:
    line = [str(level) for level in range(5000)]
    assert Hierarchy.of([line]).lines() == [line]


@given(trees())
def test_a_tree_survives_its_file(lines: Lines) -> None:
    tree = parse_file(as_file(lines), "tree.csv")
    assert tree == Hierarchy.of(lines)
    assert tree.lines() == [[label.strip() for label in line] for line in lines]


@given(trees(), st.randoms())
def test_the_order_of_lines_changes_no_node(lines: Lines, random: object) -> None:
    shuffled = list(lines)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert sorted(Hierarchy.of(shuffled).lines()) == sorted(Hierarchy.of(lines).lines())


@given(trees())
def test_intervals_nest(lines: Lines) -> None:
    tree = Hierarchy.of(lines)
    paths = tree.lines()
    assert (tree.first[tree.root], tree.last[tree.root]) == (0, tree.leaves - 1)
    for node, label in enumerate(tree.labels):
        below = [leaf for leaf, path in enumerate(paths) if label in path]
        assert below == list(range(tree.first[node], tree.last[node] + 1))
        above = tree.parent[node]
        assert (above == -1) == (node == tree.root)
        if above >= 0:
            assert above > node
            assert tree.first[above] <= tree.first[node] <= tree.last[node] <= tree.last[above]
