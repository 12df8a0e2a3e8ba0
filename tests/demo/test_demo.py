"""The command as a user meets it."""

from __future__ import annotations

import json
import shlex
import subprocess
from inspect import signature
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.base import ENVIRONMENT, files, shoal_run
from shoal.anonymizer import compile_kernels
from shoal.cli import app, terminal
from shoal.cli.demo import demo
from shoal.compiled import is_compiled
from shoal.demo import policy_of, prepare
from shoal.policy.algorithm import WINDOWED
from shoal.policy.policy_file import DEFAULT

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", WINDOWED)
def test_each_algorithm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    compile_kernels(name)
    assert is_compiled(name)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["demo", "--tuples", "2000", "--algorithm", name])
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"─ {name}, k = 20 ─" in result.stdout


def test_a_demo_and_every_command_it_prints(tmp_path: Path) -> None:
    compile_kernels(DEFAULT.name)
    done = shoal_run("demo", "a demo", "--tuples", "3000", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines()[:-7])) <= 100
    for told in ("tuples per second", "loss", "smallest group", "longest wait", "outside k"):
        assert told in done.stdout
    made = {"policy.yaml", "activity.csv", "district.csv", "wearables.jsonl", "anonymized.jsonl"}
    assert files(tmp_path / "a demo") == made
    assert len((tmp_path / "a demo" / "anonymized.jsonl").read_text().splitlines()) == 3000
    commands = [line.strip() for line in done.stdout.splitlines() if line.startswith("  ") and "shoal" in line]
    assert [shlex.split(command)[3] for command in commands] == ["check", "run", "audit", "run"]
    for command in commands:
        again = subprocess.run(command, shell=True, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
        assert (again.returncode, again.stderr) == (0, "")
    assert [len(json.loads(line)) for line in again.stdout.splitlines()] == [8, 8, 8]
    assert files(tmp_path / "a demo") == {*made, "anonymized.parquet", "trace.jsonl"}


def test_the_algorithm_is_the_default_of_a_policy() -> None:
    chosen = {signature(each).parameters["algorithm"].default for each in (demo, prepare, policy_of)}
    assert chosen == {DEFAULT.name}


def test_a_short_demo(tmp_path: Path) -> None:
    compile_kernels(DEFAULT.name)
    done = shoal_run("demo", "--tuples", "1", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 (100 %)" in done.stdout


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    done = shoal_run("demo", ".", cwd=tmp_path)
    told = "holds other things than an earlier demo; name another folder, or empty this one"
    assert (done.returncode, done.stderr) == (2, f".: {told}\n")
    assert files(tmp_path) == {"notes.txt"}


@pytest.mark.parametrize(
    ("called", "said"),
    [
        (".venv/bin/shoal", ".venv/bin/shoal"),
        ("{here}/.venv/bin/shoal", ".venv/bin/shoal"),
        ("./shoal", "./shoal"),
        ("{path}/shoal", "shoal"),
        ("/elsewhere/shoal", "/elsewhere/shoal"),
    ],
)
def test_commands_are_named_as_the_user_called_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, called: str, said: str
) -> None:
    here, path = tmp_path / "here", tmp_path / "path"
    here.mkdir()
    path.mkdir()
    (path / "shoal").touch(0o755)
    monkeypatch.chdir(here)
    monkeypatch.setenv("PATH", str(path))
    monkeypatch.setattr("sys.argv", [called.format(here=here, path=path)])
    assert terminal.command() == said
