"""docs/first-algorithm.md is followed in a copy of the project: its files are written, its changes made, its commands run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.base import ROOT, blocks, read

STEPS = blocks(read("docs/first-algorithm.md"))
COMMANDS = [line.removeprefix("$ ") for step in STEPS if step.language == "console" for line in step.text.splitlines()]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("src", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for file in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / file, tmp_path)
    return tmp_path


def follow(project: Path) -> None:
    """Write the files of the page, and make its changes."""
    for step in STEPS:
        file = re.fullmatch(r"\*\*`([\w./]+)`\*\*", step.before)
        if file:
            (project / file[1]).write_text(step.text)
        elif step.language == "diff":
            subprocess.run(["git", "apply", "-"], cwd=project, input=step.text, text=True, check=True)


def run(project: Path, command: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable if word == "python" else word for word in command.split()]
    environment = {**os.environ, "PYTHONPATH": "src", "SHOAL_CACHE": str(project / "kernels"), "PYTEST_ADDOPTS": "-p no:xdist"}
    return subprocess.run(words, cwd=project, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_its_changes_fit(project: Path) -> None:
    follow(project)
    known = run(project, "python -m shoal.cli schema")
    for name in ("queue", "turns"):
        assert f'"const": "{name}"' in known.stdout, known.stderr


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_a_first_algorithm(project: Path) -> None:
    follow(project)
    assert len(COMMANDS) == 3
    for command in COMMANDS:
        done = run(project, command)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "pytest" not in command or "passed" in done.stdout
    kernel = project / "src/shoal/algorithms/queue.py"
    kernel.write_text(kernel.read_text().replace("while size < k:", "while size < k - 1:"))
    broken = run(project, COMMANDS[1])
    assert broken.returncode == 1, broken.stdout + broken.stderr
