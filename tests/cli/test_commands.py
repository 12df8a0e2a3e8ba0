"""The commands in this process: help, versions, faults."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from typer.testing import CliRunner

import shoal
import shoal.compiled
from cli.base import ENVIRONMENT
from shoal.cli import app, datasets, hierarchy

COMMANDS = [command.callback.__name__ for command in app.registered_commands if command.callback]
HIERARCHY = [command.callback.__name__ for command in hierarchy.app.registered_commands if command.callback]
DATASETS = [
    f"datasets {command.name or command.callback.__name__}" for command in datasets.app.registered_commands if command.callback
]


def test_the_version() -> None:
    try:
        expected = f"shoal {version('shoal-stream')}\n"
    except PackageNotFoundError:
        expected = "shoal, not installed\n"
    assert CliRunner().invoke(app, ["--version"]).stdout == expected


def test_the_commands() -> None:
    assert COMMANDS == [
        "run", "pipe", "check", "audit", "infer", "blocks", "schema", "completion", "plan", "lab", "demo", "bench",
        "compare", "reproduce",
    ]  # fmt: skip
    assert HIERARCHY == ["build", "show", "check", "complete"]
    assert DATASETS == ["datasets list", "datasets prepare"]


@pytest.mark.parametrize("name", [*COMMANDS, "hierarchy", *(f"hierarchy {name}" for name in HIERARCHY), "datasets", *DATASETS])
def test_help_has_examples(name: str) -> None:
    told = CliRunner().invoke(app, [*name.split(), "--help"]).stdout
    assert "Examples:" in told
    assert f"  shoal {name} " in told or f"  shoal {name}\n" in told
    assert max(map(len, told.splitlines())) <= 80 + 8


def test_no_command_is_help() -> None:
    assert "Examples:" in CliRunner().invoke(app, []).output


def test_a_fault_withholds_its_text(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise ValueError("could not convert 7731")

    monkeypatch.chdir(folder)
    monkeypatch.setattr(shoal, "run", fail)
    monkeypatch.delenv("SHOAL_TRACEBACK", raising=False)
    result = CliRunner().invoke(app, ["run", "policy.yaml", "people.jsonl", "out.jsonl"])
    assert result.exit_code == 1
    assert "7731" not in result.output
    assert result.stderr.startswith("a fault of shoal: ValueError in cli/run.py, line ")
    assert result.stderr.endswith("; its text is withheld, since it could hold data (SHOAL_TRACEBACK=1 shows it)\n")


def test_a_first_start_says_that_it_compiles(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(shoal.compiled, "is_compiled", lambda name: False)
    monkeypatch.setattr(shoal.compiled, "forget_old", lambda: None)
    result = CliRunner().invoke(app, ["run", "policy.yaml", "people.jsonl", "out.jsonl"])
    assert result.exit_code == 0
    told = "compiling fads once (up to half a minute); later starts take it from the cache …\n"
    assert result.stderr == told


def test_the_command_line_itself_loads_nothing_heavy() -> None:
    bare = (
        "import sys, types; package = types.ModuleType('shoal'); package.__path__ = [sys.argv[1]]; "
        "sys.modules['shoal'] = package; import shoal.cli; "
        "print([name for name in ('numba', 'numpy', 'pyarrow', 'pydantic') if name in sys.modules])"
    )
    home = str(Path(shoal.__file__).parent)
    done = subprocess.run([sys.executable, "-c", bare, home], capture_output=True, text=True, env=ENVIRONMENT)
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.parametrize(
    "command",
    [["check", "policy.yaml", "people.jsonl"], ["infer", "people.jsonl"], ["run", "policy.yaml", "people.jsonl", "out.jsonl"]],
)
def test_no_frames_are_loaded(command: list[str], folder: Path) -> None:
    """pyarrow imports pandas and cloudpickle if they are installed."""
    pytest.importorskip("pandas")
    pytest.importorskip("cloudpickle")
    run = [sys.executable, "-X", "importtime", "-m", "shoal.cli", *command]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 0, done.stdout
    assert "pyarrow" in done.stderr
    assert "pandas.core" not in done.stderr
    assert "cloudpickle.cloudpickle" not in done.stderr
