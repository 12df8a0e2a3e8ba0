"""The terminal: standard output for results, standard error for everything else."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import typer

from shoal.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.bench import Table

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


def show_table(console: Console, table: Table) -> None:
    """Print a table of figures, with its notes below; names of columns are broken at spaces where the line is too short."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(
        title=Text(table.title), title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False,
        header_style="", caption=Text(" ".join(table.notes)) if table.notes else None, caption_justify="left",
    )  # fmt: skip
    widths = [max(map(len, column)) + 3 for column in zip(table.header, *table.rows, strict=True)]
    broken = sum(widths) > console.width
    for i, name in enumerate(table.header):
        grid.add_column(Text(name.replace(" ", "\n") if broken else name), justify="right" if i else "left", no_wrap=True)
    for row in table.rows:
        grid.add_row(*map(Text, row))
    console.print()
    console.print(grid)


@contextmanager
def progress_bar(console: Console) -> Iterator[Callable[[str, int, int], None]]:
    """A bar on a terminal, nothing elsewhere."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:8}"), BarColumn(28), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:
        task = bars.add_task("reading", total=None)
        yield lambda doing, done, total: bars.update(task, description=doing, completed=done, total=total)


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
