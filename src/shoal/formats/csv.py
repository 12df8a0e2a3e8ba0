"""CSV with a header line; every field is read as text."""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Collection, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from shoal.errors import InputError
from shoal.formats.block import Block, Reader, Writer, slices
from shoal.formats.dialects import Csv
from shoal.formats.sink import Sink
from shoal.formats.source import BOM, Source
from shoal.formats.text import Text
from shoal.formats.unicode import filtered, valid

CHUNK = 1 << 20
"""Bytes parsed at a time, and the longest record; Arrow reads up to 32 times as many ahead."""


class _Stream(io.RawIOBase):
    """The file object that Arrow reads: bytes already looked at, the rest of the source, and a last line."""

    def __init__(self, source: Source, head: bytes, last: bytes) -> None:
        self._source = source
        self._head = head
        self._last = last
        self.is_ascii = head.isascii()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data, self._head = self._head[:size], self._head[size:]
        if not data:
            data = self._source.read(size)
            self.is_ascii = self.is_ascii and data.isascii()
        if not data:
            data, self._last = self._last, b""
        return data


class CsvReader(Reader):
    """Reads the asked columns as strings; a record with too many or too few fields is reported, not fatal.

    A line with one field too many is added at the end. Arrow must report it as malformed; if it does not, a quote was
    still open, and the last record, which swallowed the line, is not what it seems.
    """

    def __init__(self, path: str, fields: Sequence[str], passed: Collection[str], rows: int) -> None:
        self._path = path
        self._fields = list(fields)
        self._passed = frozenset(passed)
        self._rows = rows
        self._source = Source(path)
        self._bad: deque[tuple[int, str]] = deque()
        self._row = 0
        self._last = ""
        self._closed = False

    def __iter__(self) -> Iterator[Block]:
        head = self._head()
        names = self._names(head)
        self._last = "," * len(names)
        stream = _Stream(self._source, head, f"\n{self._last}\n".encode())
        asked = [name for name in self._fields if name in names] or names[:1]
        waiting: pa.RecordBatch | None = None
        try:
            with self._opened(stream, self._kinds(head, asked)) as reader:
                for batch in reader:
                    if waiting is not None and len(batch):
                        yield from self._blocks(waiting, stream.is_ascii)
                    waiting = batch if len(batch) else waiting
        except pa.ArrowInvalid:
            raise InputError(
                f"{self._path}: a quoted value is never closed, or a record is longer than {CHUNK >> 20} MB; "
                "quote a value as a whole, and double the quotes inside it"
            ) from None
        yield from self._ending(waiting, stream.is_ascii)

    def _head(self) -> bytes:
        head = b""
        while b"\n" not in head and b"\r" not in head and len(head) < CHUNK:
            data = self._source.read(CHUNK)
            head += data or b"\n"
        return head

    def _names(self, head: bytes) -> list[str]:
        text = head.removeprefix(BOM).decode(errors="replace")
        names = next((record for record in csv.reader(io.StringIO(text, newline="")) if record), None)
        if not names:
            raise InputError(f"{self._path}: is empty; the first line of a CSV file must name its columns")
        for place, name in enumerate(names):
            if name in names[:place]:
                twins = f"columns {names.index(name) + 1} and {place + 1}"
                raise InputError(f"{self._path}: the header names {twins} alike; rename one of them, or add a header")
        return names

    def _kinds(self, head: bytes, names: list[str]) -> dict[str, pa.DataType]:
        """Strings, or dictionaries of them where the first records repeat their values."""
        kinds = dict.fromkeys(names, pa.string())
        try:
            sample = pyarrow.csv.read_csv(
                io.BytesIO(head[: head.rfind(b"\n") + 1]),
                read_options=pyarrow.csv.ReadOptions(use_threads=False),
                parse_options=pyarrow.csv.ParseOptions(invalid_row_handler=lambda row: "skip"),
                convert_options=pyarrow.csv.ConvertOptions(column_types=kinds, include_columns=names, check_utf8=False),
            )
        except pa.ArrowInvalid:
            return kinds
        repeated = [
            name for name in names
            if name not in self._passed and 4 * pc.count_distinct(sample.column(name)).as_py() < len(sample)
        ]  # fmt: skip
        return kinds | dict.fromkeys(repeated, pa.dictionary(pa.int32(), pa.string()))

    def _opened(self, stream: _Stream, kinds: dict[str, pa.DataType]) -> pyarrow.csv.CSVStreamingReader:
        return pyarrow.csv.open_csv(
            stream,
            read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=CHUNK),
            parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=self._refuse),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=kinds,
                include_columns=list(kinds),
                strings_can_be_null=False,
                check_utf8=False,
            ),
        )

    def _refuse(self, row: pyarrow.csv.InvalidRow) -> str:
        """Arrow numbers records from 1, the header included."""
        self._closed = row.text == self._last
        self._bad.append((row.number - 2, f"{row.actual_columns} fields where the header has {row.expected_columns}"))
        return "skip"

    def _ending(self, waiting: pa.RecordBatch | None, is_ascii: bool) -> Iterator[Block]:
        """The last blocks, when it is known whether all quotes were closed."""
        if self._closed:
            self._bad.pop()
        blocks = list(self._blocks(waiting, is_ascii)) if waiting is not None else []
        rest = list(self._bad)
        if not self._closed:
            if rest:
                row, _ = rest.pop()
            else:
                batch, numbers, bad = blocks.pop()
                row = int(numbers[-1])
                blocks.append(Block(batch.slice(0, len(batch) - 1), numbers[:-1], bad))
            rest.append((row, "a quoted value is not closed"))
        yield from blocks
        if rest:
            yield Block(self._arranged({}, 0), np.empty(0, np.int64), rest)

    def _blocks(self, batch: pa.RecordBatch, is_ascii: bool) -> Iterator[Block]:
        for piece in slices(batch, self._rows):
            numbers, bad = self._numbers(len(piece))
            columns = dict(zip(piece.schema.names, piece.columns, strict=True))
            good = None if is_ascii else valid(piece.columns)
            if good is not None:
                bad = sorted(bad + [(row, "not valid UTF-8") for row in numbers[~good].tolist()])
                numbers = numbers[good]
                columns = {name: filtered(column, good) for name, column in columns.items()}
            yield Block(self._arranged(columns, len(numbers)), numbers, bad)

    def _numbers(self, count: int) -> tuple[npt.NDArray[np.int64], list[tuple[int, str]]]:
        """The rows of the next `count` good records, and the bad ones before and between them."""
        bad = []
        first, end = self._row, self._row + count
        while self._bad and self._bad[0][0] < end:
            bad.append(self._bad.popleft())
            end += 1
        self._row = end
        return np.delete(np.arange(first, end), [row - first for row, _ in bad]), bad

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
        self._text: Text | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        if self._text is None:
            dialect = Csv(batch.num_columns)
            self._text = Text(dialect)
            self._sink.write(dialect.header(batch.schema.names).encode())
        for piece in self._text.pieces(batch):
            self._sink.write(piece)

    def close(self, failed: bool = False) -> None:
        self._sink.close(failed)
