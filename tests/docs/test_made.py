"""Pages that are made from the code, or from measured figures, are what would be made now; `make reference` makes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import choosing
from tools import commands, keys

from shoal.cli import app
from tests.docs.base import read


def test_the_commands() -> None:
    assert read("docs/cli.md") == commands.text()


def test_every_command_has_its_section() -> None:
    names = [path for path, _ in commands.commands()]
    assert {"shoal run", "shoal hierarchy build"} <= set(names)
    assert len(names) >= len(app.registered_commands)
    assert [name for name in names if f"\n## {name}\n" not in read("docs/cli.md")] == []


def test_the_keys() -> None:
    assert read("docs/policy-keys.md") == keys.text()


def test_the_curves() -> None:
    found = choosing.read(choosing.DOCS / "choosing.csv")
    text = read("docs/choosing.md")
    assert choosing.page(text, found) == text


def test_curves_that_differ_are_noticed(tmp_path: Path) -> None:
    found = choosing.read(choosing.DOCS / "choosing.csv")
    choosing.write([found[0]._replace(loss=0.999), *found[1:]], tmp_path / "other.csv")
    text = read("docs/choosing.md")
    assert choosing.page(text, choosing.read(tmp_path / "other.csv")) != text


def test_a_page_without_its_markers_is_refused() -> None:
    with pytest.raises(SystemExit, match="the page lacks <!-- curves: k -->"):
        choosing.page("nothing", [])
