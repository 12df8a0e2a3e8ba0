"""JSON lines and CSV, written."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from shoal.formats.block import Writer
from shoal.formats.dialects import Csv, Jsonl
from shoal.formats.sink import Sink
from shoal.formats.text import Text


class TextEncoder:
    r"""Batches of one schema as text.

    >>> batch = pa.record_batch({"a": [1, None], "b": ["x", "y"]})
    >>> csv = TextEncoder("csv")
    >>> csv.header(batch), [bytes(piece) for piece in csv.pieces(batch)]
    (b'a,b\n', [b'1,x\n,y\n'])
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._text: Text | None = None

    def header(self, batch: pa.RecordBatch) -> bytes:
        """What stands before the first record."""
        return Csv(batch.num_columns).header(batch.schema.names).encode() if self._kind == "csv" else b""

    def pieces(self, batch: pa.RecordBatch) -> Iterator[memoryview]:
        """Each piece is gone when the next one comes."""
        if self._text is None:
            self._text = Text(Csv(batch.num_columns) if self._kind == "csv" else Jsonl())
        return self._text.pieces(batch)


class TextWriter(Writer):
    """Writes a header, if there is one, and one record a line."""

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
