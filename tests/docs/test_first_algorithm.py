"""docs/first-algorithm.md shows the files of the example package, and its commands run where that package is installed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.base import blocks, read
from tests.outside.environment import EXAMPLE, Environment

STEPS = blocks(read("docs/first-algorithm.md"))
COMMANDS = [line.removeprefix("$ ") for step in STEPS if step.language == "console" for line in step.text.splitlines()]
FILES = {file[1]: step.text for step in STEPS if (file := re.fullmatch(r"\*\*`([\w./]+)`\*\*", step.before))}


def test_its_files_are_those_of_the_example() -> None:
    assert {name: (EXAMPLE / name).read_text(encoding="utf-8") for name in FILES} == FILES
    shown = {EXAMPLE / name for name in FILES}
    assert {path for path in EXAMPLE.glob("src/**/*.py")} <= shown


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_its_commands_run(tmp_path: Path) -> None:
    environment = Environment(tmp_path)
    install, *others = COMMANDS
    assert install == "pip install '.[test]'"  # which `Environment` does
    for command in others:
        done = environment.run(*command.split())
        assert done.returncode == 0, done.stdout + done.stderr
        assert "pytest" not in command or "passed" in done.stdout
