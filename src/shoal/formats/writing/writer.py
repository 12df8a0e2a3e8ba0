"""What every writer can do, and the writer of JSON lines and CSV."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

import pyarrow as pa

from shoal.formats.writing.sink import Sink
from shoal.formats.writing.text import TextEncoder


class Writer(ABC):
    """Writes batches of one schema; the file appears when the `with` block ends without an error, and not at all otherwise."""

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch; the first one, which may be empty, fixes the schema."""

    @abstractmethod
    def close(self, failed: bool = False) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close(failed=kind is not None)


class TextWriter(Writer):
    """Writes a header, if there is one, and one record per line."""

    def __init__(self, path: str, kind: str) -> None:
        self._sink = Sink(path)
        self._encoder = TextEncoder(kind)
        self._begun = False

    def write(self, batch: pa.RecordBatch) -> None:
        if not self._begun:
            self._sink.write(self._encoder.header(batch))
            self._begun = True
        for piece in self._encoder.pieces(batch):
            self._sink.write(piece)

    def close(self, failed: bool = False) -> None:
        self._sink.close(failed)
