"""The trace of a pipeline: one file, or many of so many lines each; and a manifest, by which a running pipeline is judged."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from shoal.connectors import FileSink, Position, Sink
from shoal.errors import StateError
from shoal.formats import guarded
from shoal.pipeline.journal import private

KEPT = 3600  # seconds: older moments of the manifest are this far apart
_EMPTY = {"at": 0, "checksum": 0, "touched": []}  # the mark of a file that was begun after a checkpoint


class Moment(NamedTuple):
    """How far a pipeline had come."""

    at: float  # the time of day
    received: int  # records of the source
    released: int  # lines of the trace
    sequence: int  # tuples in the sink
    clock: float | None  # the stream's time; None before the first record


class TraceSink(Sink):
    """Writes the trace; with `rotate`, a new file begins after so many lines: trace-000000.jsonl, trace-000001.jsonl, …"""

    remembers = True

    def __init__(self, path: Path, rotate: int | None) -> None:
        self._path, self._rotate = path, rotate
        self._changing = threading.Lock()
        self._replays = True
        self._file = self._new(0)
        self.lines = 0
        self._manifest = Manifest(path.with_suffix(".manifest.json"), rotate)

    def _new(self, number: int) -> FileSink:
        self._number = number
        return FileSink(FileSink.Settings(path=self._path_of(number)), private=True)

    def _path_of(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.stem}-{number:06}{self._path.suffix}") if self._rotate else self._path

    def begin(self, mark: Position | None, sequence: int) -> None:
        mark = self._with_lines(mark)
        self._file = self._resumed(mark)
        self._file.begin(mark["file"] if mark else None, sequence)
        self._manifest.begin(mark is not None)

    def probe(self, mark: Position | None, sequence: int) -> bool:
        mark = self._with_lines(mark)
        return self._resumed(mark).probe(mark["file"] if mark else None, sequence)

    def _with_lines(self, mark: Position | None) -> Position | None:
        """A mark of an earlier version does not say how many lines there are."""
        if mark is None or "lines" in mark:
            return mark
        with guarded(self._path, StateError, "restore it, and start again"), open(self._path, "rb") as file:
            return {"lines": file.read(int(mark["at"])).count(b"\n"), "file": mark}

    def _resumed(self, mark: Position | None) -> FileSink:
        self.lines = int(mark["lines"]) if mark else 0
        return self._new((max(self.lines, 1) - 1) // self._rotate if self._rotate else 0)

    def write(self, batch: pa.RecordBatch, sequence: int) -> None:
        while len(batch):
            room = len(batch)
            if self._rotate:
                if self.lines and self.lines % self._rotate == 0:
                    self._next()
                room = min(self._rotate - self.lines % self._rotate, room)
            self._file.write(batch.slice(0, room), sequence)
            self.lines += room
            batch = batch.slice(room)

    def _next(self) -> None:
        self._file.caught_up(0)
        self._file.make_durable()
        with self._changing:
            self._file.close()
            self._file = self._new(self._number + 1)
            self._file.begin(_EMPTY if self._replays else None, 0)

    def caught_up(self, sequence: int) -> None:
        self._file.caught_up(sequence)
        self._replays = False

    def take_over(self, sequence: int) -> int:
        self.lines = self._file.take_over(self.lines)
        while self._rotate and self._path_of(self._number + 1).exists():
            self._next()
            self.lines = self._file.take_over(self.lines)
        return sequence

    @property
    def mark(self) -> Position:
        return {"lines": self.lines, "file": self._file.mark}

    def make_durable(self) -> None:
        with self._changing:
            self._file.make_durable()

    def note(self, moment: Moment) -> None:
        """Write into the manifest how far the pipeline had come; what had left by then is durable."""
        self._manifest.add(moment)

    def close(self) -> None:
        self._file.close()


class Manifest:
    """Moments of a pipeline: the newest, and one of each hour before. The file is replaced as a whole."""

    def __init__(self, path: Path, rotate: int | None) -> None:
        self._path, self._rotate = path, rotate
        self._moments: list[Moment] = []

    def begin(self, resumes: bool) -> None:
        """Go on with the moments of the file, if the pipeline resumes."""
        try:
            written = json.loads(self._path.read_bytes()) if resumes else {}
            self._moments = [Moment(*each) for each in written.get("moments", ())]
        except (OSError, ValueError, TypeError):
            self._moments = []

    def add(self, moment: Moment) -> None:
        kept = self._moments
        while kept and kept[-1].released > moment.released:  # after a crash, from an older checkpoint
            kept.pop()
        if len(kept) > 1 and int(kept[-1].at // KEPT) == int(kept[-2].at // KEPT):
            kept.pop()
        kept.append(moment)
        text = json.dumps({"rotate": self._rotate, "fields": Moment._fields, "moments": kept})
        draft = self._path.with_suffix(".part")
        with guarded(self._path, StateError, "make room, and start again"):
            with open(draft, "w", opener=private) as file:
                file.write(text)
            os.replace(draft, self._path)
