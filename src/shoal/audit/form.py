"""The form of an output that is text: rows must be written alike, or the way they are written tells them apart.

`30.000` for `30`, another order of fields, a blank at the end of a line: the values are the same, and the row is marked.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from json.decoder import scanstring  # type: ignore[attr-defined]
from os import PathLike, fspath
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.audit.block import BYTES, opened
from shoal.audit.files import Source
from shoal.audit.sets import BAR, WORDS
from shoal.audit.values import Ints, canonical

ROW = ""  # in place of a field: the row as a whole
_TEXT = r'"(?:[^"\\]|\\.)*"'
_PLAIN = r'[^\[\]{}"]'
_LIST = rf"\[(?:{_TEXT}|{_PLAIN})*\]"
_VALUE = rf'{_TEXT}|[^\[\]{{}}",: \t\r\n]+|{_LIST}|\{{(?:{_TEXT}|{_PLAIN}|{_LIST})*\}}'
_CELL = r'"(?:[^"]|"")*"|[^",\r\n]*'
_LARGE = re.compile(r"(?<![.0-9])[0-9]{16}|e\+(1[6-9]|[2-9][0-9]|[0-9]{3})")
_ESCAPE = re.compile(rb"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_BLANK = re.compile(r"[ \t]*")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FEW = 100  # lines from which the usual form is known


class Forms(NamedTuple):
    """How the rows of a file are written."""

    odd: Mapping[str, Ints]  # rows that are written in another form than most: under `ROW` as a whole, under a field its value
    exact: Mapping[str, Ints]  # of JSON lines: a number for each way in which a value of a field is written, row by row


def forms(source: Source, alike: Collection[str], exact: Collection[str] = ()) -> Forms:
    """How the rows of an output are written.

    The values of the fields that must be `alike` are compared by what they mean: those that mean the same must be written the
    same. Other fields may hold any value; of a CSV's, only quotes that most do without are odd. For `exact` fields of JSON
    lines, whose texts other readers do not keep, the result says which values are written in the same way.
    """
    path = fspath(source) if isinstance(source, str | PathLike) else ""
    plain = re.sub(r"\.(gz|zst|bz2|xz)\Z", "", path.lower())
    if not plain.endswith((".jsonl", ".ndjson", ".csv")):
        return Forms({}, {})
    with opened(path) as file:
        found = _Csv(alike) if plain.endswith(".csv") else _Jsonl(alike, exact)
        for lines in _records(file, found.quotes):
            found.take(lines)
    return Forms(found.odd(), found.exact())


def odd_forms(source: Source, alike: Collection[str]) -> Mapping[str, Ints]:
    """The rows that are written in another form than most."""
    return forms(source, alike).odd


def _records(file: BinaryIO, quotes: bool) -> Iterator[pa.Array]:
    """Records with their line ends, many at a time; inside `quotes` a line end is none."""
    rest = b""
    while True:
        more = file.read(BYTES)
        text = rest + more
        if not more and text and not text.endswith(b"\n"):
            text += b"\n"
        letters = np.frombuffer(text, np.uint8)
        ends = np.flatnonzero(letters == ord("\n")) + 1
        if quotes:
            ends = ends[np.searchsorted(np.flatnonzero(letters == ord('"')), ends) % 2 == 0]
        if len(ends):
            places = np.append(0, ends).astype(np.int64)
            yield pa.Array.from_buffers(
                pa.large_binary(), len(ends), [None, pa.py_buffer(places), pa.py_buffer(text[: int(ends[-1])])]
            )
        rest = text[int(ends[-1]) if len(ends) else 0 :]
        if not more:
            return


class _Parts(NamedTuple):
    """A line, taken apart: what stands before each value and after the last, and the values as they are written."""

    between: tuple[str, ...]
    values: list[str]


class _Form:
    """Collects how the rows of a file are written."""

    quotes: bool
    value: str

    def __init__(self, alike: Collection[str]) -> None:
        self._alike = alike
        self._usual: tuple[str, ...] | None = None
        self._captured: list[int] = []  # the places of values that are looked at
        self._rows = 0
        self._odd: dict[str, list[Ints]] = {}
        self._written: dict[str, _Written] = {}

    def take(self, lines: pa.Array) -> None:
        """Look at the next lines."""
        blank = pc.match_substring_regex(lines, r"^[ \t\r\n]*$")
        if pc.any(blank).as_py():  # no row, but it marks the next one
            flags = blank.to_numpy(zero_copy_only=False)
            behind = np.cumsum(~flags)[np.flatnonzero(flags)]
            self._add(ROW, np.unique(behind[behind < np.count_nonzero(~flags)]) + self._rows)
            lines = lines.filter(pa.array(~flags))
        if not len(lines):
            return
        self._spell(lines)
        if self._usual is None:
            self._begin([parts for line in lines[:_FEW].to_pylist() if (parts := self._parts(line))])
        if self._usual is None:
            return
        found = pc.extract_regex(lines, self._pattern(self._usual))
        for row in np.flatnonzero(found.is_null().to_numpy(zero_copy_only=False)).tolist():
            self._look(row, self._parts(lines[row].as_py()))
        for place, column in zip(self._captured, found.flatten(), strict=True):
            self._note(place, column)
        self._rows += len(lines)

    def _begin(self, some: Sequence[_Parts]) -> None:
        if some:
            self._usual = Counter(parts.between for parts in some).most_common(1)[0][0]
            names = self._names(self._usual)
            self._captured = [place for place, name in enumerate(names) if self._is_looked_at(name)]
            self._written = {names[place]: self._new(names[place]) for place in self._captured}
            self._named = names

    def _look(self, row: int, parts: _Parts | None) -> None:
        """A line that is not of the usual form, or has values that the pattern does not know."""
        if parts is None or parts.between != self._usual:
            if parts is None or len(names := self._names(parts.between)) <= len({*names} & {*self._named}):
                self._add(ROW, np.array([self._rows + row]))
            return  # a field that no other row has is named by itself
        for place in self._captured:
            self._written[self._named[place]].one(self._rows + row, parts.values[place])

    def _note(self, place: int, column: pa.Array) -> None:
        self._written[self._named[place]].many(self._rows, column)

    def _pattern(self, usual: tuple[str, ...]) -> str:
        values = [f"(?P<v{i}>{self.value})" if i in self._captured else f"(?:{self.value})" for i in range(len(usual) - 1)]
        texts = [re.escape(text) for text in usual]
        return "(?s)^" + "".join(text + value for text, value in zip(texts, [*values, ""], strict=True)) + "$"

    def _add(self, name: str, rows: Ints) -> None:
        if len(rows):
            self._odd.setdefault(name, []).append(rows)

    def odd(self) -> dict[str, Ints]:
        for name, each in self._written.items():
            self._add(name, each.odd())
        return {name: np.unique(np.concatenate(rows)) for name, rows in self._odd.items()}

    def exact(self) -> dict[str, Ints]:
        """A number for each way in which the values of some fields are written, row by row."""
        return {name: each.codes(self._rows) for name, each in self._written.items() if isinstance(each, _Exact)}

    def _spell(self, lines: pa.Array) -> None:
        """Look at how the letters of lines are written."""

    def _parts(self, line: bytes) -> _Parts | None:
        raise NotImplementedError

    def _names(self, usual: tuple[str, ...]) -> list[str]:
        raise NotImplementedError

    def _is_looked_at(self, name: str) -> bool:
        return name in self._alike

    def _new(self, name: str) -> _Written:
        return _Written()


class _Jsonl(_Form):
    """JSON lines: the order and the spelling of keys, and all blanks, are those of most lines; so are escapes without need."""

    quotes, value = False, _VALUE

    def __init__(self, alike: Collection[str], exact: Collection[str] = ()) -> None:
        super().__init__(alike)
        self._exact = exact
        self._escaped: list[int] = []

    def _is_looked_at(self, name: str) -> bool:
        return name in self._alike or name in self._exact

    def _new(self, name: str) -> _Written:
        return _Written() if name in self._alike else _Exact()

    def _spell(self, lines: pa.Array) -> None:
        for row in np.flatnonzero(pc.match_substring(lines, "\\").to_numpy(zero_copy_only=False)).tolist():
            if any(map(_is_needless, _ESCAPE.findall(lines[row].as_py()))):
                self._escaped.append(self._rows + row)

    def odd(self) -> dict[str, Ints]:
        found = super().odd()
        if 2 * len(self._escaped) < self._rows:
            known = [rows for name, rows in found.items() if name != ROW]  # they name the field
            found[ROW] = np.union1d(found.get(ROW, []), np.setdiff1d(self._escaped, np.concatenate([*known, []]))).astype(int)
        return {name: rows for name, rows in found.items() if len(rows)}

    def _parts(self, line: bytes) -> _Parts | None:
        with suppress(ValueError, RecursionError, IndexError):
            return _parts_of(line.decode())
        return None

    def _names(self, usual: tuple[str, ...]) -> list[str]:
        return [json.loads(text[text.index('"') : text.rindex('"') + 1]) for text in usual[:-1]]


def _is_needless(escape: bytes) -> bool:
    r"""Whether a letter could be written as it is.

    >>> [_is_needless(escape) for escape in (b"u0041", b"/", b"n", b"u0022", b"u001f")]
    [True, True, False, False, False]
    """
    return escape == b"/" or (len(escape) == 5 and int(escape[1:], 16) >= 32 and escape.lower() not in (b"u0022", b"u005c"))


def _parts_of(line: str) -> _Parts:
    r"""
    >>> _parts_of('{"a": [1, 2],"b" :null}\n')
    _Parts(between=('{"a": ', ',"b" :', '}\n'), values=['[1, 2]', 'null'])
    """
    read = json.JSONDecoder().raw_decode
    between, values = list[str](), list[str]()
    start, at = 0, _after(line, _after(line, 0, ""), "{")
    while line[at] != "}":
        if values:
            at = _after(line, at, ",")
        if line[at] != '"':
            raise ValueError("no name")
        at = _after(line, _after(line, scanstring(line, at + 1)[1], ""), ":")
        between.append(line[start:at])
        start = read(line, at)[1]
        values.append(line[at:start])
        at = _after(line, start, "")
    return _Parts((*between, line[start:]), values)


def _after(line: str, at: int, mark: str) -> int:
    """The place after a mark and the blanks behind it."""
    if not line.startswith(mark, at):
        raise ValueError("no object")
    blanks = _BLANK.match(line, at + len(mark))
    assert blanks is not None
    return blanks.end()


class _Csv(_Form):
    """CSV: separators and line ends are those of most lines; the first line names the fields."""

    quotes, value = True, _CELL
    _header: list[str] | None = None

    def take(self, lines: pa.Array) -> None:
        if self._header is None:
            text = lines[0].as_py().decode("utf-8", "replace").removeprefix("\ufeff")
            self._header = [_unquoted(cell) for cell in re.findall(rf"(?:\A|,)({_CELL})", text)]
            lines = lines[1:]
        super().take(lines)

    def _parts(self, line: bytes) -> _Parts | None:
        text = line.decode("utf-8", "replace")
        end = "\r\n" if text.endswith("\r\n") else "\n"
        cells = re.findall(rf"(?:\A|,)({_CELL})(?=,|\Z)", text.removesuffix(end))
        if len(cells) != len(self._header or ()) or ",".join(cells) + end != text:
            return None
        return _Parts(("", *[","] * (len(cells) - 1), end), cells)

    def _names(self, usual: tuple[str, ...]) -> list[str]:
        return self._header or []

    def _is_looked_at(self, name: str) -> bool:
        return True

    def _new(self, name: str) -> _Written:
        return _Written() if name in self._alike else _Quoted()


class _Written:
    """How the values of a field are written, and where."""

    def __init__(self) -> None:
        self._codes: list[Ints] = []
        self._rows: list[Ints] = []
        self._known: dict[str, int] = {}

    def many(self, first: int, column: pa.Array) -> None:
        """Values of rows from `first` on; null where they are not known yet."""
        coded = column.dictionary_encode()
        numbers = [self._number(text.decode("utf-8", "replace")) for text in coded.dictionary.to_pylist()]
        codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(codes >= 0)
        self._codes.append(np.array([*numbers, -1], np.int64)[codes[rows]])
        self._rows.append(rows + first)

    def one(self, row: int, text: str) -> None:
        self._codes.append(np.array([self._number(text)]))
        self._rows.append(np.array([row]))

    def _number(self, text: str) -> int:
        return self._known.setdefault(text, len(self._known))

    def odd(self) -> Ints:
        """The rows whose value is not written as most others of the same meaning."""
        alike: dict[Any, list[int]] = {}
        for text, code in self._known.items():
            if not _LARGE.search(text):  # the same number is written with an exponent among broken numbers
                alike.setdefault(meaning(text), []).append(code)
        several = [codes for codes in alike.values() if len(codes) > 1]
        if not several:
            return np.empty(0, np.int64)
        all_codes, rows = np.concatenate(self._codes), np.concatenate(self._rows)
        count = np.bincount(all_codes, minlength=len(self._known))
        rare = [each for codes in several for each in codes if each != max(codes, key=lambda one: (count[one], -one))]
        return np.sort(rows[np.isin(all_codes, rare)])


class _Exact(_Written):
    """The values of a field that may be written in any way, and in which."""

    def odd(self) -> Ints:
        """None: whatever was published may be written as it came."""
        return np.empty(0, np.int64)

    def codes(self, rows: int) -> Ints:
        """By row; -1 where it could not be told."""
        found = np.full(rows, -1)
        for row, code in zip(self._rows, self._codes, strict=True):
            found[row] = code
        return found


class _Quoted(_Written):
    """The cells of a field that may hold anything: odd are quotes that most cells do without, and none where most have some."""

    def __init__(self) -> None:
        super().__init__()
        self._with: list[Ints] = []
        self._without: list[Ints] = []

    def many(self, first: int, column: pa.Array) -> None:
        numbers = pc.match_substring_regex(column, r"^[-+0-9.eE]*$")
        quoted = pc.match_substring_regex(column, r'^"[^",\r\n]+"$').fill_null(False)
        needing = pc.starts_with(column, '"').fill_null(True)
        bare = pc.and_(pc.invert(needing), pc.invert(numbers).fill_null(False))
        for flags, found in ((quoted, self._with), (bare, self._without)):
            found.append(np.flatnonzero(flags.to_numpy(zero_copy_only=False)) + first)

    def one(self, row: int, text: str) -> None:
        """A line that the pattern does not know has no such cell that it would not have found."""

    def odd(self) -> Ints:
        some, others = (np.concatenate([*rows, np.empty(0, np.int64)]) for rows in (self._with, self._without))
        return min(some, others, key=len)


def _unquoted(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if cell.startswith('"') else cell


def meaning(text: str) -> Any:
    """What a value says, however it is written.

    >>> [meaning(text) for text in ("[30.000, 4e1]", '"[30, 40]"', '{"hi": 40, "lo": 30}', '"30, 40"')]
    ['[30, 40]', '[30, 40]', '[30, 40]', '[30, 40]']
    >>> meaning('""'), meaning("null"), meaning('"Oslo "'), meaning("Oslo")
    (None, None, 'Oslo', 'Oslo')
    >>> meaning('["1970-01-01T00:00:00Z", "1970-01-01T00:01:00Z"]'), meaning("[1970-01-01T01:00+01:00, 1970-01-01 00:01:00.0]")
    ('[0, 60]', '[0, 60]')
    >>> [meaning(text) for text in ('["Oslo"]', '["Oslo", null]', '"Oslo or missing"', "Oslo|Rome or missing")]
    ['Oslo', '["Oslo", null]', '["Oslo", null]', '["Oslo", "Rome", null]']
    """
    value = _value(text)
    with suppress(ValueError, ArithmeticError):
        return canonical(_normal(value)) or None
    return text


def _value(text: str) -> Any:
    """What a value says: a text, a number, or a list; null at its end says "or missing"."""
    value: Any = text
    with suppress(ValueError, RecursionError):
        value = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    if value is text:
        value = _unquoted(text)
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            value = json.loads(value, parse_float=Decimal, parse_int=Decimal)
    if isinstance(value, str) and ", " in value:
        ends = value.removeprefix("[").removesuffix("]").split(", ")
        with suppress(ValueError):
            value = [_end(end) for end in ends]
    if isinstance(value, str) and value.endswith(WORDS):
        sure = value.removesuffix(WORDS)
        return [*(_value(sure) if sure.startswith("[") else sure.split(BAR)), None]
    if isinstance(value, str) and BAR in value:
        return value.split(BAR)
    if isinstance(value, dict) and value.keys() - {"or_missing"} in ({"lo", "hi"}, {"value"}):
        doubt = [None] if value.get("or_missing") else []
        value = [*(each for name, each in sorted(value.items(), reverse=True) if name != "or_missing"), *doubt]
    if isinstance(value, list) and len(value) == 2:  # an interval, of times too
        with suppress(ValueError):
            value = [_end(end) if isinstance(end, str) and ":" in end else end for end in value]
    return value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str) else value


def _end(text: str) -> Decimal:
    """A number, or a time in seconds since 1970."""
    with suppress(ArithmeticError):
        return Decimal(text)
    moment = datetime.fromisoformat(text)
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    return Decimal(since // timedelta(microseconds=1)) / 1_000_000


def _normal(value: Any) -> Any:
    """Numbers without an exponent and without zeros at the end; very large ones as they are written."""
    if isinstance(value, Decimal):
        if value.adjusted() > 30:
            return str(value)
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, list):
        return [_normal(each) for each in value]
    return {name: _normal(each) for name, each in value.items()} if isinstance(value, dict) else value
