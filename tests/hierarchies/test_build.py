from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from policy.base import problems, with_attribute
from shoal.config.yaml_text import read_yaml
from shoal.errors import PolicyError
from shoal.hierarchies import BUILDERS, READY, build, completed
from shoal.policy import Hierarchy, Policy


@pytest.mark.slow
@pytest.mark.parametrize("rule", BUILDERS.values(), ids=lambda rule: rule.NAME)
def test_the_example_of_a_builder_is_a_tree(rule: Any) -> None:
    tree = Hierarchy.of(build(read_yaml(rule.EXAMPLE)))
    assert tree.labels[tree.root] == "any"
    assert tree.leaves > 100


@pytest.mark.parametrize(
    ("written", "leaves", "last"),
    [
        ({"builder": "bands", "range": [0, 9], "levels": [5]}, 10, ["9", "5-9", "any"]),
        ({"builder": "bands", "range": [-1, 1], "step": 0.5, "levels": [1, 2]}, 5, ["1", "[1, 2)", "[0, 2)", "any"]),
        ({"builder": "dates", "range": ["2023-12-31", "2024-02-29"]}, 61, ["2024-02-29", "2024-02", "2024-Q1", "2024", "any"]),
        ({"builder": "dates", "values": ["1987"], "levels": ["year", "decade"]}, 1, ["1987", "1980s", "any"]),
        ({"builder": "prefix", "range": ["098", "101"], "levels": [2, 1]}, 4, ["101", "10*", "1*", "any"]),
        ({"builder": "prefix", "values": ["É1", "É2"], "levels": [1], "root": "all"}, 2, ["É2", "É*", "all"]),
        ({"builder": "networks", "range": "10.0.0.0/30", "levels": [31]}, 4, ["10.0.0.3", "10.0.0.2/31", "any"]),
        ({"builder": "networks", "values": ["2001:db8::1"], "levels": [48]}, 1, ["2001:db8::1", "2001:db8::/48", "any"]),
        ({"builder": "cells", "values": ["-0.5, 179.9"], "levels": [1]}, 1, ["-0.5, 179.9", "-1,179..0,180", "any"]),
        ({"builder": "icd10", "values": ["Z99.9"]}, 1, ["Z99.9", "Z99*", "Z00-Z99", "any"]),
        ({"ready": "countries", "by": "alpha-3"}, 249, ["ATA", "World"]),
        ({"ready": "education", "by": "code"}, 9, ["8", "advanced degree", "high education", "any education"]),
        ({"ready": "occupation", "by": "code"}, 43, ["03", "Armed forces occupations", "any occupation"]),
    ],
)  # fmt: skip
def test_the_lines_of_each_builder(written: dict[str, Any], leaves: int, last: list[str]) -> None:
    lines = build(written)
    assert (Hierarchy.of(lines).leaves, lines[-1]) == (leaves, last)


