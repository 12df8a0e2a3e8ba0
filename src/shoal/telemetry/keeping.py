"""Figures that outlive the process: the last minutes, hour and day, and the log, in the folder of a pipeline's state."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

from shoal.telemetry.telemetry import Telemetry

NAME = "figures"
_EVERY = 60  # seconds from one save to the next


@contextmanager
def keeping(telemetry: Telemetry, folder: Path | None = None) -> Iterator[None]:
    """While the body runs, write rows each second, though nothing comes and nobody looks, and keep them in the folder.

    Nothing is written before the stream runs: until then another process may own the folder.
    """
    path = folder / NAME if folder else None
    if path:
        _load(telemetry, path)
    done = Event()

    def keep() -> None:
        seconds = 0
        while not done.wait(1):
            seconds += 1
            telemetry.advance()
            if path and seconds % _EVERY == 0:
                _save(telemetry, path)

    thread = Thread(target=keep, name="figures", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        if path:
            _save(telemetry, path)


def _load(telemetry: Telemetry, path: Path) -> None:
    """What cannot be read, or has another form, is left: figures are no state."""
    with suppress(OSError, ValueError, ArithmeticError, LookupError, TypeError, AttributeError):
        telemetry.restore(json.loads(path.read_text(encoding="utf-8")))


def _save(telemetry: Telemetry, path: Path) -> None:
    if not telemetry.has_run:
        return
    draft = path.with_suffix(".part")
    text = json.dumps(telemetry.saved(), separators=(",", ":"), allow_nan=False)
    with suppress(OSError):  # the pipeline itself reports a full disk
        with open(draft, "w", encoding="utf-8", opener=_private) as file:
            file.write(text)
        os.replace(draft, path)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
