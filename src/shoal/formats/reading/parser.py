"""Records in bytes that arrive piece by piece, as messages do."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.dialect import USUAL, Dialect
from shoal.errors import InputError
from shoal.formats.json_values import dumps
from shoal.formats.reading.csv import CsvParser
from shoal.formats.reading.jsonl import JsonlParser, last_line
from shoal.formats.reading.jsonl_regular import OVERLONG_LINE
from shoal.formats.reading.reader import Block, slices
from shoal.formats.reading.record_ends import last_end, record_ends
from shoal.formats.reading.tables import Numbering, names_checked

ROWS = 32_768
PLAIN = Dialect().named("")


class Parser(ABC):
    """Parses pieces of whole records, whose numbers continue those of earlier pieces; unreadable records are reported."""

    @abstractmethod
    def blocks(self, pieces: Sequence[bytes]) -> Iterator[Block]: ...


def parser(
    kind: str, fields: Sequence[str], passed: Collection[str] = (), columns: Sequence[str] = (), dialect: Dialect = USUAL
) -> Parser:
    """The parser of a format: `json`, `csv` (whose columns must be named) or `arrow`.

    >>> [block.batch.to_pydict() for block in parser("json", ["a"]).blocks([b'{"a": 1}', b'{"a": 2}'])]
    [{'a': [1, 2]}]
    """
    match kind:
        case "json":
            return _Json(fields, passed)
        case "csv":
            return _Csv(fields, passed, columns, dialect)
        case _:
            return _Arrow(fields)


def last_record(kind: str, data: bytearray, dialect: Dialect = PLAIN) -> int:
    """The end of the last whole record of some text; 0 if there is none."""
    return last_end(data, len(data), *_marks(dialect)) if kind == "csv" else last_line(data, len(data))


def first_end(kind: str, data: bytearray, dialect: Dialect = PLAIN) -> int:
    """The end of the first whole record of some text; 0 if there is none."""
    return record_ends(memoryview(data), *_marks(dialect)).first if kind == "csv" else data.find(b"\n") + 1


def overlong(kind: str, dialect: Dialect = PLAIN, columns: int = 1) -> bytes:
    """What stands for a record that is longer than `LONGEST`: no record of so many columns, so that it is rejected."""
    if kind != "csv":
        return OVERLONG_LINE + b"\n"
    separator, quote = _marks(dialect)
    return quote + b"a record that is too long\n" if quote else separator * columns + b"\n"


def first_record(kind: str, data: bytes, dialect: Dialect = PLAIN) -> int:
    """The end of the header of a CSV, if it has one; JSON lines have no header."""
    if kind != "csv" or dialect.header:
        return 0
    return record_ends(data, *_marks(dialect)).first or len(data)


def _marks(dialect: Dialect) -> tuple[bytes, bytes]:
    return dialect.separator.encode(), dialect.quote.encode()


class _Json(Parser):
    """A piece is one object, on any number of lines, or several objects, one per line."""

    def __init__(self, fields: Sequence[str], passed: Collection[str]) -> None:
        self._parser = JsonlParser(fields, passed, ROWS)

    def blocks(self, pieces: Sequence[bytes]) -> Iterator[Block]:
        whole = b"\n".join(map(_on_lines, pieces))
        return self._parser.blocks(whole if whole.endswith(b"\n") else whole + b"\n")


def _on_lines(piece: bytes) -> bytes:
    """
    >>> _on_lines(b'{"a":\\n1}'), _on_lines(b'{"a": 1}\\n{"a": 2}')
    (b'{"a": 1}', b'{"a": 1}\\n{"a": 2}')
    """
    end = piece.find(b"\n")
    if end < 0 or piece[:end].rstrip().endswith(b"}"):
        return piece
    try:
        return dumps(json.loads(piece, object_pairs_hook=_once)).encode()
    except (ValueError, RecursionError, UnicodeEncodeError):
        return piece


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


class _Csv(Parser):
    """Records without a header; a piece need not end with a line end."""

    def __init__(self, fields: Sequence[str], passed: Collection[str], columns: Sequence[str], dialect: Dialect) -> None:
        dialect = dialect.named("")
        self._marks = _marks(dialect)
        self._parser = CsvParser("columns", fields, passed, ROWS, dialect)
        self._parser.name(list(columns))
        self._begun = False

    def blocks(self, pieces: Sequence[bytes]) -> Iterator[Block]:
        whole = [piece for piece in pieces if piece]
        if len(whole) > 1 and not all(map(self._is_closed, whole)):
            for piece in whole:
                yield from self.blocks([piece])
            return
        data = b"".join(piece if piece.endswith(b"\n") else piece + b"\n" for piece in whole)
        if not self._begun and self._is_closed(data):
            self._parser.learn(data)
            self._begun = True
        yield from self._parser.last_blocks(data)

    def _is_closed(self, piece: bytes) -> bool:
        if self._marks[1] not in piece:
            return True
        return bool(record_ends(piece if piece.endswith(b"\n") else piece + b"\n", *self._marks).closed)


class _Arrow(Parser):
    """Each piece is an Arrow stream."""

    def __init__(self, fields: Sequence[str]) -> None:
        self._fields = list(fields)
        self._numbering = Numbering(fields)

    def blocks(self, pieces: Sequence[bytes]) -> Iterator[Block]:
        for piece in pieces:
            try:
                table = pa.ipc.open_stream(piece).read_all()
                present = names_checked("an Arrow message", table.schema, self._fields)
                table.validate(full=True)
            except (pa.ArrowException, InputError, OSError):
                yield self._refused("not an Arrow stream, or damaged, or with two columns of one name")
                continue
            self._numbering.names = table.schema.names
            for batch in table.select(present).combine_chunks().to_batches():
                for some in slices(batch, ROWS):
                    yield self._numbering.block(some)

    def _refused(self, reason: str) -> Block:
        self._numbering.row += 1
        nothing = pa.RecordBatch.from_arrays([pa.nulls(0) for _ in self._fields], names=self._fields)
        return Block(nothing, np.zeros(0, np.int64), [(self._numbering.row - 1, reason)])
