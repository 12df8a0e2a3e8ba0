"""`shoal bench`, and the script that writes figures into a page."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import shoal.bench
from shoal.bench import Report
from shoal.cli import app
from tests.bench.adult import TINY

pytestmark = pytest.mark.slow


def bench(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["bench", *arguments])
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shoal.bench, "QUICK", TINY)
    monkeypatch.setattr(shoal.bench, "FULL", TINY)


@pytest.mark.long
def test_tables_json_and_plot(data: Path, tmp_path: Path) -> None:
    figures, picture = tmp_path / "bench.json", tmp_path / "bench.png"
    options = ("--data", str(data), "--json", str(figures), "--plot", str(picture), "--rounds", "1")
    status, told, _ = bench("speed", "growth", "--quick", "--algorithms", "fads, xband", *options)
    assert status == 0
    assert "Speed in memory" in told and "xband 10" in told and "ns per tuple by window" in told
    assert max(map(len, told.splitlines())) <= 100
    assert json.loads(figures.read_text())["parameters"]["rounds"] == 1
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_json_on_standard_output_is_alone_there(data: Path) -> None:
    status, told, said = bench("threads", "--algorithms", "fads", "--data", str(data), "--json", "-")
    assert status == 0
    assert list(json.loads(told)["parts"]) == ["threads"]
    assert "Independent streams" in said


def test_without_data_it_says_what_to_download(tmp_path: Path) -> None:
    status, told, said = bench("--data", str(tmp_path))
    assert (status, told) == (2, "")
    assert said == (
        f"no Adult data in {tmp_path}: download adult.data from https://archive.ics.uci.edu/dataset/2/adult, run "
        "`shoal datasets prepare adult adult.data --data DATA`, and name DATA by --data or SHOAL_DATA\n"
    )


def test_what_cannot_be_done_is_refused_before_it_is_measured(data: Path) -> None:
    for arguments, reason in (
        (["sped"], "part 'sped' is none"),
        (["--algorithms", "fades"], "algorithm 'fades' is none"),
        (["--plot", "bench.txt"], "unknown kind of picture"),
        (["files", "--plot", "bench.png"], "a plot shows speed, growth, sparse"),
    ):
        status, told, said = bench(*arguments, "--data", str(data))
        assert (status, told) == (2, "")
        assert reason in said


def test_figures_are_written_between_the_markers(measured: Report, tmp_path: Path) -> None:
    script = Path(__file__).parents[2] / "benchmarks" / "figures.py"
    figures, page = tmp_path / "bench.json", tmp_path / "page.md"
    figures.write_text(measured.to_json())
    page.write_text("before\n<!-- figures -->\nold\n<!-- /figures -->\nafter\n")
    for _ in range(2):
        done = subprocess.run([sys.executable, script, figures, page, "seen.svg"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert text.startswith("before\n<!-- figures -->\nAdult, 14 quasi-identifiers") and text.endswith("-->\nafter\n")
    assert "| fads |" in text and "\nold\n" not in text
    assert "Measured by `shoal bench" in text and "![Speed, loss against cost, and growth](seen.svg)" in text
    page.write_text("<!-- speed -->\nold\n<!-- /speed -->\n<!-- figures -->\nkept\n<!-- /figures -->\n")
    done = subprocess.run([sys.executable, script, figures, page, "--between", "speed"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert text.startswith("<!-- speed -->\nMeasured by `shoal bench") and "| fads |" in text and "\nkept\n" in text
    page.write_text("<!-- default -->\nold\n<!-- /default -->\n")
    done = subprocess.run([sys.executable, script, figures, page, "--between", "default"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert text.startswith("<!-- default -->\n`tide` with `nulls_match: blurred`, on UCI Adult") and "old" not in text
    assert "\n| | |\n|---|--:|\n| tuples per second, in memory | " in text and " ms |\n| loss" in text
    page.write_text("no markers")
    done = subprocess.run([sys.executable, script, figures, page], capture_output=True, text=True)
    assert done.returncode == 1 and "lacks <!-- figures -->" in done.stderr
