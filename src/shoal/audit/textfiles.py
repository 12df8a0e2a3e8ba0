"""CSV and JSON lines as blocks of columns."""

from __future__ import annotations

import io
import json
import math
import re
from bisect import bisect_left
from codecs import BOM_UTF8, getincrementaldecoder
from collections.abc import Iterable, Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
from numpy.typing import NDArray

from shoal.audit.block import AGAIN, BYTES, Block, doubtful, found_in, named, opened
from shoal.audit.values import canonical
from shoal.errors import InputError
from shoal.policy import Input

_LETTERS = "latin-1"  # each byte is a letter
_JSON = re.compile(r"\.json(\.\w+)?$", re.IGNORECASE)
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{},]', re.DOTALL)


def csv(path: str, wanted: set[str] | None, written: Input, separator: str) -> Iterator[Block]:
    """The blocks of a CSV file; a record with too many or too few fields, or not of its encoding, is malformed."""
    malformed: list[int] = []
    before = 1 if written.header else 2

    def skip(row: Any) -> str:
        malformed.append(row.number - before)
        return "skip"

    marks = {"delimiter": separator, "quote_char": written.quote or False}
    encoding = _encoding(path, written.encoding)  # Arrow reports a malformed record only if it can read it
    names = list(written.header) or _header(path, encoding, written.encoding, marks)
    if not names:
        return
    kinds = {name: pa.dictionary(pa.int32(), pa.binary()) for name in names}
    with opened(path, written.encoding) as file:
        spans = _given_up(path, written, separator)
        reader = pa.csv.open_csv(
            _Replaced(file, spans, separator.encode() * (len(names) + 1) + b"\n") if spans else file,
            read_options=pa.csv.ReadOptions(
                block_size=BYTES, use_threads=False, encoding=encoding, column_names=list(written.header) or None
            ),
            parse_options=pa.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=skip, **marks),
            convert_options=pa.csv.ConvertOptions(column_types=kinds, strings_can_be_null=False),
        )
        start = 0
        for batch in reader:
            lines, start = _numbered(start, batch.num_rows, malformed)
            if encoding != _LETTERS:
                yield Block(named(names, batch.columns, wanted), lines, start)
                continue
            as_utf8 = names if written.header else [name.encode(_LETTERS).decode("utf-8", "replace") for name in names]
            columns = named(as_utf8, map(_as_bytes, batch.columns), wanted)
            good = _is_utf8(columns.values(), batch.num_rows)
            columns = {name: column.cast(pa.binary()).filter(pa.array(good)) for name, column in columns.items()}
            yield Block(columns, lines[good], start)
        if malformed and malformed[-1] >= start:
            yield Block({}, np.empty(0, np.int64), malformed[-1] + 1)


def _given_up(path: str, written: Input, separator: str) -> list[tuple[int, int]]:
    """The lines, from byte to byte, in which a record begins whose quote is open to the end of the file: they are malformed.

    Looked for if the number of quotes is odd, as one that is not closed leaves it.
    """
    quote, found = written.quote.encode(), list[tuple[int, int]]()
    with opened(path, written.encoding) as file:
        count = sum(more.count(quote) for more in iter(lambda: file.read(BYTES), b"")) if quote else 0
    if not count % 2:
        return found
    while (begin := _open_record(path, written.encoding, quote, separator.encode(), found[-1][1] if found else 0)) is not None:
        with opened(path, written.encoding) as file:
            _passed(file, begin)
            text = file.read(BYTES)
        found.append((begin, begin + (text.find(b"\n") + 1 or text.find(b"\r") + 1 or len(text))))
    return found


