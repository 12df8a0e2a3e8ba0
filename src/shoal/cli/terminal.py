"""The terminal: standard output for results, standard error for everything else."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from shoal.errors import InputError

_PLAIN_WIDTH = 100


def output() -> Console:
    """Standard output."""
    is_terminal = sys.stdout.isatty()
    return Console(width=None if is_terminal else _PLAIN_WIDTH, force_terminal=is_terminal, highlight=False)


def errors() -> Console:
    """Standard error."""
    return Console(stderr=True, force_terminal=sys.stderr.isatty(), highlight=False)


def say(console: Console, line: str, style: str = "") -> None:
    """Print one line: unbroken in a pipe, wrapped between words on a terminal."""
    console.print(Text(line, style), soft_wrap=not console.is_terminal)


def write(path: str, text: str) -> None:
    """Write a text to a file, or to standard output if that is `-`."""
    if path == "-":
        typer.echo(text)
        return
    try:
        Path(path).write_text(text.removesuffix("\n") + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({(error.strerror or 'no access').lower()}); name another place") from None


def command() -> str:
    """How the user called this program, for commands that the user can copy."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m shoal.cli"
    found = shutil.which(called.name)
    if found and os.path.realpath(found) == os.path.realpath(called):
        return called.name
    near = os.path.relpath(called)
    if near.startswith(os.pardir):
        return shlex.quote(str(called))
    return shlex.quote(near if os.sep in near else os.path.join(os.curdir, near))
