"""All of it on generated data: figures, numbers, reports; the same again; what is kept; what is missing."""

from __future__ import annotations

import csv
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

import shoal.experiments
from shoal.cli import app
from shoal.errors import InputError
from shoal.experiments import PAPERS, QUICK, Chapter, reproduce
from shoal.experiments.claim import VERDICTS
from shoal.experiments.figure import Figure, Panel
from shoal.experiments.pool import run_all

pytestmark = pytest.mark.slow

TINY = replace(QUICK, points=2, seeds=2)
FIGURES = {
    "kvarp": [5, 6, 7, 8, 9, 10], "idea": [4, 5, 6, 7, 8, 9], "xband": [2, 3, 4, 5, 6, 7], "fast": [3, 4, 5, 6, 7, 8],
    "zanon": [2, 3, 4, 5, 6, 7, 8, "c10"],
}  # fmt: skip


@pytest.fixture(scope="module")
def out(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Chapter]]:
    """Everything but the overview, whose algorithms are many; drawing is tested by itself."""
    folder = tmp_path_factory.mktemp("out")
    drawn = Figure._draw
    Figure._draw = lambda self, folder: None
    try:
        return folder, reproduce([*FIGURES], data, folder, scale=TINY, workers=1)
    finally:
        Figure._draw = drawn


@pytest.mark.long
def test_every_figure_of_every_paper(out: tuple[Path, list[Chapter]]) -> None:
    folder, chapters = out
    for paper, findings in chapters:
        assert [figure.name for figure in findings.figures] == [f"figure-{number}" for number in FIGURES[paper.name]]
        for figure in findings.figures:
            header, *rows = csv.reader((folder / paper.name / f"{figure.name}.csv").open())
            assert header == [
                "panel", "curve", "x", "y", "version", "commit", "command", "machine", "seeds", "data_sha256",
            ]  # fmt: skip
            assert rows
            assert all(math.isfinite(float(x)) and math.isfinite(float(y)) for _, _, x, y, *_ in rows)


def test_every_claim_has_a_verdict_in_both_reports(out: tuple[Path, list[Chapter]]) -> None:
    folder, chapters = out
    text, page = ((folder / name).read_text() for name in ("report.md", "report.html"))
    for paper, findings in chapters:
        assert f"## {paper.title}\n" in text
        assert len(findings.claims) > 5
        for claim in findings.claims:
            assert claim.verdict in VERDICTS
            assert f"| {claim.where} | {claim.said} | {claim.measured} | {claim.verdict} |" in text
    assert page.count("<tr><td>") == sum(len(findings.claims) for _, findings in chapters)
    assert "This is a quick run" in text and "This is a quick run" in page


@pytest.mark.long
def test_again_gives_the_same_numbers_but_for_times(data: Path, tmp_path: Path, out: tuple[Path, list[Chapter]]) -> None:
    jobs = [job for name in ("kvarp", "fast", "zanon") for job in PAPERS[name].jobs(TINY) if not job.wants_all_cores]
    first = run_all(jobs, data, out[0] / "runs", workers=1)
    again = run_all(jobs, data, tmp_path, workers=2)
    assert len(again) > 50
    for job in jobs:
        one, other = (
            {name: value for name, value in found[job].items() if name not in ("seconds", "elapsed")}
            for found in (first, again)
        )
        assert one == other