def _open_record(path: str, encoding: str, quote: bytes, separator: bytes, start: int) -> int | None:
    """Where the last record begins, from a byte on, if a quote in it is open to the end of the file.

    A quote opens a value at its beginning only, and two inside of it stand for one.
    """
    at = record = start
    is_open, closed, last = False, -2, b"\n"
    with opened(path, encoding) as file:
        _passed(file, start)
        while more := file.read(BYTES):
            if not at and more.startswith(BOM_UTF8):
                at = record = len(BOM_UTF8)
                more = more[at:]
            here = 0
            for place in [*(match.start() for match in re.finditer(re.escape(quote), more)), len(more)]:
                if not is_open and (end := max(more.rfind(b"\n", here, place), more.rfind(b"\r", here, place)) + 1):
                    record = at + end
                if place == len(more):
                    break
                if is_open:
                    is_open, closed = False, at + place
                else:
                    before = more[place - 1 : place] if place else last
                    is_open = closed == at + place - 1 or before in (b"\n", b"\r", separator)
                here = place + 1
            at, last = at + len(more), more[-1:] or last
    return record if is_open else None


class _Replaced(io.RawIOBase):
    """A file in which some parts, from byte to byte, are replaced by a line."""

    def __init__(self, file: BinaryIO, spans: list[tuple[int, int]], line: bytes) -> None:
        self._parts, self._rest = self._cut(file, spans, line), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest and (more := next(self._parts, None)) is not None:
            self._rest = more
        some = self._rest[: len(buffer)]
        self._rest = self._rest[len(some) :]
        buffer[: len(some)] = some
        return len(some)

    @staticmethod
    def _cut(file: BinaryIO, spans: list[tuple[int, int]], line: bytes) -> Iterator[bytes]:
        at = 0
        for begin, end in spans:
            while at < begin and (more := file.read(min(begin - at, BYTES))):
                at += len(more)
                yield more
            _passed(file, end - at)
            at = end
            yield line
        while more := file.read(BYTES):
            yield more


def _passed(file: BinaryIO, size: int) -> None:
    while size > 0 and (more := file.read(min(size, BYTES))):
        size -= len(more)


def _encoding(path: str, declared: str) -> str:
    decoder = getincrementaldecoder("utf-8")()
    with opened(path, declared) as file:
        try:
            while more := file.read(BYTES):
                decoder.decode(more)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return _LETTERS
    return "utf8"


def _as_bytes(column: pa.DictionaryArray) -> pa.DictionaryArray:
    """The bytes that were read as letters."""
    values = [value.decode().encode(_LETTERS) for value in column.dictionary.to_pylist()]
    return pa.DictionaryArray.from_arrays(column.indices, pa.array(values, pa.binary()))


def _is_utf8(columns: Iterable[pa.DictionaryArray], rows: int) -> NDArray[np.bool_]:
    """Which rows are UTF-8 in all of these columns; a record that is not is malformed."""
    good = np.ones(rows, bool)
    for column in columns:
        fine = np.array([_decodes(value) for value in column.dictionary.to_pylist()], bool)
        good &= fine[column.indices.to_numpy()]
    return good


def _decodes(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _header(path: str, encoding: str, declared: str, marks: dict[str, Any]) -> list[str]:
    """The names of a CSV file's columns; none where it is a header and nothing else, without a line end."""
    with opened(path, declared) as file:
        try:
            reader = pa.csv.open_csv(
                file,
                read_options=pa.csv.ReadOptions(use_threads=False, encoding=encoding),
                parse_options=pa.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=lambda row: "skip", **marks),
                convert_options=pa.csv.ConvertOptions(strings_can_be_null=False),
            )
        except pa.ArrowInvalid:
            pass
        else:
            return list(reader.schema.names)
    with opened(path, declared) as file:
        text = file.read()
    if text and not re.search(rb"[\r\n]", text):
        return []
    raise InputError(f"{path}: has no header; write the names of the fields into its first line")


def _numbered(start: int, rows: int, malformed: list[int]) -> tuple[NDArray[np.int64], int]:
    """The numbers of the next rows, passing over those that are malformed; and the number after them."""
    bad = malformed[bisect_left(malformed, start) :]
    numbers = np.setdiff1d(np.arange(start, start + rows + len(bad)), bad, assume_unique=True)[:rows]
    end = int(numbers[-1]) + 1 if rows else start
    passed = set(bad)
    while end in passed:
        end += 1
    return numbers, end


