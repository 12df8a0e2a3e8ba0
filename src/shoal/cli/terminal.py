"""The terminal: standard output for results, standard error for everything else."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import typer

from shoal.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

_PLAIN_WIDTH = 100


class Plain:
    """A stream that is no terminal. Lines are written as they are; rich is loaded for anything else, such as a table."""

    is_terminal = False

    def __init__(self, is_error: bool) -> None:
        self._is_error = is_error

    @property
    def stream(self) -> TextIO:
        return sys.stderr if self._is_error else sys.stdout

    def __getattr__(self, name: str) -> Any:
        return getattr(_console(self._is_error), name)


def output() -> Console:
    """Standard output."""
    return _console(False) if sys.stdout.isatty() else cast("Console", Plain(False))


def errors() -> Console:
    """Standard error."""
    return _console(True) if sys.stderr.isatty() else cast("Console", Plain(True))


def _console(is_error: bool) -> Console:
    from rich.console import Console

    if is_error:
        return Console(stderr=True, force_terminal=sys.stderr.isatty(), highlight=False)
    is_terminal = sys.stdout.isatty()
    return Console(width=None if is_terminal else _PLAIN_WIDTH, force_terminal=is_terminal, highlight=False)


def say(console: Console, line: str, style: str = "") -> None:
    """Print one line: unbroken in a pipe, wrapped between words on a terminal."""
    if isinstance(console, Plain):
        print(line, file=console.stream)
        return
    from rich.text import Text

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
