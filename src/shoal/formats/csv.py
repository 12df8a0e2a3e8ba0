"""CSV with a header line; every field is read as text."""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.csv

from shoal.errors import InputError
from shoal.formats.block import Block, Reader, Writer, slices
from shoal.formats.dialects import Csv
from shoal.formats.sink import Sink
from shoal.formats.source import Source
from shoal.formats.text import Text
from shoal.formats.unicode import valid

CHUNK = 4 << 20


class _Stream(io.RawIOBase):
    """A source as the file object that Arrow reads, with the bytes that were already looked at in front."""

    def __init__(self, source: Source, head: bytes) -> None:
        self._source = source
        self._head = head
        self.is_ascii = head.isascii()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data, self._head = self._head[:size], self._head[size:]
        if not data:
            data = self._source.read(size)
            self.is_ascii = self.is_ascii and data.isascii()
        return data


class CsvReader(Reader):
    """Reads the asked columns as strings; a record with too many or too few fields is reported, not fatal."""

    def __init__(self, path: str, fields: Sequence[str], rows: int) -> None:
        self._path = path
        self._fields = list(fields)
        self._rows = rows
        self._source = Source(path)
        self._bad: deque[tuple[int, str]] = deque()
        self._row = 0

    def __iter__(self) -> Iterator[Block]:
        head = b""
        while b"\n" not in head and (data := self._source.read(CHUNK)):
            head += data
        names = self._names(head)
        stream = _Stream(self._source, head)
        present = [name for name in self._fields if name in names]
        try:
            with self._opened(stream, present or names[:1]) as reader:
                for batch in reader:
                    for piece in slices(batch, self._rows):
                        yield self._block(piece, stream.is_ascii)
        except pa.ArrowInvalid as error:
            if "Empty CSV" not in str(error):
                raise InputError(
                    f"{self._path}: cannot be read as CSV: a quoted value is not closed, or a record exceeds "
                    f"{CHUNK >> 20} MB"
                ) from None
        if self._bad:
            failed = list(self._bad)
            yield Block(self._arranged({}, 0), np.empty(0, np.int64), failed)

    def _names(self, head: bytes) -> list[str]:
        text = head.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")
        names = next((record for record in csv.reader(io.StringIO(text, newline="")) if record), None)
        if not names:
            raise InputError(f"{self._path}: is empty; the first line of a CSV file names its columns")
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"{self._path}: the header names column {name!r} twice; rename one of them")
        return names

    def _opened(self, stream: _Stream, names: list[str]) -> pyarrow.csv.CSVStreamingReader:
        return pyarrow.csv.open_csv(
            stream,
            read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=CHUNK),
            parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=self._refuse),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={name: pa.string() for name in names},
                include_columns=names,
                strings_can_be_null=False,
                check_utf8=False,
            ),
        )

    def _refuse(self, row: pyarrow.csv.InvalidRow) -> str:
        self._bad.append((row.number - 2, f"{row.actual_columns} fields where the header has {row.expected_columns}"))
        return "skip"

    def _block(self, batch: pa.RecordBatch, is_ascii: bool) -> Block:
        numbers, failed = self._numbers(len(batch))
        columns = {name: batch.column(name) for name in batch.schema.names}
        if not is_ascii:
            good = valid(columns.values(), len(batch))
            if good is not None:
                failed += [(int(row), "not valid UTF-8") for row in numbers[~good]]
                failed.sort()
                numbers = numbers[good]
                columns = {name: column.filter(pa.array(good)) for name, column in columns.items()}
        return Block(self._arranged(columns, len(numbers)), numbers, failed)

    def _numbers(self, count: int) -> tuple[np.ndarray, list[tuple[int, str]]]:
        """The rows of the next `count` good records, and the bad ones before or between them."""
        numbers, failed = [], []
        while count:
            until = min(self._row + count, self._bad[0][0]) if self._bad else self._row + count
            numbers.append(np.arange(self._row, until))
            count -= until - self._row
            self._row = until
            if count and self._bad:
                failed.append(self._bad.popleft())
                self._row += 1
        return np.concatenate(numbers), failed

    def _arranged(self, columns: dict[str, pa.Array], count: int) -> pa.RecordBatch:
        arrays = [columns[name] if name in columns else pa.nulls(count) for name in self._fields]
        return pa.RecordBatch.from_arrays(arrays, names=self._fields)

    def progress(self) -> tuple[int, int | None]:
        return self._source.progress()

    def close(self) -> None:
        self._source.close()


class CsvWriter(Writer):
    """Writes a header and one record a line."""

    def __init__(self, path: str) -> None:
        self._sink = Sink(path)
        self._dialect = Csv()
        self._text = Text(self._dialect)
        self._begun = False

    def write(self, batch: pa.RecordBatch) -> None:
        if not self._begun:
            self._sink.write(self._dialect.header(batch.schema.names).encode())
            self._begun = True
        for piece in self._text.pieces(batch):
            self._sink.write(piece)

    def close(self, failed: bool = False) -> None:
        self._sink.close(failed)