def jsonl(path: str, wanted: set[str] | None, encoding: str = "utf-8") -> Iterator[Block]:
    """The blocks of a file of JSON lines; a line that is no JSON object is malformed, an empty one is none.

    What is named .json may be an array of such objects.
    """
    as_text: dict[str, pa.DataType] = {}
    start = 0
    with opened(path, encoding) as file:
        for block in _lines(file) if not _JSON.search(path) else _of_array(file.read()):
            table = _parsed(block, as_text)
            is_sure = table is not None and not doubtful(table.schema.names, wanted or ())
            columns = _columns(table, wanted) if is_sure else None
            if columns is not None and table is not None:
                count = table.num_rows
                lines = np.arange(start, start + count)
            else:
                columns, good, count = _one_by_one(block, wanted)
                lines = start + np.flatnonzero(good)
            start += count
            yield Block(columns, lines, start)


def _columns(table: pa.Table, wanted: set[str] | None) -> dict[str, pa.Array] | None:
    """The wanted columns; None if Arrow cannot join the pieces of one, such as of lists that hold nulls alone."""
    names = [name for name in table.schema.names if wanted is None or name in wanted]
    try:
        return {name: table.column(name).combine_chunks() for name in names}
    except pa.ArrowException:
        return None


def _of_array(text: bytes) -> Iterator[bytes]:
    """The elements of an array as lines, cut where a comma stands outside of all texts and inner brackets."""
    text = text.removeprefix(BOM_UTF8).strip()
    if not text.startswith(b"["):
        yield text
        return
    depth, start, lines = 0, 1, []
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in b"[{":
            depth += 1
        elif mark in b"]}":
            depth -= 1
        if (mark == b"," and depth == 1) or not depth:
            lines.append(text[start : token.start()].replace(b"\r", b" ").replace(b"\n", b" ").strip())
            start = token.end()
    yield b"\n".join(filter(None, lines))


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Blocks of whole lines."""
    rest, mark = b"", BOM_UTF8
    while more := file.read(BYTES):
        more, mark = more.removeprefix(mark), b""
        end = more.rfind(b"\n") + 1
        if end:
            yield rest + more[:end]
            rest = more[end:]
        else:
            rest += more
    if rest:
        yield rest


def _parsed(block: bytes, as_text: dict[str, pa.DataType]) -> pa.Table | None:
    """The table of a block, or nothing where its lines are not all alike. Texts that look like times stay texts."""
    lines = _objects(block)
    if not lines:
        return None
    options = pa.json.ReadOptions(use_threads=False, block_size=max(len(block), 1))
    while True:
        try:
            table = pa.json.read_json(
                pa.BufferReader(block), options, pa.json.ParseOptions(explicit_schema=pa.schema(as_text.items()))
            )
        except pa.ArrowException:
            return None
        if table.num_rows != lines:
            return None
        times = {field.name: _without_times(field.type) for field in table.schema}
        changed = {name: kind for name, kind in times.items() if kind != table.schema.field(name).type}
        if not changed:
            return None if any(_is_coarse(table.column(name)) for name in table.schema.names) else table
        as_text.update(changed)


def _objects(block: bytes) -> int:
    """How many lines there are, if each begins and ends as an object does and they are UTF-8; else 0.

    Arrow minds no line ends. But inside an object `}` and `{` never stand side by side, so none goes on over a line end.
    """
    text = block.rstrip(b"\r\n")
    lines = text.count(b"\n") + 1
    joints = text.count(b"}\n{") + text.count(b"}\r\n{")
    if joints != lines - 1 or text[:1] != b"{" or text[-1:] != b"}":
        return 0
    with suppress(UnicodeDecodeError):
        return lines if text.isascii() or text.decode() else 0
    return 0


def _without_times(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_without_times(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _without_times(field.type)) for field in kind])
    return kind


def _is_coarse(column: pa.ChunkedArray) -> bool:
    """Whether whole numbers among others may have lost digits on the way to doubles."""
    if not pa.types.is_floating(column.type):
        return False
    return bool((np.abs(column.to_numpy()) > 2**53).any())


def _one_by_one(block: bytes, wanted: set[str] | None) -> tuple[dict[str, pa.Array], NDArray[np.bool_], int]:
    """The records of a block's lines, which of them are records, and how many lines there are."""
    records: list[dict[str, Any]] = []
    good: list[bool] = []
    for line in block.split(b"\n"):
        if not line.strip():
            continue
        record = None
        with suppress(ValueError, RecursionError):
            record = json.loads(line.decode(), object_pairs_hook=_record)
        if isinstance(record, dict) and b"\\u" in line and not _is_unicode(record, wanted):
            record = None
        if isinstance(record, dict) and any(_is_doubled(record, name) for name in wanted or ()):
            record = None
        good.append(isinstance(record, dict))
        if isinstance(record, dict):
            records.append(record)
    names = dict.fromkeys(name for record in records for name in record if wanted is None or name in wanted)
    names |= dict.fromkeys(name for name in wanted or () if "." in name)
    columns = {name: _array([found_in(record, name) for record in records]) for name in names}
    return columns, np.array(good, bool), len(good)


