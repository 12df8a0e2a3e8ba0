"""CSV with a header line, or with names that a dialect gives; every field is read as text."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from shoal.dialect import USUAL, Dialect
from shoal.errors import InputError
from shoal.formats.reading.plausible import check_csv, check_text
from shoal.formats.reading.reader import UTF8, Block, Lines, Reader, Source, chunks, slices
from shoal.formats.reading.record_ends import last_end, record_ends
from shoal.formats.reading.splitter import CODED, SKIPPED, TEXT, Coded, Splitter
from shoal.formats.reading.utf8 import NOT_UTF8_TEXT, as_bytes, as_letters, filtered, is_utf8, valid

CHUNK = 3 << 20
LONGEST = 64 << 20
SAMPLE = 1 << 18  # bytes from which it is learned which columns repeat their values

UNCLOSED = (
    f"a quoted value is never closed, or a record is longer than {LONGEST >> 20} MB; "
    "quote a value as a whole, and double the quotes inside it"
)

UNCLOSED_END = "a quoted value is not closed; close it, or double the quotes inside it"

MOST = 10_000  # distinct values of a column that are remembered from one chunk to the next
_CALLED = {",": "a comma", ";": "a semicolon", "\t": "a tab"}
_SEPARATOR = re.compile(rb"sep=.\r?\n", re.IGNORECASE)  # a first line that Excel writes
_CONTENT = re.compile(rb"[^\r\n]")
_CODED = pa.dictionary(pa.int32(), pa.string())
_KINDS = {None: SKIPPED, pa.string(): TEXT, _CODED: CODED}


class CsvReader(Reader):
    """Reads a file or a pipe whose first line names its columns."""

    def __init__(
        self, path: str, fields: Sequence[str] | None, passed: Collection[str], rows: int, dialect: Dialect = USUAL
    ) -> None:
        self._path = path
        dialect = dialect.named(path)
        self._source = Source(path, dialect.encoding)
        self._parser = CsvParser(path, fields, passed, rows, dialect)
        self._marks = dialect.separator.encode(), dialect.quote.encode()

    def header(self) -> list[str]:
        """The names of the columns, instead of their content."""
        next(self._chunks(), None)
        return self._parser.names

    def __iter__(self) -> Iterator[Block]:
        for chunk, is_whole in self._chunks():
            yield from self._parser.blocks(chunk) if is_whole else self._parser.last_blocks(chunk)

    def _chunks(self) -> Iterator[tuple[bytes, bool]]:
        """Pieces of the file after the header, each with whether it ends with a whole record."""
        separator, quote = self._marks
        cut = partial(last_end, separator=separator, quote=quote)
        for chunk, is_whole in chunks(self._source, CHUNK, LONGEST, cut, UNCLOSED):
            if self._parser.names:
                yield chunk, is_whole
            elif _CONTENT.search(chunk):
                yield self._parser.begin(chunk), is_whole
        if not self._parser.names:
            raise InputError(f"{self._path}: is empty; the first line of a CSV file must name its columns")

    def progress(self) -> tuple[int, int | None]:
        return self._source.progress()

    def close(self) -> None:
        self._source.close()


class CsvParser:
    """Reads the asked columns as strings; a record with too many or too few fields is reported, and skipped."""

    def __init__(
        self, path: str, fields: Sequence[str] | None, passed: Collection[str], rows: int, dialect: Dialect = USUAL
    ) -> None:
        self._path = path
        self._all = fields is None
        self._fields = list(fields or ())
        self._dialect = dialect.named(path)
        self._marks = self._separator, self._quote = self._dialect.separator.encode(), self._dialect.quote.encode()
        self._line = 0  # of the file, before the next chunk
        self._passed = frozenset(passed)
        self._rows = rows
        self._row = 0
        self.names: list[str] = []
        self._kinds: dict[str, pa.DataType] = {}
        self._splitter: Splitter | None = None
        self._lines = 0  # of the last chunk, if they were counted on the way
        self._swallowed = 0  # lines of the chunk's malformed records, beyond the first of each

    def begin(self, chunk: bytes) -> bytes:
        """Learn the header and the kinds of columns; return the bytes after the header."""
        check_text(self._path, chunk[:SAMPLE])
        check_csv(self._path, chunk[:SAMPLE])
        said = _SEPARATOR.match(chunk)
        if said:
            chunk = chunk[said.end() :]
            self._line += 1
        if self._dialect.header:
            self.name(self._dialect.header)
            self.learn(chunk[:SAMPLE])
            return chunk
        ends = record_ends(chunk[:SAMPLE], *self._marks)
        ends = ends if ends.first else record_ends(chunk, *self._marks)
        if not ends.first and not ends.closed:
            raise InputError(f"{self._path}: {UNCLOSED}")
        end = ends.first or len(chunk)
        end += chunk[end - 1 : end + 1] == b"\r\n"
        header = io.StringIO(chunk[:end].decode(errors="replace"), newline="")
        self.name(next(record for record in self._records(header) if record))
        self._line += _count_lines(chunk[:end])
        self.learn(chunk[end:SAMPLE])
        return chunk[end:]

    def _records(self, text: io.StringIO) -> Iterator[list[str]]:
        quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if self._quote else csv.QUOTE_NONE
        return csv.reader(text, delimiter=self._dialect.separator, quotechar=self._dialect.quote or None, quoting=quoting)

    def learn(self, sample: bytes) -> None:
        """Learn which columns repeat their values."""
        self._kinds |= dict.fromkeys(self._repeated(sample[:SAMPLE]), _CODED)
        self._splitter = None

    def name(self, names: Sequence[str]) -> None:
        """Name the columns, where no header does. Columns without a name get different ones, of blanks."""
        blank = [place for place, name in enumerate(names) if not name.strip()]
        names = [" " * blank.index(place) if place in blank else name for place, name in enumerate(names)]
        for place, name in enumerate(names):
            if name in names[:place]:
                twins = f"columns {names.index(name) + 1} and {place + 1}"
                raise InputError(f"{self._path}: the header names {twins} alike; rename one of them, or add a header")
        if self._all:
            self._fields = list(names)
        asked = [name for name in self._fields if name in names] or names[:1]
        self.names = list(names)
        self._kinds = dict.fromkeys(asked, pa.string())
        self._splitter = None

    def last_blocks(self, text: bytes) -> Iterator[Block]:
        """The blocks of a text's end. If a quote is open, its record's first line is malformed, and the others are read."""
        while text:
            ends = record_ends(text, *self._marks)
            last = len(text) if ends.closed else ends.last
            yield from self.blocks(text[:last])
            text = text[last:]
            if text:
                place = Lines(b"x", self._row, self._line, *self._marks)
                self._row, self._line = self._row + 1, self._line + 1
                yield self._block({}, [], [(self._row - 1, UNCLOSED_END)], place)
                text = text[_line_end(text) :]

    def _repeated(self, sample: bytes) -> list[str]:
        """The columns that are read as dictionaries, since their first values repeat."""
        sample = sample[: record_ends(sample, *self._marks).last]
        if not _CONTENT.search(sample):
            return []
        table, _ = self._parsed(sample)
        columns = [(name, table.column(name)) for name in self._kinds if name not in self._passed]
        return [name for name, column in columns if 4 * pc.count_distinct(column).as_py() < len(table)]

    def _parsed(self, chunk: bytes) -> tuple[pa.Table, list[tuple[int, str]]]:
        """The asked columns, and the malformed records by their place in the chunk.

        Arrow reports a malformed record only if it is UTF-8. In a chunk that is not UTF-8, each byte is read as a letter.
        """
        if is_utf8(chunk):
            table = self._split_unquoted(chunk)
            return self._split_by_arrow(chunk) if table is None else (table, [])
        table, bad = self._split_by_arrow(as_letters(chunk))
        return pa.table({name: as_bytes(table.column(name).combine_chunks()) for name in table.column_names}), bad

    def _split_unquoted(self, chunk: bytes) -> pa.Table | None:
        """The asked columns, if nothing is quoted and all records have as many fields as the header."""
        if (self._quote and self._quote in chunk) or b"\r" in chunk or not chunk.endswith(b"\n"):
            return None
        if self._splitter is None or max(self._splitter.counts) > MOST:
            kinds = [_KINDS[self._kinds.get(name)] for name in self.names]
            self._splitter = Splitter([b""] * len(self.names), b"", kinds, self._separator)
        parts = self._splitter.split(chunk)
        self._lines = self._splitter.rows if parts else 0
        found = dict(zip(self.names, parts or (), strict=False))
        return pa.table({name: _strings(found[name]) for name in self._kinds}) if parts else None

    @property
    def _mark(self) -> str:
        return _CALLED.get(self._dialect.separator, "the separator")

    def _split_by_arrow(self, chunk: bytes) -> tuple[pa.Table, list[tuple[int, str]]]:
        bad: list[tuple[int, str]] = []

        def refuse(row: pyarrow.csv.InvalidRow) -> str:
            found = f"{row.actual_columns} fields where the header has {row.expected_columns}"
            remedy = f"give as many, and quote values that hold {self._mark}"
            if further := row.text.count("\n") or row.text.count("\r"):
                self._swallowed += further
                found, remedy = f"{found}, on {further + 1:,} lines", f"is a quote not closed? {remedy.capitalize()}"
            bad.append((row.number - 1, f"{found}; {remedy}"))
            return "skip"

        table = pyarrow.csv.read_csv(
            pa.BufferReader(chunk),
            read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=len(chunk) + 1, column_names=self.names),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=self._dialect.separator,
                quote_char=self._dialect.quote or False,
                newlines_in_values=True,
                invalid_row_handler=refuse,
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=self._kinds, include_columns=list(self._kinds), strings_can_be_null=False, check_utf8=False
            ),
        )
        return table, bad

    def blocks(self, chunk: bytes) -> Iterator[Block]:
        """The blocks of whole records, whose numbers continue those of earlier chunks."""
        if not _CONTENT.search(chunk):
            self._line += _count_lines(chunk)
            return
        self._lines = self._swallowed = 0
        table, bad = self._parsed(chunk)
        lines = Lines(chunk, self._row, self._line, *self._marks)
        self._line += self._lines or _count_lines(chunk)
        rows = np.arange(self._row, self._row + len(table) + len(bad))
        bad = [(self._row + i, reason) for i, reason in bad]
        self._row += len(rows)
        rows = np.delete(rows, [row - rows[0] for row, _ in bad])
        columns = {name: table.column(name).combine_chunks() for name in table.column_names}
        good = None if chunk.isascii() else valid(columns.values())
        if good is not None:
            reason = (
                NOT_UTF8_TEXT
                if self._dialect.encoding == UTF8
                else f"not valid {self._dialect.encoding}; correct input.encoding"
            )
            bad = sorted(bad + [(row, reason) for row in rows[~good].tolist()])
            rows = rows[good]
            columns = {name: filtered(column, good) for name, column in columns.items()}
        whole = self._block(columns, rows, [])
        for i, piece in enumerate(slices(whole.batch, self._rows)):
            some = rows[i * self._rows :][: len(piece)]
            before = [one for one in bad if one[0] < some[-1]]
            bad = bad[len(before) :]
            swallowed, self._swallowed = self._swallowed, 0
            yield Block(piece, some, before, self.names, lines, swallowed)
        if bad:
            yield self._block({}, [], bad, lines)._replace(swallowed=self._swallowed)

    def _block(
        self, columns: dict[str, pa.Array], rows: Sequence[int] | npt.NDArray[np.int64], bad: list[tuple[int, str]],
        lines: Lines | None = None,
    ) -> Block:  # fmt: skip
        arrays = [columns[name] if name in columns else pa.nulls(len(rows)) for name in self._fields]
        return Block(pa.RecordBatch.from_arrays(arrays, names=self._fields), np.asarray(rows, np.int64), bad, self.names, lines)


def _count_lines(text: bytes) -> int:
    return text.count(b"\n") or text.count(b"\r")


def _line_end(text: bytes) -> int:
    """The end of the first line."""
    return text.find(b"\n") + 1 or text.find(b"\r") + 1 or len(text)


def _strings(part: Coded | pa.Array) -> pa.Array:
    if not isinstance(part, Coded):
        return part.view(pa.string())
    return pa.DictionaryArray.from_arrays(part.codes, part.pieces.view(pa.string()), safe=False)
