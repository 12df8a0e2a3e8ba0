"""The tutorial's files are written and its commands are run, in order; what they print is what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import shoal
from shoal.anonymizer import compile_kernels
from tests.docs.base import blocks, read

pytestmark = pytest.mark.slow

TUTORIAL = blocks(read("docs/tutorial.md"))


def files() -> dict[str, str]:
    """Blocks under a line that is nothing but a file's name."""
    named = [(re.fullmatch(r"\*\*`([\w.]+)`\*\*", block.before), block.text) for block in TUTORIAL]
    return {match[1]: text for match, text in named if match}


def script() -> tuple[str, list[str]]:
    """All commands as one script, which marks where each begins and keeps the last one's status; and their output."""
    lines, outputs = [], []
    for block in TUTORIAL:
        if block.language == "console":
            for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
                lines.append(f"status=$?; echo '@@@'; (exit $status); {command}")
                outputs.append(output)
    return "\n".join(lines), outputs


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """One in which `shoal` is this shoal, and does not have to compile first."""
    compile_kernels("kvarp")
    folder = tmp_path / "bin"
    folder.mkdir()
    command = folder / "shoal"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m shoal.cli "$@"\n')
    command.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(Path(shoal.__file__).parents[1]), "LC_ALL": "C.UTF-8"}


def test_the_tutorial(tmp_path: Path, environment: dict[str, str]) -> None:
    home = tmp_path / "home"
    home.mkdir()
    assert set(files()) == {"people.csv", "policy.yaml", "city.csv", "pipeline.yaml"}
    for file, text in files().items():
        (home / file).write_text(text)
    commands, expected = script()
    done = subprocess.run(
        ["bash", "-c", f"exec 2>&1\n{commands}"], cwd=home, env=environment, capture_output=True, text=True, check=False
    )
    assert len(expected) >= 8
    assert done.stdout.split("@@@\n")[1:] == expected