def _is_unicode(record: dict[str, Any], wanted: set[str] | None) -> bool:
    """Whether these fields can be written as UTF-8, which half a pair of surrogates cannot."""
    try:
        json.dumps([value for name, value in record.items() if wanted is None or name in wanted], ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _record(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; of a name that appears twice the last counts, and what came before is kept under another."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            found[f"{name}{AGAIN}"] = found[name]
        found[name] = value
    return found


def _is_doubled(record: dict[str, Any], name: str) -> bool:
    """Whether a field stands twice, or a step of the path to it."""
    if name in record or "." not in name:
        return f"{name}{AGAIN}" in record
    step, _, rest = name.partition(".")
    inner = record.get(step)
    return f"{step}{AGAIN}" in record or (isinstance(inner, dict) and _is_doubled(inner, rest))


def _array(values: list[Any]) -> pa.Array:
    """An Arrow array; of texts, where the values are of several types."""
    if len({type(value) for value in values if value is not None} - {int, float}) < 2:
        with suppress(pa.ArrowException, OverflowError):
            array = pa.array(values)
            if not _is_coarse(pa.chunked_array([array])):
                return array
    found = decimals(values)
    return _texts(values) if found is None else found


def decimals(values: list[Any]) -> pa.Array | None:
    """Whole and broken numbers, each with all its digits; None if there is another value, or one that is too long.

    >>> decimals([2**53 + 1, 7.0, 0.5, None]).to_pylist()
    [Decimal('9007199254740993.0'), Decimal('7.0'), Decimal('0.5'), None]
    >>> decimals([10**22, float("inf")]) is None
    True
    """
    if any(isinstance(value, bool) or not isinstance(value, int | float | Decimal | None) for value in values):
        return None
    try:
        exact = [
            None if value is None or value != value else Decimal(repr(value) if isinstance(value, float) else value)
            for value in values
        ]
        return pa.array(exact)
    except (pa.ArrowException, ArithmeticError, ValueError, TypeError):  # an infinity beside a long number
        return None


def texts_of(column: pa.Array) -> pa.Array:
    """A column of any type as texts."""
    return _texts(column.to_pylist())


def _texts(values: list[Any]) -> pa.Array:
    known: dict[str, str] = {}
    return pa.array([_written(value, known) for value in values], pa.string())


def _written(value: Any, known: dict[str, str]) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float) and math.isinf(value):
        return json.dumps(value)
    if isinstance(value, dict | list):
        shape = repr(value)
        if shape not in known:
            known[shape] = canonical(value) or ""
        return known[shape]
    return value if isinstance(value, str) else canonical(value)
