"""Pages that are made from the code, or from measured figures, are what would be made now; `make reference` makes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import choosing
from tools import commands, keys, log_lines

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


def test_the_log_lines() -> None:
    text = read("docs/promise.md")
    assert log_lines.page(text) == text
    assert {"info", "warning", "debug"} <= {line.level for line in log_lines.lines()}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("log.info('%d tuples', 3)", [("info", "… tuples", "a.py")]),
        ("logging.getLogger('shoal').error('%r failed', name)", [("error", "… failed", "a.py")]),
        ("self.warnings.append(f'{path}: is damaged')", [("warning", "…: is damaged", "a.py")]),
        ("other.info('no log')", []),
    ],
)
def test_a_log_line_is_found(source: str, expected: list[tuple[str, str, str]], tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(source)
    assert log_lines.lines(tmp_path) == expected


def test_a_log_line_that_is_made_elsewhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("log.info(text)")
    with pytest.raises(SystemExit, match=r"a\.py, line 1: the text of a log line must be written where it is logged"):
        log_lines.lines(tmp_path)


def test_messages_on_the_page_are_those_of_the_commands() -> None:
    said = read("src/shoal/cli/run_display.py") + read("src/shoal/cli/failure.py") + read("src/shoal/columns/rejection.py")
    for phrase in (
        "OUTSIDE k: ",
        "singles rows out: ",
        "rows look like fewer than ",
        "a fault of the algorithm: ",
        "a fault of shoal: ",
        "its text is withheld",
    ):
        assert phrase in said
        assert phrase in read("docs/promise.md")
