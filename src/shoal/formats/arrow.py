"""Arrow's own format (IPC): files and streams are read, files are written."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError
from shoal.formats.block import Block, Reader, slices
from shoal.formats.source import opened
from shoal.formats.table import Numbering, TableWriter, names_checked

MAGIC = b"ARROW1"


class ArrowReader(Reader):
    """Reads record batches from a mapped file, and lets go of the memory that was read."""

    def __init__(self, path: str, fields: Sequence[str], rows: int) -> None:
        self._path = path
        self._numbering = Numbering(fields)
        self._rows = rows
        self._done = 0
        try:
            with opened(path) as file:
                self._total = os.path.getsize(path)
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._buffer = pa.BufferReader(self._map)
            schema, self._batches = self._opened()
        except (pa.ArrowException, OSError, ValueError):
            raise self._broken() from None
        self._present = names_checked(path, schema, fields)
        self._numbering.names = schema.names

    def _opened(self) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        if self._map[: len(MAGIC)] == MAGIC:
            file = pa.ipc.open_file(self._buffer)
            return file.schema, self._of_file(file)
        stream = pa.ipc.open_stream(self._buffer)
        return stream.schema, self._of_stream(stream)

    def _of_file(self, file: pa.RecordBatchFileReader) -> Iterator[pa.RecordBatch]:
        for i in range(file.num_record_batches):
            yield file.get_batch(i)
            self._done = self._total * (i + 1) // file.num_record_batches

    def _of_stream(self, stream: pa.RecordBatchStreamReader) -> Iterator[pa.RecordBatch]:
        for batch in stream:
            yield batch
            self._done = self._buffer.tell()

    def _broken(self) -> InputError:
        return InputError(f"{self._path}: is not an Arrow file, or damaged or cut short; write it again")

    def __iter__(self) -> Iterator[Block]:
        try:
            for batch in self._batches:
                for piece in slices(batch.select(self._present), self._rows):
                    yield self._numbering.block(piece, _is_valid(piece))
                    self._map.madvise(mmap.MADV_DONTNEED)
        except (pa.ArrowException, OSError):
            raise self._broken() from None
        self._done = self._total

    def progress(self) -> tuple[int, int | None]:
        return self._done, self._total

    def close(self) -> None:
        """Nothing to do: the map goes with the last batch that lies in it."""


def _is_valid(batch: pa.RecordBatch) -> bool:
    """Whether all is well in memory that was not built here but mapped; False if only some text is no UTF-8."""
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid:
        for column in batch.columns:
            _bytes(column).validate(full=True)
        return False
    return True


def _bytes(column: pa.Array) -> pa.Array:
    """The column with its text as mere bytes."""
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, _bytes(column.dictionary))
    if pa.types.is_large_string(column.type):
        return column.view(pa.large_binary())
    return column.view(pa.binary()) if pa.types.is_string(column.type) else column


class ArrowWriter(TableWriter):
    """Writes a record batch a table; the dictionary of a column only ever grows, which is all a file allows."""

    _writer: pa.RecordBatchFileWriter | None = None

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._known: dict[str, pa.Array] = {}

    def _put(self, table: pa.Table) -> None:
        if self._writer is None:
            options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
            self._writer = pa.ipc.new_file(self._sink.native(), table.schema, options=options)
        for batch in table.unify_dictionaries().combine_chunks().to_batches():
            columns = [self._grown(name, batch.column(name)) for name in table.schema.names]
            self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=table.schema))

    def _end(self) -> None:
        if self._writer:
            self._writer.close()

    def _grown(self, name: str, column: pa.Array) -> pa.Array:
        """The column, coded by all entries seen so far if it is a dictionary."""
        if not pa.types.is_dictionary(column.type):
            return column
        known = self._known.setdefault(name, column.dictionary)
        if column.dictionary.equals(known):
            return column
        new = column.dictionary.filter(pc.is_null(pc.index_in(column.dictionary, known)))
        if len(new):
            known = self._known[name] = pa.concat_arrays([known, new])
        codes = pc.index_in(column.dictionary, known).cast(column.type.index_type)
        return pa.DictionaryArray.from_arrays(codes.take(column.indices), known)
