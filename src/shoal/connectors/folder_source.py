"""A folder into which files are dropped: each is read once, as a whole, in the order of their names."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from shoal.config import FrozenModel, Name
from shoal.connectors.connector import Delivery, Payload, Position, Source
from shoal.connectors.file import TEXTS, FileSource
from shoal.connectors.settings import LocalPath
from shoal.errors import ConnectorError
from shoal.formats import kind

PAUSE = 0.05  # seconds from one look into the folder to the next
UNFINISHED = (".part", ".tmp")  # endings of names of files that are still being written


class FolderSource(Source):
    """Reads what lies in a folder, file by file. A position is the files that were read, the current one, and how far."""

    identity = ("path", "pattern")
    replays = True
    begin_is_harmless = True

    class Settings(FrozenModel):
        path: LocalPath = Field(description="the folder")
        pattern: Name = Field(default="*.jsonl", description="which of its files are read, such as *.jsonl or *.csv.gz")
        after: Literal["keep", "delete"] = Field(
            default="keep", description="what to do with a file whose records a checkpoint covers"
        )

    def __init__(self, settings: Settings) -> None:
        self._settings, self._folder = settings, settings.path
        self._done: list[str] = []  # names of files that were read, and are still there
        self._name: str | None = None
        self._file: FileSource | None = None
        self._at: Position | None = None  # of the current file

    def begin(self, position: Position | None) -> Position:
        if kind(self._settings.pattern) not in TEXTS:
            raise ConnectorError(f"{self._folder}: pattern: only files of JSON lines and CSV are read from a folder")
        if not self._folder.is_dir():
            raise ConnectorError(f"{self._folder}: is not a folder; create it, or correct the path")
        if position:
            self._done = list(position["done"])
            if position["current"]:
                self._open(position["current"][0], position["current"][1])
        return self._position()

    def _position(self) -> Position:
        return {"done": list(self._done), "current": [] if self._name is None else [self._name, self._at]}

    def _open(self, name: str, position: Position | None = None) -> None:
        file = FileSource(FileSource.Settings(path=self._folder / name))
        file.fields, file.passed, file.dialect = self.fields, self.passed, self.dialect
        self._at = file.begin(position)
        if self.format == "csv" and self.columns and tuple(file.columns) != tuple(self.columns):
            file.close()
            raise ConnectorError(
                f"{self._folder / name}: has other columns than the files before it; put it into a folder of its own"
            )
        self.format, self.columns = file.format, file.columns
        self._name, self._file = name, file

    def _close_file(self) -> None:
        assert self._file and self._name
        self._file.close()
        self._done.append(self._name)
        self._name = self._file = self._at = None

    def _waiting(self) -> list[Path]:
        """The files that were not read yet, in the order of their names."""
        known = {*self._done, self._name}
        return sorted(
            path
            for path in self._folder.glob(self._settings.pattern)
            if path.name not in known and not path.name.startswith((".", "_")) and not path.name.endswith(UNFINISHED)
        )

    def replay(self, until: Position) -> Sequence[Payload]:
        payloads: list[Payload] = []
        target, at = (until["current"] or [None, None])[:2]
        for name in [*until["done"], target]:
            if name is None or name in self._done:
                continue
            if name != self._name:
                if not (self._folder / name).exists():
                    raise ConnectorError(f"{self._folder / name}: no longer exists, and must be read again; restore it")
                self._open(name)
            assert self._file
            if name == target:
                payloads += self._file.replay(at)
                self._at = at
            else:
                while delivery := self._file.read(0):
                    payloads += delivery.payloads
                self._close_file()
        return payloads

    def read(self, seconds: float) -> Delivery | None:
        until = time.monotonic() + seconds
        while True:
            if self._file is None and (waiting := self._waiting()):
                self._open(waiting[0].name)
            if self._file:
                delivery = self._file.read(0)
                if delivery:
                    self._at = delivery.position
                    if self._file.ended:
                        self._close_file()
                    return Delivery(delivery.payloads, self._position())
                self._close_file()
                continue
            if (left := until - time.monotonic()) <= 0:
                return None
            time.sleep(min(PAUSE, left))

    def acknowledge(self, position: Position) -> None:
        if self._settings.after == "delete":
            for name in position["done"]:
                (self._folder / name).unlink(missing_ok=True)
        self._done = [name for name in self._done if (self._folder / name).exists()]

    @property
    def lag(self) -> int | None:
        return sum(os.path.getsize(path) for path in self._waiting())

    def close(self) -> None:
        if self._file:
            self._file.close()
