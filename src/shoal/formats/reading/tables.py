"""Files with typed columns: Parquet, and Arrow's own format (IPC), as files and as streams."""

from __future__ import annotations

import mmap
import os
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from shoal.column_types import CODED, holds_dictionary
from shoal.errors import InputError
from shoal.formats.reading.reader import Block, Reader, opened, slices
from shoal.formats.reading.utf8 import NOT_UTF8, filtered, valid
from shoal.path import head, in_batch, leads

if TYPE_CHECKING:
    import pyarrow.parquet

MAGIC = b"ARROW1"
_SHORT = 4  # bytes per value, on average: a column with fewer holds codes, not texts


def names_checked(path: str, schema: pa.Schema, fields: Sequence[str]) -> list[str]:
    """The columns of the schema that hold these fields, each once; a field inside a column is given by its path."""
    for name in fields:
        if schema.names.count(name) > 1:
            raise InputError(f"{path}: has two columns named {name!r}; rename one of them")
    found = [name for name in fields if name in schema.names]
    inside = [name for name in fields if name not in schema.names and _leads(schema, name)]
    return [*found, *dict.fromkeys(head(name) for name in inside if head(name) not in found)]


def _leads(schema: pa.Schema, name: str) -> bool:
    first, *steps = name.split(".")
    return first in schema.names and leads(schema.field(first).type, steps)


class Numbering:
    """Puts the columns of batches in the asked order, and numbers their rows."""

    def __init__(self, fields: Sequence[str]) -> None:
        self._fields = list(fields)
        self.row = 0
        self.names: Sequence[str] = ()  # the fields of the whole file

    def block(self, batch: pa.RecordBatch, is_valid: bool = False) -> Block:
        """A block of the batch without the records whose text is not UTF-8, which is not checked if it `is_valid`."""
        numbers = np.arange(self.row, self.row + len(batch))
        self.row += len(batch)
        bad: list[tuple[int, str]] = []
        good = None if is_valid else valid(batch.columns)
        if good is not None:
            bad = [(row, NOT_UTF8) for row in numbers[~good].tolist()]
            numbers = numbers[good]
            columns = [filtered(column, good) for column in batch.columns]
            batch = pa.RecordBatch.from_arrays(columns, schema=batch.schema)
        names = batch.schema.names
        found = [in_batch(batch, n) for n in self._fields]
        columns = [pa.nulls(len(numbers)) if column is None else column for column in found]
        schema = pa.schema([
            batch.schema.field(n).with_type(column.type) if n in names else pa.field(n, column.type)
            for n, column in zip(self._fields, columns, strict=True)
        ])  # fmt: skip
        return Block(pa.RecordBatch.from_arrays(columns, schema=schema), numbers, bad, self.names)


class TableReader(Reader):
    _format: str

    def __init__(self, path: str, fields: Sequence[str] | None, rows: int) -> None:
        self._path = path
        self._fields = fields
        self._numbering = Numbering(fields or ())
        self._rows = rows
        self._done = self._total = 0

    def _learn(self, schema: pa.Schema) -> None:
        self._schema = schema
        if self._fields is None:
            self._fields = schema.names
            self._numbering = Numbering(schema.names)
        self._present = names_checked(self._path, schema, self._fields)
        self._numbering.names = schema.names

    def header(self) -> list[str]:
        """The names of the columns."""
        return names_checked(self._path, self._schema, self._schema.names)

    def _broken(self) -> InputError:
        return InputError(f"{self._path}: is not {self._format} file, or damaged or cut short; write it again")

    def progress(self) -> tuple[int, int | None]:
        return self._done, self._total


