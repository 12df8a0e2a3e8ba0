"""Arrow's own format (IPC): files and streams are read, files are written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

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
                asked = batch.select(self._present)
                is_valid = _is_valid(asked)
                for piece in slices(asked, self._rows):
                    yield self._numbering.block(piece, is_valid)
                self._done = self._map.tell()
        except (pa.ArrowException, OSError):
            raise self._broken() from None
        self._done = self._total

    def progress(self) -> tuple[int, int | None]:
        return self._done, self._total

    def close(self) -> None:
        self._map.close()


def _is_valid(batch: pa.RecordBatch) -> bool:
    """Whether all is well in memory that was not built here but mapped; False if only some text is no UTF-8."""
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid:
        for column in batch.columns:
            (column.view(pa.binary()) if pa.types.is_string(column.type) else column).validate(
                full=not pa.types.is_dictionary(column.type)
            )
        return False
    return True


class ArrowWriter(Writer):
    """Writes one record batch for each batch; the dictionary of a column only ever grows."""

    def __init__(self, path: str) -> None:
        self._sink = Sink(path)
        self._typed = Typed(path)
        self._known: dict[int, pa.Array] = {}
        self._writer: pa.RecordBatchFileWriter | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        batch = self._typed.batch(batch)
        columns = [self._grown(i, c) if pa.types.is_dictionary(c.type) else c for i, c in enumerate(batch.columns)]
        batch = pa.RecordBatch.from_arrays(columns, schema=batch.schema)
        with self._sink.guarded():
            if self._writer is None:
                options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
                self._writer = pa.ipc.new_file(self._sink.native(), batch.schema, options=options)
            if len(batch):
                self._writer.write_batch(batch)

    def _grown(self, i: int, column: pa.DictionaryArray) -> pa.DictionaryArray:
        """The column, coded by all entries seen so far."""
        known = self._known.setdefault(i, column.dictionary)
        if column.dictionary.equals(known):
            return column
        new = column.dictionary.filter(pc.is_null(pc.index_in(column.dictionary, known)))
        if len(new):
            known = self._known[i] = pa.concat_arrays([known, new.unique()])
        codes = pc.index_in(column.dictionary, known).cast(column.type.index_type)
        return pa.DictionaryArray.from_arrays(codes.take(column.indices), known)

    def close(self, failed: bool = False) -> None:
        try:
            if self._writer:
                with self._sink.guarded():
                    self._writer.close()
        except BaseException:
            failed = True
            raise
        finally:
            self._sink.close(failed)
