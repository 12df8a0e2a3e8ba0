"""JSON lines that all have the same keys in the same order, as programs write them.

Such a line splits at its commas into one piece a field, a constant beginning and a value. Arrow's CSV parser does the
splitting; each *distinct* piece is then checked and parsed by Python's `json`, so that what is accepted, and as what,
is what `json.loads` says of the line. A comma inside a value, a key more or less, anything unforeseen: `Refused`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from shoal.formats.jsontext import holds, integers, numbers, strings
from shoal.formats.numerals import floats
from shoal.formats.values import column, is_unicode, parse, verbatim
from shoal.path import head

SAMPLE = 1 << 17
"""Bytes that are looked at to see which columns have few values."""

FEW, SHARE = 64, 0.05
"""A column has few values if there are so many, or so many a row."""

MOST = 10_000
"""Values of a column that are remembered."""

_BEGINNING = re.compile(rb'\{?[ \t]*"([^"\\]*)"[ \t]*:[ \t]*')
_CODED = pa.dictionary(pa.int32(), pa.binary())


class Refused(Exception):
    """The block does not have the shape; another way must be found."""


class Shape(NamedTuple):
    """The constant parts of a line.

    >>> learn(b'{"a": 1, "b": "x"}')
    Shape(names=('a', 'b'), beginnings=(b'{"a": ', b' "b": '), end=b'}')
    """

    names: tuple[str, ...]
    beginnings: tuple[bytes, ...]
    end: bytes


def learn(line: bytes) -> Shape:
    record = parse(line)
    names, beginnings = [], []
    for i, piece in enumerate(line.split(b",")):
        found = _BEGINNING.match(piece)
        if not found or piece.startswith(b"{") != (i == 0):
            raise Refused
        names.append(found[1].decode(errors="replace"))
        beginnings.append(found[0])
    end = re.search(rb"[ \t]*\}$", line)
    if not end or not isinstance(record, dict) or list(record) != names:
        raise Refused
    return Shape(tuple(names), tuple(beginnings), end[0])


class Regular:
    """Parses blocks of regular lines; remembers the shape and which columns have many values."""

    def __init__(self, fields: Sequence[str], passed: frozenset[str]) -> None:
        self._fields = fields
        self._passed = passed
        self._refused = False
        self._shape: Shape | None = None
        self._coded: tuple[bool, ...] = ()
        self._known: dict[bytes, dict[bytes, Any]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The keys of the lines that were parsed last."""
        return self._shape.names if self._shape else ()

    def parse(self, block: bytes) -> list[pa.Array]:
        """The asked columns, one row a line; after a refusal, the first lines are tried first."""
        if self._refused:
            self._parsed(block[: block.rfind(b"\n", 0, SAMPLE) + 1] or block)
        self._refused = True
        columns = self._parsed(block)
        self._refused = False
        return columns

    def _parsed(self, block: bytes) -> list[pa.Array]:
        if b"\r" in block:
            raise Refused
        shape = learn(block[: block.find(b"\n")])
        if any(name not in shape.names and head(name) in shape.names for name in self._fields):
            raise Refused
        if shape != self._shape:
            self._begin(shape, block)
        parts = _split(block, self._coded)
        self._coded = tuple(map(_has_few, parts))
        found: dict[str, pa.Array] = {}
        for i, (name, part, beginning) in enumerate(zip(shape.names, parts, shape.beginnings, strict=True)):
            end = shape.end if i == len(shape.names) - 1 else b""
            found[name] = self._column(name, part, beginning, end)
        return [found[name] if name in found else self._absent(name, len(parts[0])) for name in self._fields]

    def _absent(self, name: str, count: int) -> pa.Array:
        return pa.nulls(count, pa.string() if name in self._passed else pa.null())

    def _begin(self, shape: Shape, block: bytes) -> None:
        sample = _split(block[: block.rfind(b"\n", 0, SAMPLE) + 1] or block, (True,) * len(shape.names))
        self._shape, self._coded, self._known = shape, tuple(map(_has_few, sample)), {}

    def _column(self, name: str, part: pa.Array, beginning: bytes, end: bytes) -> pa.Array:
        passed = name in self._passed
        if not pa.types.is_dictionary(part.type):
            texts = _trimmed(part, beginning, end)
            simple = _simple(texts, passed)
            if simple is not None:
                return simple
            part = part.dictionary_encode()
        known = self._known.setdefault(beginning, {})
        if len(known) > MOST:
            known.clear()
        values = []
        for piece in part.dictionary.to_pylist():
            if piece not in known:
                known[piece] = _value(piece, beginning, end)
            values.append(known[piece])
        return _expanded(part.indices, values, passed)


def _split(block: bytes, coded: Sequence[bool]) -> list[pa.Array]:
    """The pieces between commas, a column each, as dictionaries where `coded`."""
    types = {str(i): _CODED if one else pa.binary() for i, one in enumerate(coded)}
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(block),
            read_options=pyarrow.csv.ReadOptions(
                use_threads=False, block_size=len(block) + 1, column_names=list(types)
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=",", quote_char=False, double_quote=False, ignore_empty_lines=False
            ),
            convert_options=pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=False, check_utf8=False),
        )
    except pa.ArrowInvalid:
        raise Refused from None
    return [part.chunk(0) if part.num_chunks == 1 else part.combine_chunks() for part in table.columns]


def _has_few(part: pa.Array) -> bool:
    return pa.types.is_dictionary(part.type) and len(part.dictionary) <= max(FEW, SHARE * len(part))


def _value(piece: bytes, beginning: bytes, end: bytes) -> Any:
    if not (piece.startswith(beginning) and piece.endswith(end)):
        raise Refused
    try:
        value = json.loads(piece[len(beginning) : len(piece) - len(end)].decode())
    except (ValueError, RecursionError):
        raise Refused from None
    if b"\\u" in piece and not is_unicode(value):
        raise Refused
    return value


def _expanded(codes: pa.Array, values: list[Any], passed: bool) -> pa.Array:
    distinct = verbatim(values) if passed else column(values)
    if pa.types.is_string(distinct.type) and not passed:
        encoded = distinct.dictionary_encode()
        return pa.DictionaryArray.from_arrays(encoded.indices.take(codes), encoded.dictionary)
    return distinct.take(codes)


def _trimmed(part: pa.Array, beginning: bytes, end: bytes) -> pa.Array:
    """What follows the beginning; null where it says null."""
    if not (holds(pc.starts_with(part, beginning)) and holds(pc.ends_with(part, end))):
        raise Refused
    try:
        texts = pc.binary_slice(part, len(beginning), -len(end) if end else 2**31 - 1).cast(pa.string())
    except pa.ArrowInvalid:
        raise Refused from None
    return pc.if_else(pc.equal(texts, "null"), None, texts)


def _simple(texts: pa.Array, passed: bool) -> pa.Array | None:
    for form in (integers, strings, numbers):
        found = form(texts)
        if found is not None:
            return found if not passed else texts if form is not numbers else _canonical(texts, found)
    return None


def _canonical(texts: pa.Array, found: pa.Array) -> pa.Array:
    is_whole = pc.invert(pc.match_substring_regex(texts, "[.eE]"))
    return pc.if_else(is_whole, pc.if_else(pc.equal(texts, "-0"), "0", texts), floats(found))
