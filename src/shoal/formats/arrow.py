"""Arrow's own format (IPC): files and streams are read, files are written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import pyarrow as pa

from shoal.errors import InputError
from shoal.formats.block import Block, Reader, Writer, slices
from shoal.formats.sink import Sink
from shoal.formats.source import checked
from shoal.formats.table import Numbering, Typed, names_checked

MAGIC = b"ARROW1"


class ArrowReader(Reader):
    """Reads record batches from a memory-mapped file."""

    def __init__(self, path: str, fields: Sequence[str], rows: int) -> None:
        self._path = checked(path)
        self._numbering = Numbering(fields)
        self._rows = rows
        self._total = os.path.getsize(path)
        self._done = 0
        try:
            self._map = pa.memory_map(path)
            is_file = self._map.read(len(MAGIC)) == MAGIC
            self._map.seek(0)
            if is_file:
                self._file = pa.ipc.open_file(self._map)
                self._batches = (self._file.get_batch(i) for i in range(self._file.num_record_batches))
                schema = self._file.schema
            else:
                stream = pa.ipc.open_stream(self._map)
                self._batches = (batch for batch in stream)
                schema = stream.schema
        except (pa.ArrowException, OSError):
            raise self._broken() from None
        self._present = names_checked(path, schema, fields)

    def _broken(self) -> InputError:
        return InputError(f"{self._path}: is not an Arrow file, or damaged or cut short; write it again")

    def __iter__(self) -> Iterator[Block]:
        try:
            for batch in self._batches:
                batch.validate()
                for piece in slices(batch.select(self._present), self._rows):
                    yield self._numbering.block(piece)
                self._done = self._map.tell()
        except (pa.ArrowException, OSError):
            raise self._broken() from None
        self._done = self._total

    def progress(self) -> tuple[int, int | None]:
        return self._done, self._total

    def close(self) -> None:
        self._map.close()


class ArrowWriter(Writer):
    """Writes one record batch for each batch."""

    def __init__(self, path: str) -> None:
        self._sink = Sink(path)
        self._typed = Typed(path)
        self._writer: pa.RecordBatchFileWriter | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        batch = self._typed.batch(batch)
        if self._writer is None:
            self._writer = pa.ipc.new_file(self._sink.file, batch.schema)
        if len(batch):
            self._writer.write_batch(batch)

    def close(self, failed: bool = False) -> None:
        try:
            if self._writer and not failed:
                self._writer.close()
        except BaseException:
            failed = True
            raise
        finally:
            self._sink.close(failed)
