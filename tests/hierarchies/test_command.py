from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from shoal.cli import app

CITIES = "Paris;France;Europe\nLyon;France;Europe\nOslo;Europe\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "city.csv").write_text(CITIES)
    (tmp_path / "people.csv").write_text("pid,city\n1,Paris\n2,Rome\n3,\n4,NA\n5,Rome\n")
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["hierarchy", *arguments])
    return done.exit_code, done.stdout, done.stderr


def test_build_a_range() -> None:
    assert run("build", "bands", "--range", "8,11", "--levels", "5") == (
        0,
        "8;5-9;any\n9;5-9;any\n10;10-14;any\n11;10-14;any\n",
        "",
    )


def test_build_from_data() -> None:
    told = run("build", "prefix", "--levels", "1", "--from", "people.csv", "--field", "city", "--null", "NA", "--root", "all")
    assert told == (0, "Paris;P*;all\nRome;R*;all\n", "")


def test_show() -> None:
    told = "Europe  3\n├── France  2\n│   ├── Paris\n│   └── … 1 more\n└── … 1 more\n"
    assert run("show", "city.csv", "--width", "1") == (0, told, "")


def test_show_a_policys() -> None:
    Path("policy.yaml").write_text(
        "person: none\nattributes: {c: {quasi: categorical, hierarchy: {all: [a, b]}}, d: {sensitive: true}}\n"
        "privacy: {k: 2}\nwindow: {count: 9}\n"
    )
    assert run("show", "policy.yaml", "--field", "c")[1] == "all  2\n├── a\n└── b\n"
    told = "policy.yaml: 'd' has no hierarchy; name a categorical quasi-identifier\n"
    assert run("show", "policy.yaml", "--field", "d") == (2, "", told)


def test_check() -> None:
    counts = "city.csv: 3 leaves, 2 inner nodes, 2 to 3 levels, root 'Europe'\n"
    assert run("check", "city.csv") == (0, counts, "")
    told = "city.csv: 1 of 2 values of 'city' are no leaf; shoal hierarchy complete adds them\n"
    assert run("check", "city.csv", "people.csv", "--field", "city", "--null", "NA") == (2, counts + told, "")


def test_check_tells_what_is_no_tree() -> None:
    Path("city.csv").write_text("Paris;France;Europe\nParis;Texas;Europe\n")
    told = "city.csv, line 2: the leaf 'Paris' has another branch in line 1; keep one\n"
    assert run("check", "city.csv") == (2, "", told)


def test_complete() -> None:
    status, out, told = run("complete", "city.csv", "people.csv", "--field", "city", "--null", "NA")
    assert (status, out) == (0, CITIES + "Rome;UNSORTED;Europe\n")
    assert told == "city.csv: 1 values added under 'UNSORTED'\n"
    Path("whole.csv").write_text(out)
    assert run("check", "whole.csv", "people.csv", "--field", "city", "--null", "NA")[0] == 0


def test_a_field_that_is_not_there() -> None:
    told = "people.csv: 'town' is absent, or missing in all rows; correct the name of the field\n"
    assert run("build", "prefix", "--levels", "1", "--from", "people.csv", "--field", "town") == (2, "", told)
