"""The two ends of a terminal: what was asked for, and everything else that is said."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

from rich.console import Console

_PLAIN_WIDTH = 100


def output() -> Console:
    """Standard output."""
    return Console(width=None if sys.stdout.isatty() else _PLAIN_WIDTH, highlight=False)


def errors() -> Console:
    """Standard error."""
    return Console(stderr=True, highlight=False)


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
