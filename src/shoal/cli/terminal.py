"""The two ends of a terminal: what was asked for, and everything else that is said."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

_PLAIN_WIDTH = 100


def output() -> Console:
    """Standard output."""
    is_terminal = sys.stdout.isatty()
    return Console(width=None if is_terminal else _PLAIN_WIDTH, force_terminal=is_terminal, highlight=False)


def errors() -> Console:
    """Standard error."""
    return Console(stderr=True, force_terminal=sys.stderr.isatty(), highlight=False)


def say(console: Console, line: str, style: str = "") -> None:
    """One line: whole in a pipe, wrapped between words on a terminal."""
    console.print(Text(line, style), soft_wrap=not console.is_terminal)


def command() -> str:
    """How the user called this program, so that it can be called so again."""
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