class ArrowReader(TableReader):
    """Reads record batches from a mapped file, and releases the memory of those that were read."""

    _format = "an Arrow"

    def __init__(self, path: str, fields: Sequence[str] | None, rows: int) -> None:
        super().__init__(path, fields, rows)
        try:
            with opened(path) as file:
                self._total = os.path.getsize(path)
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._buffer = pa.BufferReader(self._map)
            schema, self._batches = self._opened()
        except (pa.ArrowException, OSError, ValueError):
            raise self._broken() from None
        self._learn(schema)

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

    def __iter__(self) -> Iterator[Block]:
        try:
            for batch in self._batches:
                for piece in slices(batch.select(self._present), self._rows):
                    yield self._numbering.block(piece, _is_valid(piece))
                    self._map.madvise(mmap.MADV_DONTNEED)
        except (pa.ArrowException, OSError):
            raise self._broken() from None
        self._done = self._total

    def close(self) -> None:
        """Nothing to do: the map is closed with the last batch that lies in it."""


def _is_valid(batch: pa.RecordBatch) -> bool:
    """Check a batch that was mapped, not built here. False if the only fault is text that is not UTF-8."""
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid:
        for column in batch.columns:
            _bytes(column).validate(full=True)
        return False
    return True


def _bytes(column: pa.Array) -> pa.Array:
    """The column with bytes in place of text."""
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, _bytes(column.dictionary))
    if pa.types.is_large_string(column.type):
        return column.view(pa.large_binary())
    return column.view(pa.binary()) if pa.types.is_string(column.type) else column


class ParquetReader(TableReader):
    """Reads string columns as dictionaries, and all others as they are; of the columns that are passed through, only those
    that hold codes become dictionaries, and only if they `may_code`."""

    _format = "a Parquet"

    def __init__(
        self, path: str, fields: Sequence[str] | None, passed: Collection[str], rows: int, may_code: bool = False
    ) -> None:
        from pyarrow import parquet  # loads file systems, which no other format needs

        super().__init__(path, fields, rows)
        with opened(path):
            self._total = os.path.getsize(path)
        try:
            metadata = parquet.read_metadata(path)
            schema = metadata.schema.to_arrow_schema()
            self._learn(schema)
            strings = [n for n in self._present if pa.types.is_string(schema.field(n).type)]
            self._coded = [n for n in strings if n in passed and may_code and _holds_codes(metadata, n)]
            self._file = parquet.ParquetFile(
                path, metadata=metadata, read_dictionary=[n for n in strings if n not in passed or n in self._coded],
                pre_buffer=False, buffer_size=1 << 16,
            )  # fmt: skip
        except (pa.ArrowException, OSError):
            raise self._broken() from None

    def __iter__(self) -> Iterator[Block]:
        count = self._file.metadata.num_rows
        try:
            for batch in self._batches():
                block = self._numbering.block(self._marked(batch))
                self._done = self._total * self._numbering.row // max(count, 1)
                yield block
        except (pa.ArrowException, OSError):
            raise self._broken() from None

    def _batches(self) -> Iterator[pa.RecordBatch]:
        groups: list[Sequence[int] | None] = [None]
        if any(holds_dictionary(self._schema.field(name).type) for name in self._present):
            groups = [[group] for group in range(self._file.num_row_groups)]
        for some in groups:
            yield from self._file.iter_batches(self._rows, some, columns=self._present, use_threads=False)

    def _marked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        schema = batch.schema
        for name in self._coded:
            schema = schema.set(schema.names.index(name), schema.field(name).with_metadata(CODED))
        return pa.RecordBatch.from_arrays(batch.columns, schema=schema) if self._coded else batch

    def close(self) -> None:
        self._file.close()


def _holds_codes(metadata: pyarrow.parquet.FileMetaData, name: str) -> bool:
    """Whether a column has few distinct values, by its first row group: then the file holds codes of them."""
    if metadata.num_row_groups == 0:
        return False
    group = metadata.row_group(0)
    columns = (group.column(i) for i in range(group.num_columns))
    return any(
        each.path_in_schema == name and each.has_dictionary_page and each.total_uncompressed_size < _SHORT * each.num_values
        for each in columns
    )
