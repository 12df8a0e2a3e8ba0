"""How a command fails: one line per problem, an exit status, and never the data."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from traceback import extract_tb
from types import FrameType
from typing import NoReturn

import typer

from shoal.errors import PolicyError, ShoalError, WorkerError

REFUSED = 2
INTERRUPTED = 128 + signal.SIGINT
CLOSED = 128 + signal.SIGPIPE
BUG = 1

_PACKAGE = Path(__file__).parents[1]


@contextmanager
def reported(policy: str = "") -> Iterator[None]:
    """Turn errors inside into lines on standard error and an exit status."""
    before = {number: signal.signal(number, _end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
        sys.stdout.flush()
    except PolicyError as error:
        _exit(REFUSED, *(_placed(problem, policy) for problem in error.problems))
    except WorkerError as error:
        _exit(BUG, f"a fault of shoal: {error}")
    except ShoalError as error:
        _exit(REFUSED, str(error))
    except KeyboardInterrupt:
        _exit(INTERRUPTED, "interrupted")
    except BrokenPipeError:
        _silence()
        _exit(CLOSED)
    except Exception as error:
        if os.environ.get("SHOAL_TRACEBACK"):
            raise
        _exit(BUG, _bug(error))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _exit(status: int, *lines: str) -> NoReturn:
    for line in lines:
        with suppress(BrokenPipeError):
            typer.echo(" ".join(line.splitlines()), err=True)
    raise typer.Exit(status) from None


def _placed(problem: str, policy: str) -> str:
    return problem if not policy or problem.startswith(f"{policy}: ") else f"{policy}: {problem}"


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _silence() -> None:
    """Discard what is still buffered for a closed pipe."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _bug(error: Exception) -> str:
    own = [frame for frame in extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(_PACKAGE)]
    place = f"{Path(own[-1].filename).relative_to(_PACKAGE)}, line {own[-1].lineno}"
    withheld = "its text is withheld, since it could hold data (SHOAL_TRACEBACK=1 shows it)"
    return f"a fault of shoal: {type(error).__name__} in {place}; {withheld}"
