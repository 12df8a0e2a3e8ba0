"""JSON lines that all have the same keys in the same order, as programs write them.

Such a line splits at its commas into one piece per field, which has a constant beginning and a value. Each *distinct* value is
then checked and parsed by Python's `json`, so that the result is that of `json.loads`. A comma inside a value, another key, or
anything else that is unexpected: `Refused`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from shoal.formats.json_values import dumps, float_texts, json_integers, json_numbers, json_strings, json_texts, typed_column
from shoal.formats.reading.splitter import CODED, TEXT, Coded, Splitter, whole_numbers
from shoal.formats.reading.utf8 import NOT_UTF8_TEXT
from shoal.path import head

SAMPLE = 1 << 17  # bytes from which it is learned which columns have few values
FEW, SHARE = 64, 0.05  # a column has few distinct values if there are at most so many, or so many per row
MOST = 2000  # the most distinct values of a column that are remembered
_BEGINNING = re.compile(rb'\{?[ \t]*"([^"\\]*)"[ \t]*:[ \t]*')


LONGEST = 64 << 20  # bytes of a line
OVERLONG_LINE = b'"a line that is too long"'  # stands for a line that is longer


class Refused(Exception):
    """The block does not have this shape, and must be parsed in another way."""


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
    """Parses blocks of regular lines; remembers their shape, and the values of columns that have few."""

    def __init__(self, fields: Sequence[str], passed: frozenset[str]) -> None:
        self._fields = fields
        self._passed = passed
        self._refused = False
        self._shape: Shape | None = None
        self._rows = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The keys of the last lines."""
        return self._shape.names if self._shape else ()

    def parse(self, block: bytes) -> list[pa.Array]:
        """The asked columns, one row per line; after a refusal, the first lines are tried first."""
        if self._refused:
            self._parsed(_beginning(block))
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
            self._begin(shape, [CODED] * len(shape.names))
            self._split(_beginning(block))
        most = min(MOST, max(FEW, SHARE * self._rows))
        kinds = [TEXT if count > most else kind for kind, count in zip(self._kinds, self._splitter.counts, strict=True)]
        if kinds != self._kinds:
            self._begin(shape, kinds)
        parts = self._split(block)
        try:
            found = {name: self._column(i, parts[i], name in self._passed) for i, name in enumerate(shape.names)}
        except Refused:
            self._begin(shape, kinds)
            raise
        rows = len(found[shape.names[0]])
        return [found[name] if name in found else self._absent(name, rows) for name in self._fields]

    def _absent(self, name: str, count: int) -> pa.Array:
        return pa.nulls(count, pa.string() if name in self._passed else pa.null())

    def _begin(self, shape: Shape, kinds: list[int]) -> None:
        """Forget all values."""
        self._shape, self._kinds = shape, kinds
        self._splitter = Splitter(shape.beginnings, shape.end, kinds)
        self._values: list[list[Any]] = [[] for _ in kinds]
        self._distinct: list[pa.Array] = [pa.nulls(0)] * len(kinds)

    def _split(self, block: bytes) -> list[Any]:
        """The values as they are written, by column."""
        parts = self._splitter.split(block)
        if parts is None:
            raise Refused
        self._rows += self._splitter.rows
        return parts

    def _column(self, i: int, part: Coded | pa.Array, passed: bool) -> pa.Array:
        if not isinstance(part, Coded):
            simple = None if passed else whole_numbers(part)
            simple = _simple(_texts(part), passed) if simple is None else simple
            if simple is not None:
                return simple
            part = part.dictionary_encode()
            return _expanded(part.indices, _distinct(list(map(_value, part.dictionary.to_pylist())), passed))
        values = self._values[i]
        if len(values) < len(part.pieces):
            values += map(_value, part.pieces[len(values) :].to_pylist())
            self._distinct[i] = _distinct(values, passed)
        return _expanded(part.codes, self._distinct[i])


def _beginning(block: bytes) -> bytes:
    return block[: block.rfind(b"\n", 0, SAMPLE) + 1] or block


def _value(piece: bytes) -> Any:
    try:
        value = json.loads(piece.decode())
    except (ValueError, RecursionError):
        raise Refused from None
    if b"\\u" in piece and not is_unicode(value):
        raise Refused
    return value


def _distinct(values: list[Any], passed: bool) -> pa.Array:
    found = json_texts(values) if passed else typed_column(values)
    return found.dictionary_encode() if pa.types.is_string(found.type) and not passed else found


def _expanded(codes: pa.Array, distinct: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(distinct.type):
        return pa.DictionaryArray.from_arrays(distinct.indices.take(codes), distinct.dictionary, safe=False)
    return distinct.take(codes)


def _texts(part: pa.Array) -> pa.Array:
    """As strings; null where they say null."""
    try:
        texts = part.cast(pa.string())
    except pa.ArrowInvalid:
        raise Refused from None
    return pc.if_else(pc.equal(texts, "null"), None, texts)


def _simple(texts: pa.Array, passed: bool) -> pa.Array | None:
    for form in (json_integers, json_strings, json_numbers):
        found = form(texts)
        if found is not None:
            return found if not passed else texts if form is not json_numbers else _canonical(texts, found)
    return None


def _canonical(texts: pa.Array, found: pa.Array) -> pa.Array:
    is_whole = pc.invert(pc.match_substring_regex(texts, "[.eE]"))
    return pc.if_else(is_whole, pc.if_else(pc.equal(texts, "-0"), "0", texts), float_texts(found))


def parse(line: bytes) -> dict[str, Any] | str:
    """The object on a line, or why there is none.

    >>> parse(b'{"a": 1}'), parse(b"[1]"), parse(b"{")
    ({'a': 1}, 'not a JSON object; give one per line', 'malformed JSON; give one object per line')
    """
    if line == OVERLONG_LINE:
        return f"longer than {LONGEST >> 20} MB; give shorter lines"
    try:
        value = json.loads(line.decode(), object_pairs_hook=_object)
    except UnicodeDecodeError:
        return NOT_UTF8_TEXT
    except RecursionError:
        return "JSON nested too deeply; flatten it"
    except ValueError:
        return "malformed JSON; give one object per line"
    return value if isinstance(value, dict) else "not a JSON object; give one per line"


class Doubled(dict[str, Any]):
    """An object in which keys stand twice."""

    twice: frozenset[str]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    doubled = Doubled(found)
    doubled.twice = frozenset(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
    return doubled


def is_doubled(record: Any, name: str) -> bool:
    """Whether a name, or a step of a path, stands twice in a record.

    >>> record = parse(b'{"a": 1, "b": {"c": 1, "c": 2}, "a": 2}')
    >>> is_doubled(record, "a"), is_doubled(record, "b.c"), is_doubled(record, "b")
    (True, True, False)
    """
    twice: frozenset[str] = getattr(record, "twice", frozenset())
    if name in record:
        return name in twice
    step, _, rest = name.partition(".")
    return step in twice or (bool(rest) and isinstance(record.get(step), dict) and is_doubled(record[step], rest))


def is_unicode(value: Any) -> bool:
    """Whether a value can be written as UTF-8, which half a surrogate pair cannot.

    >>> is_unicode("é"), is_unicode(["\\ud800"])
    (True, False)
    """
    try:
        dumps(value).encode()
    except UnicodeEncodeError:
        return False
    return True
