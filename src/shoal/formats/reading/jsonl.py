"""JSON lines: one object per line, blank lines skipped; or an array of objects, each of which becomes a line."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from shoal.column_types import JSON
from shoal.formats.json_values import json_texts, typed_column
from shoal.formats.kind import packing, suffix
from shoal.formats.reading.json_array import ArrayLines
from shoal.formats.reading.jsonl_irregular import Irregular
from shoal.formats.reading.jsonl_regular import LONGEST, Refused, Regular, is_doubled, is_unicode, parse
from shoal.formats.reading.reader import UTF8, Block, Reader, Source, chunks, slices
from shoal.path import ABSENT, in_record

CHUNK = 4 << 20
FIRST_CHUNK = 1 << 18
TOO_LONG = f"a line is longer than {LONGEST >> 20} MB; is this JSON lines?"
BLANK = b" \t\r"
FEW = 64  # a block of at most this many lines is parsed line by line, if the fast ways refuse it, rather than halved again
BEGINNING = 100
"""If lines have different keys, the first block has at most this many lines: its keys are those the input began with."""

Parsed = tuple[list[pa.Array], list[tuple[int, str]], Collection[str]]


def last_line(buffer: bytearray, filled: int) -> int:
    """Where the last whole line ends."""
    return buffer.rfind(b"\n", 0, filled) + 1


class JsonlReader(Reader):
    """Reads blocks of lines from a file or a pipe."""

    def __init__(self, path: str, fields: Sequence[str], passed: Collection[str], rows: int, encoding: str = UTF8) -> None:
        self._source = _opened(path, encoding)
        self._parser = JsonlParser(fields, passed, rows)

    def __iter__(self) -> Iterator[Block]:
        for chunk, is_whole in chunks(self._source, CHUNK, LONGEST, last_line, TOO_LONG):
            yield from self._parser.blocks(chunk if is_whole else chunk + b"\n")

    def progress(self) -> tuple[int, int | None]:
        return self._source.progress()

    def close(self) -> None:
        self._source.close()


class JsonlParser:
    """Parses lines the fastest way that gives what `json.loads` gives line by line."""

    def __init__(self, fields: Sequence[str], passed: Collection[str], rows: int) -> None:
        self._fields = list(fields)
        self._passed = frozenset(passed)
        self._rows = rows
        self._row = 0
        self._begun = False
        self._regular = Regular(self._fields, self._passed)
        self._irregular = Irregular(self._fields, self._passed)

    def blocks(self, chunk: bytes) -> Iterator[Block]:
        """The blocks of whole lines, whose numbers continue those of earlier chunks."""
        for columns, bad, names in self._parsed(chunk.replace(b"\r\n", b"\n") if b"\r" in chunk else chunk):
            yield from self._numbered(columns, bad, names)

    def _parsed(self, chunk: bytes) -> Iterator[Parsed]:
        """A chunk that the fast ways refuse is halved until parsing line by line is cheap."""
        parsed = self._fast(chunk)
        if parsed is not None:
            yield parsed
            return
        lines = [stripped for line in chunk.split(b"\n") if (stripped := line.strip(BLANK))]
        half = len(lines) // 2
        cleaned = b"\n".join(lines) + b"\n"
        if len(lines) <= FEW:
            yield self._slow(lines)
        elif len(cleaned) < len(chunk):
            yield from self._parsed(cleaned)
        else:
            for part in (lines[:half], lines[half:]):
                yield from self._parsed(b"\n".join(part) + b"\n")

    def _fast(self, chunk: bytes) -> Parsed | None:
        try:
            found: Parsed = self._regular.parse(chunk), [], self._regular.names
        except Refused:
            if not self._begun and chunk.count(b"\n") > BEGINNING:
                return None
            try:
                found = self._irregular.parse(chunk), [], self._irregular.names
            except Refused:
                return None
        self._begun = True
        return found

    def _slow(self, lines: list[bytes]) -> Parsed:
        records: list[dict[str, Any]] = []
        bad = []
        for i, line in enumerate(lines):
            record = parse(line)
            if isinstance(record, dict) and not all(is_unicode(_value(record, name)) for name in self._fields):
                record = "not valid Unicode"
            if isinstance(record, dict) and any(is_doubled(record, name) for name in self._fields):
                record = "a key stands twice; give each once"
            if isinstance(record, dict):
                records.append(record)
            else:
                bad.append((i, record))
        self._begun = True
        self._irregular.learn(records)
        values = {name: [_value(record, name) for record in records] for name in self._fields}
        names = dict.fromkeys(name for record in records for name in record)
        return [json_texts(values[n]) if n in self._passed else typed_column(values[n]) for n in self._fields], bad, names

    def _numbered(self, columns: list[pa.Array], bad: list[tuple[int, str]], names: Collection[str]) -> Iterator[Block]:
        fields = [
            pa.field(name, values.type, metadata=JSON if name in self._passed else None)
            for name, values in zip(self._fields, columns, strict=True)
        ]
        batch = pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))
        numbers = np.arange(self._row, self._row + len(batch) + len(bad))
        good = np.delete(numbers, [i for i, _ in bad])
        failed = [(self._row + i, reason) for i, reason in bad]
        self._row += len(numbers)
        for i, piece in enumerate(slices(batch, self._rows)):
            yield Block(piece, good[i * self._rows :][: len(piece)], failed if i == 0 else [], names)
        if failed and not len(batch):
            yield Block(batch, good, failed, names)


def _value(record: dict[str, Any], name: str) -> Any:
    value = in_record(record, name)
    return None if value is ABSENT else value


class Records(NamedTuple):
    """The first records of an input."""

    good: list[dict[str, Any]]
    bad: int  # how many could not be parsed
    complete: bool  # whether there are no more

    def keys(self) -> dict[str, int]:
        """The keys in order of appearance, and how many records have each."""
        counts: dict[str, int] = {}
        for record in self.good:
            for key in record:
                counts[key] = counts.get(key, 0) + 1
        return {key: count for key, count in counts.items() if is_unicode(key)}


def first_records(path: str, rows: int, encoding: str = UTF8) -> Records:
    """At most `rows` records of a file of JSON lines, or of standard input if the path is `-`."""
    source = _opened(path, encoding)
    good: list[dict[str, Any]] = []
    bad = 0
    try:
        for line in _lines_of(source):
            if len(good) + bad == rows:
                return Records(good, bad, False)
            record = parse(line)
            if isinstance(record, dict) and is_unicode(list(record.values())):
                good.append(record)
            else:
                bad += 1
    finally:
        source.close()
    return Records(good, bad, True)


def _opened(path: str, encoding: str) -> Source | ArrayLines:
    """The bytes of a file as lines: what is named .json may be an array."""
    source = Source(path, encoding)
    return ArrayLines(source, LONGEST) if suffix(path).removesuffix(packing(path)) == ".json" else source


def _lines_of(source: Source | ArrayLines) -> Iterator[bytes]:
    """Lines that are not blank."""
    for chunk, _ in chunks(source, FIRST_CHUNK, LONGEST, last_line, TOO_LONG):
        yield from filter(None, (line.strip(BLANK) for line in chunk.split(b"\n")))