def test_an_interrupted_run_goes_on(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = list(dict.fromkeys(PAPERS["zanon"].jobs(TINY)))[:6]
    seen: list[int] = []

    def interrupt(doing: str, done: int, total: int) -> None:
        seen.append(done)
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_all(jobs, data, tmp_path, 1, interrupt)
    assert len(list(tmp_path.glob("*.json"))) == 4
    broken = next(tmp_path.glob("*.json"))
    broken.write_text("{")
    ran: list[str] = []
    kinds = {kind: lambda data, settings, run=run: ran.append("") or run(data, settings) for kind, run in
             shoal.experiments.pool.KINDS.items()}  # fmt: skip
    monkeypatch.setattr("shoal.experiments.pool.KINDS", kinds)
    run_all(jobs, data, tmp_path, 1)
    assert len(ran) == 3
    assert all(json.loads(path.read_text()) for path in tmp_path.glob("*.json"))


@pytest.mark.long
def test_an_interrupted_command_leaves_no_process_behind(data: Path, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "shoal.cli",
        "reproduce",
        "zanon",
        "--data",
        str(data),
        "--out",
        str(tmp_path),
        "--workers",
        "2",
    ]
    environment = {**os.environ, "PYTHONPATH": str(Path(shoal.__file__).parents[1])}
    started = subprocess.Popen(
        command, env=environment, start_new_session=True, stderr=subprocess.PIPE, text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # ignored if the tests run in the background
    )  # fmt: skip
    while not list(tmp_path.glob("runs/*.json")):
        assert started.poll() is None
        time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    _, told = started.communicate()
    assert (started.returncode, told) == (130, "interrupted\n")
    for _ in range(100):
        try:
            os.killpg(started.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise AssertionError("a process is still there")


@pytest.mark.parametrize(
    ("paper", "path", "page"),
    [
        ("idea", "informs/demographics05test.csv", "INFORMS 2008 data mining contest"),
        ("xband", "pm25/ShanghaiPM20100101_20151231.csv", "archive.ics.uci.edu/dataset/394"),
        ("kvarp", "adult/adult.data", "archive.ics.uci.edu/dataset/2/adult"),
        ("xband", "pm25/hierarchies/cbwd.csv", "`shoal datasets prepare` writes it"),
    ],
)
def test_missing_data_is_named(data: Path, tmp_path: Path, paper: str, path: str, page: str) -> None:
    home = tmp_path / "data"
    shutil.copytree(data, home)
    (home / path).unlink()
    with pytest.raises(InputError, match=page) as told:
        reproduce([paper], home, tmp_path / "out", scale=TINY, workers=1)
    assert path.split("/")[-1] in str(told.value) and str(home) in str(told.value)
    assert not (tmp_path / "out").exists()


def test_the_command(data: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(
        app, ["reproduce", "fast", "--quick", "--data", str(data), "--out", str(tmp_path), "--workers", "1"]
    )
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("FAST: ")
    assert {path.suffix for path in (tmp_path / "fast").iterdir()} == {".png", ".svg", ".csv"}
    made = json.loads((tmp_path / "provenance.json").read_text())
    assert list(made) == ["version", "commit", "command", "machine", "seeds", "digests", "data_sha256"]
    assert made["seeds"] == [0] and made["digests"].keys() >= {"adult.data", "demographics05test.csv"}
    for name in ("report.md", "report.html"):
        text = (tmp_path / name).read_text()
        assert "Where the figures come from" in text and made["commit"] in text and made["digests"]["adult.data"] in text
    first = next(csv.DictReader((tmp_path / "fast" / "figure-3.csv").open()))
    assert (first["commit"], first["seeds"], first["data_sha256"]) == (made["commit"], "0", made["data_sha256"])
    refused = CliRunner().invoke(app, ["reproduce", "castle", "--data", str(data), "--out", str(tmp_path)])
    assert refused.exit_code == 2
    assert refused.stderr == "paper 'castle' is none; known are kvarp, idea, xband, fast, zanon, overview, and all\n"


def test_a_drawing_is_the_same_each_time(tmp_path: Path) -> None:
    curves = {"FADS": ([1, 10], [0.5, 0.4]), "tide": ([1, 10], [0.3, 0.2])}
    panels = [
        Panel("a", "x", "y", curves, log="x"),
        Panel("b", "x", "y", {"1": ([0, 1], [0.2, 0.8])}, heat=True),
        Panel("c", "x", "y", {}),
    ]
    for folder in ("one", "other"):
        Figure("figure", "A figure", panels).write(tmp_path / folder)
    for suffix in ("png", "svg", "csv"):
        assert (tmp_path / "one" / f"figure.{suffix}").read_bytes() == (tmp_path / "other" / f"figure.{suffix}").read_bytes()
