from __future__ import annotations

import os
from pathlib import Path

import pytest

from policy.base import problems, with_attribute
from shoal.errors import PolicyError
from shoal.policy import Hierarchy, Policy, parse_file

EMPTY = "h.csv is empty; write one line per leaf, leaf first, root last, ';' between"


def parsed(text: str) -> list[list[str]]:
    return parse_file(text.encode(), "h.csv").lines()


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a;b;*\nc;*\n", [["a", "b", "*"], ["c", "*"]]),
        ("a;*\r\nb;*\r\n", [["a", "*"], ["b", "*"]]),
        ("\ufeffa;*", [["a", "*"]]),
        ("\na;*\n  \n\nb;*\n", [["a", "*"], ["b", "*"]]),
        ('"a;b";"say ""hi""";*', [["a;b", 'say "hi"', "*"]]),
        (" a ; * ", [["a", "*"]]),
        ("cafe\u0301;*", [["caf\u00e9", "*"]]),
        ("a;b;b;*;*\nc;c;b;*;*", [["a", "b", "*"], ["c", "b", "*"]]),
        ("a;*\na;*\n", [["a", "*"]]),
        ("a;*\na;a;*\n", [["a", "*"]]),
        ("*", [["*"]]),
    ],
)
def test_what_a_file_says(text: str, lines: list[list[str]]) -> None:
    assert parsed(text) == lines


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", EMPTY),
        ("\n  \n", EMPTY),
        ("a;x;*\nb;y;*\nc;x;y;*", "h.csv, line 3: 'x' lies under 'y' here but under '*' in line 1; give it one parent"),
        ("a;x;*\nx;*", "h.csv, line 2: 'x' is a leaf here but an inner node in line 1; rename one"),
        ("x;*\na;x;*", "h.csv, line 2: 'x' is an inner node here but a leaf in line 1; rename one"),
        ("*\na;*", "h.csv, line 2: '*' is an inner node here but a leaf in line 1; rename one"),
        ("a;x\nb;y", "h.csv, line 2: the root is 'y' here but 'x' in line 1; use one root"),
        ("a;x\nb;x;y", "h.csv, line 2: the root is 'y' here but 'x' in line 1; use one root"),
        ("a;x;*\nb;*\n\na;y;*", "h.csv, line 4: the leaf 'a' has another branch in line 1; keep one"),
        ("a;b;a;*", "h.csv, line 1: 'a' appears twice in one branch; rename one"),
        ("a;;*", "h.csv, line 1: label 2 is empty; name it or remove it"),
        ("a;a;;*", "h.csv, line 1: label 3 is empty; name it or remove it"),
        ("a;*;", "h.csv, line 1: label 3 is empty; name it or remove it"),
        ('""', "h.csv, line 1: label 1 is empty; name it or remove it"),
        ('a;*\n"b;*', "h.csv, line 2: its quotes do not match; double a quote inside quotes"),
        ('"a"b;*', "h.csv, line 1: its quotes do not match; double a quote inside quotes"),
    ],
)
def test_what_is_refused(text: str, problem: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parsed(text)
    assert caught.value.problems == (problem,)


def test_other_encodings_are_refused() -> None:
    with pytest.raises(PolicyError) as caught:
        parse_file("a;*\nb;*\nä;*".encode("latin-1"), "h.csv")
    assert caught.value.problems == ("h.csv, line 3: is not UTF-8; save the file as UTF-8",)


def test_all_problems_of_a_file_up_to_ten() -> None:
    text = "a;*\n" + "".join(f"{number};root\n" for number in range(3))
    with pytest.raises(PolicyError) as caught:
        parsed(text)
    assert len(caught.value.problems) == 3
    text = "a;*\n" + "".join(f"{number};root\n" for number in range(3000))
    with pytest.raises(PolicyError) as caught:
        parsed(text)
    assert len(caught.value.problems) == 11
    assert caught.value.problems[-1] == "h.csv, further problems, if any, are not listed"


def with_file(name: str) -> dict[str, object]:
    return with_attribute(quasi="categorical", hierarchy=name)


def test_files_lie_in_the_policys_folder(tmp_path: Path) -> None:
    (tmp_path / "trees").mkdir()
    (tmp_path / "trees" / "h.csv").write_text("a;*\nb;*\n")
    policy = Policy.parse(with_file("trees/h.csv"), tmp_path)
    assert policy.attributes["x"].hierarchy == Hierarchy.of([["a", "*"], ["b", "*"]])


def test_a_link_inside_the_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("a;*\n")
    (tmp_path / "h.csv").symlink_to("real.csv")
    assert Policy.parse(with_file("h.csv"), tmp_path).attributes["x"].hierarchy == Hierarchy.of([["a", "*"]])


def test_files_outside_the_folder_are_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    outside = tmp_path / "h.csv"
    outside.write_text("a;*\n")
    (home / "inside.csv").write_text("a;*\n")
    (home / "link.csv").symlink_to(outside)
    for name in ("../h.csv", "link.csv", str(outside), str(home / "inside.csv")):
        assert problems(with_file(name), home) == [
            f"attributes.x.hierarchy: {name} lies outside the policy's folder; move it inside and name it from there"
        ]


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    absent = "attributes.x.hierarchy: h.csv does not exist in the policy's folder; add it or correct the name"
    assert problems(with_file("h.csv"), tmp_path) == [absent]
    for name in ("folder", "pipe.csv"):
        assert problems(with_file(name), tmp_path) == [f"attributes.x.hierarchy: {name} is not a file; name a file"]
    for name in ("loop.csv", "nul\0.csv"):
        assert problems(with_file(name), tmp_path) == [
            f"attributes.x.hierarchy: {name} cannot be read; check that it is a file and its permissions"
        ]


def test_without_a_folder_there_are_no_files() -> None:
    assert problems(with_file("h.csv")) == [
        "attributes.x.hierarchy: h.csv is a file, but the policy has no folder; give a folder or write the tree inline"
    ]


def test_problems_of_a_file_are_problems_of_the_policy(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("a;x\nb;y\nc;\n")
    assert problems(with_file("h.csv"), tmp_path) == [
        "attributes.x.hierarchy: h.csv, line 2: the root is 'y' here but 'x' in line 1; use one root",
        "attributes.x.hierarchy: h.csv, line 3: label 2 is empty; name it or remove it",
    ]
