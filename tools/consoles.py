"""Runs the commands of the tutorial and of "What can I promise?", and writes what they print into these pages.

python -m tools.consoles
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.situations import write as write_situations

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("docs/tutorial.md", "docs/promise.md")

_FILE = re.compile(r"^\*\*`([\w.]+)`\*\*\n\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_MARK = "@@@"


def files(text: str) -> dict[str, str]:
    """Blocks under a line that is nothing but a file's name."""
    return dict(_FILE.findall(text))


def commands(text: str) -> list[str]:
    """The lines behind a prompt, in order."""
    return [command for block in _CONSOLE.findall(text) for command, _ in _COMMAND.findall(block)]


def ran(text: str, folder: Path) -> str:
    """The page with what its commands print now, all run by one shell in a folder with the page's files."""
    if "clinic.csv" in text:
        write_situations(folder)
    for name, content in files(text).items():
        (folder / name).write_text(content, encoding="utf-8")
    script = "\n".join(f"status=$?; echo '{_MARK}'; (exit $status); {command}" for command in commands(text))
    done = subprocess.run(
        ["bash", "-c", f"exec 2>&1\n{script}"],
        cwd=folder,
        env=_environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    printed = iter(done.stdout.split(f"{_MARK}\n")[1:])

    def block(found: re.Match[str]) -> str:
        return _COMMAND.sub(lambda command: f"$ {command[1]}\n{next(printed)}", found[0])

    return _CONSOLE.sub(block, text)


def _environment(folder: Path) -> dict[str, str]:
    """One in which `shoal` is this shoal."""
    programs = folder / ".bin"
    programs.mkdir()
    shoal = programs / "shoal"
    shoal.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m shoal.cli "$@"\n')
    shoal.chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src"), "LC_ALL": "C.UTF-8"}


if __name__ == "__main__":
    for page in PAGES:
        before = (ROOT / page).read_text(encoding="utf-8")
        with TemporaryDirectory() as home:
            (ROOT / page).write_text(ran(before, Path(home)), encoding="utf-8")