@pytest.mark.parametrize("name", READY)
def test_what_is_ready_is_a_tree_in_every_way_of_writing(name: str) -> None:
    sizes = {Hierarchy.of(build({"ready": name, "by": by})).leaves for by in READY[name]}
    assert len(sizes) == 1


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ({"builder": "band", "levels": [5]},
         "builder: there is no such one; known are bands, dates, prefix, networks, cells, icd10; did you mean 'bands'?"),
        ({"builder": "bands", "level": [5]},
         "level: unknown key of the builder bands; known are builder, values, root, levels, range, step"),
        ({"builder": "bands", "levels": [5, 12], "range": [0, 9]},
         "levels: each must be at least 1e-12 and a multiple of the one before; otherwise the nodes make no tree"),
        ({"builder": "bands", "levels": [5]},
         "has no leaves; give a range, or list the values under values or in a file that it names"),
        ({"builder": "bands", "levels": [5], "range": [0, 9], "values": ["1"]},
         "values: are given, and a range too; keep one of them"),
        ({"builder": "bands", "levels": [5], "range": [0, 10_000_000]},
         "range: has more than 1,000,000 values; narrow it, or list those that occur under values"),
        ({"builder": "bands", "levels": [5], "range": [0, 1e30]},
         "range: is no pair of numbers below 1e15; write [lowest, highest]"),
        ({"builder": "bands", "levels": [5], "range": [0, 1e14], "step": 1e-12},
         "range: has more than 1,000,000 values; narrow it, or list those that occur under values"),
        ({"builder": "bands", "levels": [1e-30, 5], "values": ["1"]},
         "levels: each must be at least 1e-12 and a multiple of the one before; otherwise the nodes make no tree"),
        ({"builder": "bands", "levels": [5], "range": [0, 9], "step": 1e-13},
         "step: is not from 1e-12 on; give the distance between two values of the range"),
        ({"builder": "cells", "levels": [1], "range": [0, 0, 1, 1], "step": 1e-40},
         "step: is not from 1e-12 on; give the distance between two places of the range, in degrees"),
        ({"builder": "bands", "levels": [7], "values": ["1" * 40]},
         "values: number 1 is no number below 1e15 (withheld); correct it or take it out"),
        ({"builder": "networks", "range": 10}, "range: is no network; write it like 10.1.0.0/16"),
        ({"builder": "dates", "levels": ["year", "month"]},
         "levels: is no list of levels; choose from month, quarter, year, decade, in this order"),
        ({"builder": "dates", "range": ["2024-02-30", "2024-03-01"]},
         "range: is no pair of days; write it like [2020-01-01, 2025-12-31]"),
        ({"builder": "dates", "values": ["2024-01-01", "secret"]},
         "values: number 2 is no date like 2024-05-17 (withheld); correct it or take it out"),
        ({"builder": "networks", "range": "10.0.0.1/8"}, "range: is no network; write it like 10.1.0.0/16"),
        ({"builder": "prefix", "levels": [2, 3]},
         "levels: do not fall, or not to 1 at least; list the longest first, such as [4, 2]"),
        ({"ready": "planets"}, "ready: there is no such one; known are countries, education, occupation"),
        ({"ready": "countries", "by": "code"},
         "by: is not a way in which countries are written; use name or alpha-2 or alpha-3"),
    ],
)  # fmt: skip
def test_what_cannot_be_built(written: dict[str, Any], told: str) -> None:
    with pytest.raises(PolicyError) as caught:
        build(written)
    assert str(caught.value) == told


def test_a_policy_names_a_builder(tmp_path: Path) -> None:
    (tmp_path / "codes.txt").write_text("75013\n75014\n\n69001\n")
    written = with_attribute(quasi="categorical", hierarchy={"builder": "prefix", "levels": [2], "values": "codes.txt"})
    tree = Policy.parse(written, tmp_path).attributes["x"].hierarchy
    assert tree and tree.lines()[1] == ["75014", "75*", "any"]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ("../codes.txt", "../codes.txt lies outside the policy's folder; move it inside and name it from there"),
        ("none.txt", "none.txt does not exist in the policy's folder; add it or correct the name"),
    ],
)
def test_a_file_of_values_lies_in_the_folder(values: str, told: str, tmp_path: Path) -> None:
    written = with_attribute(quasi="categorical", hierarchy={"builder": "prefix", "levels": [2], "values": values})
    assert problems(written, tmp_path) == [f"attributes.x.hierarchy: {told}"]


def test_a_tree_may_still_have_such_a_root() -> None:
    written = with_attribute(quasi="categorical", hierarchy={"ready": ["set", "go"]})
    tree = Policy.parse(written).attributes["x"].hierarchy
    assert tree and tree.lines() == [["set", "ready"], ["go", "ready"]]


def test_a_value_that_is_an_inner_node_cannot_be_added() -> None:
    with pytest.raises(PolicyError, match=r"^1 of the values are labels of inner nodes, and cannot be leaves too; "):
        completed([["Paris", "France", "Europe"]], ["France", "Oslo"])
