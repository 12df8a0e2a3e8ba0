"""Standard input and output: JSON lines."""

from __future__ import annotations

import os
import select
import sys
from typing import Any

import pyarrow as pa

from shoal.config import FrozenModel
from shoal.connectors.connector import Delivery, Position, Sink, Source
from shoal.connectors.text_buffer import TextBuffer
from shoal.formats import TextEncoder

CHUNK = 1 << 20


class StdinSource(Source):
    """Standard input cannot be replayed, so the journal keeps it."""

    replays = False

    class Settings(FrozenModel):
        pass

    def __init__(self, settings: Settings | None = None, file: Any = None) -> None:
        self._file = file
        self._text = TextBuffer("jsonl")
        self._at = 0

    def begin(self, position: Position | None) -> Position:
        self._at = int(position["at"]) if position else 0
        self._number = (self._file or sys.stdin).fileno()
        return {"at": self._at}

    def read(self, seconds: float) -> Delivery | None:
        if not select.select([self._number], [], [], seconds)[0]:
            return None
        found = os.read(self._number, CHUNK)
        self.ended = not found
        self._text.add(found)
        taken = self._text.take() if found else self._text.rest()
        if taken is None:
            return None
        self._at += taken[1]
        return Delivery([taken[0]], {"at": self._at})

    def acknowledge(self, position: Position) -> None:
        """Standard input takes no acknowledgement."""

    def close(self) -> None:
        """The standard streams stay open."""


class StdoutSink(Sink):
    """After a crash, the tuples since the last checkpoint are written again."""

    remembers = False

    class Settings(FrozenModel):
        pass

    def __init__(self, settings: Settings | None = None) -> None:
        self._encoder = TextEncoder("jsonl")

    def begin(self, mark: Position | None, sequence: int) -> None:
        self._file = sys.stdout.buffer

    def write(self, batch: pa.RecordBatch, sequence: int) -> None:
        for piece in self._encoder.pieces(batch):
            self._file.write(piece)
        self._file.flush()

    def caught_up(self, sequence: int) -> None:
        """It does not know which tuples it has."""

    def close(self) -> None:
        """The standard streams stay open."""
