"""How a file is written, found out from its beginning by fixed rules.

Encoding: a mark says UTF-8 or UTF-16; else what is UTF-8, but for one in twenty of the letters that are not ASCII, is that;
else Windows-1252, or Latin-1 if it holds bytes that Windows-1252 does not have. Separator: the one of comma, semicolon, tab
and bar with which most of the first records have as many fields as the first one, two at least; of several the one with the
most fields; if none of these divides them, caret or tilde. Quote: `'` if values are enclosed in it and none in `"`. Header: the
first record is one, unless half of it or more looks like values. Decimal mark: a comma if some column is a column of numbers
with it and none with a point; thousands: a mark before groups of three digits.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from shoal.date_text import forms_of
from shoal.dialect import COMMA, QUOTE, TAB, Dialect
from shoal.errors import InputError
from shoal.formats.kind import is_standard, kind, suffix
from shoal.formats.reading.excel import sheets
from shoal.formats.reading.plausible import check_csv, check_text
from shoal.formats.reading.reader import UTF8, Source
from shoal.number_text import PLAIN, Marks

BYTES = 1 << 20
LATIN1 = "latin-1"
RECORDS = 200
SEPARATORS = (COMMA, ";", TAB, "|")
SELDOM = ("^", "~")  # separators that count if none of the others divides the lines
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UTF32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_CALLED = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", "^": "carets", "~": "tildes"}
_CONTROLS = re.compile("[\u0080-\u0084\u0086-\u009f]")
_SPACED_QUOTE = re.compile(r'(?m)^"[^"\n]*"(?:[,;|\t] +"[^"\n]*")+ *\r?$')
_ESCAPED_QUOTE = re.compile(r'(?m)(?:^|[,;|\t])"(?:[^"\\\n]|\\.)*?\\"(?!\s*(?:[,;|\t]|$))')
_THOUSANDS = {".": "points", ",": "commas", " ": "spaces", "'": "apostrophes", "\u2019": "apostrophes"}
_BETWEEN = (",", ".", " ", "'", "\u2019")
_DIGIT = re.compile(r"\d")
_EVEN = 0.9  # of the lines have as many fields
_NO_ASCII, _WRONG = re.compile(r"[^\x00-\x7f]+"), re.compile(r"[\udc80-\udcff]+")
_STRAY = 0.05  # of the letters that are not ASCII may be no UTF-8: lines that were added by another program
_LOOKED_AT = 1 << 16
_ESCAPES = 'quotes with a backslash before them: write them twice instead, as in ""'
_SAID = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)
_GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:([.,'\u2019 \u00a0\u202f])[0-9]{3})+")
_VALUE = re.compile(r"[+-]?[0-9][0-9.,'\u2019 ]*%?|[^@\s]+@[^@\s]+\.[^@\s.]+|[0-9]{4}-[0-9]{2}-[0-9]{2}.*")


class Detected(NamedTuple):
    """How a file is written."""

    dialect: Dialect
    marks: Marks = PLAIN
    has_header: bool = True
    doubt: str = ""  # what may be read in another way than it is meant

    def settings(self, path: str) -> dict[str, object]:
        """What a policy has to say, since it is not as usual."""
        usual = Dialect().named(path)
        found: dict[str, object] = {}
        if self.dialect.separator not in ("", usual.separator):
            found["separator"] = self.dialect.separator
        if self.dialect.quote != QUOTE:
            found["quote"] = self.dialect.quote or "none"
        if self.dialect.encoding != UTF8:
            found["encoding"] = self.dialect.encoding
        if self.marks.decimal != PLAIN.decimal:
            found["decimal"] = self.marks.decimal
        if self.marks.thousands:
            found["thousands"] = self.marks.thousands
        if self.dialect.sheet:
            found["sheet"] = self.dialect.sheet
        if self.dialect.header:
            found["header"] = list(self.dialect.header)
        return found

    def __str__(self) -> str:
        """One line in plain words."""
        if not self.dialect.separator:
            return self.dialect.encoding.upper() if self.dialect.encoding != UTF8 else self.doubt
        parts = [_CALLED.get(self.dialect.separator, "other marks") + " between fields", _encoding_name(self.dialect.encoding)]
        if self.dialect.quote == "'":
            parts.append("values in '…'")
        if self.marks.decimal == ",":
            parts.append("decimal commas")
        if self.marks.thousands:
            parts.append(f"{_THOUSANDS[self.marks.thousands]} between thousands")
        parts.append("a header" if self.has_header else "no header")
        return ", ".join([*parts, *filter(None, [self.doubt])])


def _encoding_name(encoding: str) -> str:
    return {"utf-8": "UTF-8", "utf-16": "UTF-16", "cp1252": "Windows-1252", "latin-1": "Latin-1"}[encoding]


def detected(path: str, separator: str | None = None, encoding: str | None = None, sheet: str = "") -> Detected:
    """How the file at a path is written. Standard input is JSON lines in UTF-8; formats with a schema say all themselves.

    A separator, an encoding and a sheet that are given are taken as they are, and the rest is found out.
    """
    if not is_standard(path) and kind(path) == "excel":
        return Detected(Dialect(sheet=sheet), doubt="" if sheet else _first_sheet(path))
    if sheet:
        raise InputError(f"{path}: is no workbook, and has no sheets; leave out --sheet")
    if is_standard(path) or kind(path) not in ("csv", "jsonl"):
        return Detected(Dialect())
    source = Source(path)
    try:
        raw = _beginning(source)
    finally:
        source.close()
    encoding = encoding or _encoding(path, raw)
    if kind(path) == "jsonl":
        return Detected(Dialect(encoding=encoding))
    text = raw.decode(encoding, "ignore" if encoding == UTF8 else "replace").removeprefix("\ufeff")
    check_csv(path, text[:BYTES].encode(errors="replace"))
    if separator:
        return of_text(text, encoding, separator)
    above = lines_above(text)
    if above:
        lines = "line is no header: those below have" if above == 1 else f"{above:,} lines are no header: those below have"
        remedy = "remove what stands above the header, or the marks at the ends of the lines"
        if _ESCAPED_QUOTE.search(text[:_LOOKED_AT]):
            remedy = f"{_ESCAPES}; or {remedy}"
        raise InputError(f"{path}: its first {lines} more fields; {remedy}")
    return of_text(text, encoding, TAB if suffix(path).startswith(".tsv") else "")


def _first_sheet(path: str) -> str:
    count = sheets(path)
    return f"the first of {count:,} sheets (infer --sheet, or input.sheet, names another)" if count > 1 else ""


def _beginning(source: Source) -> bytes:
    parts, size = [], 0
    while size < BYTES and (piece := source.read(BYTES - size)):
        parts.append(piece)
        size += len(piece)
    return b"".join(parts)


def _encoding(path: str, raw: bytes) -> str:
    if raw.startswith(_UTF32):
        raise InputError(f"{path}: is UTF-32; save it as UTF-8")
    if raw.startswith(_UTF16):
        return "utf-16"
    check_text(path, raw)
    text = codecs.getincrementaldecoder(UTF8)("surrogateescape").decode(raw)
    others = sum(map(len, _NO_ASCII.findall(text)))
    wrong = sum(map(len, _WRONG.findall(text)))
    if wrong <= others * _STRAY:
        return UTF8
    high = sum(raw.count(byte) for byte in range(128, 256))
    letters = sum(raw.count(byte) for byte in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    if high > letters:
        raise InputError(
            f"{path}: is neither UTF-8, nor UTF-16 with a mark, nor Windows-1252 or Latin-1; convert it: iconv -f … -t UTF-8"
        )
    return LATIN1 if any(byte in raw for byte in b"\x81\x8d\x8f\x90\x9d") else "cp1252"


def of_text(text: str, encoding: str = UTF8, separator: str = "") -> Detected:
    """How a text is written; the separator is given if the name of the file says it.

    >>> print(of_text("name;size\\nAnn;1,75\\nBo;1,8\\n"))
    semicolons between fields, UTF-8, decimal commas, a header
    """
    said = _SAID.match(text)
    if said:
        text, separator = text[said.end() :], separator or said[1]
    quote = _quote(text)
    if not separator:
        separator = _separator(text, quote)
    records = _records(text, separator, quote)
    width = len(records[0]) if records else 0
    whole = [record for record in records if len(record) == width]
    has_header = not whole or not _is_record(whole[0], whole[1:])
    columns = [[cell for cell in map(str.strip, cells) if cell] for cells in zip(*whole[has_header:], strict=True)]
    marks, doubt = _marks(columns)
    doubt = doubt or _oddity(text[:_LOOKED_AT], records, encoding)
    header = () if has_header else tuple(f"column_{i}" for i in range(1, width + 1))
    return Detected(Dialect(separator, quote, encoding, header), marks, has_header, doubt)


def _oddity(text: str, records: Sequence[Sequence[str]], encoding: str) -> str:
    """What makes it likely that a file is written in a way that cannot be declared; empty if nothing does.

    >>> _oddity('"a", "b"\\n"1", "2"\\n', [["a", ' "b"'], ["1", ' "2"']], "utf-8")
    'spaces before quotes, which become part of the values (remove them)'
    """
    if encoding == LATIN1 and _CONTROLS.search(text):
        return "control characters among the letters: it may be in another encoding, such as CP850 (iconv -f … -t UTF-8)"
    if _SPACED_QUOTE.search(text):
        return "spaces before quotes, which become part of the values (remove them)"
    if _ESCAPED_QUOTE.search(text):
        return _ESCAPES
    if len(records) > 1 and {len(record) for record in records} == {1}:
        for mark in (*SEPARATORS, ":"):
            if len({record[0].count(mark) for record in records}) == 1 and mark in records[0][0]:
                remedy = f'set input.separator: "{mark}" if it stands between fields'
                remedy = "whole lines stand in quotes (remove those)" if mark in SEPARATORS else remedy
                return f"one column alone: {remedy}"
    return ""


def _quote(text: str) -> str:
    def enclosed(mark: str) -> int:
        return len(re.findall(rf"(?m)(?:^|[,;\t|]){mark}[^{mark}\n]*{mark}(?=$|[,;\t|\r])", text[: 1 << 16]))

    return "'" if enclosed("'") > 1 and not enclosed('"') else QUOTE


def _records(text: str, separator: str, quote: str) -> list[list[str]]:
    """The first records, without blank ones and without the last, which may be cut short."""
    found: list[list[str]] = []
    try:
        for record in csv.reader(io.StringIO(text, newline=""), delimiter=separator, quotechar=quote):
            if record:
                found.append(record)
            if len(found) > RECORDS:
                break
    except csv.Error:
        pass
    is_cut = len(found) > RECORDS or (len(found) > 1 and len(text) >= BYTES // 4)
    return found[:-1] if is_cut else found


def _separator(text: str, quote: str) -> str:
    """The separator with which most records have as many fields as the first."""
    best, choice = (0.0, 1), COMMA
    for separator in SEPARATORS:
        widths = [len(record) for record in _records(text, separator, quote)]
        if widths and widths[0] > 1:
            score = (widths.count(widths[0]) / len(widths), widths[0])
            if score > best:
                best, choice = score, separator
    if best[1] == 1:
        for separator in SELDOM:
            found = {len(record) for record in _records(text, separator, quote)}
            if len(found) == 1 and found != {1}:
                return separator
    return choice


def lines_above(text: str) -> int:
    """How many lines stand above the header: titles and the like, with fewer fields than almost all lines below.

    >>> lines_above("Our patients\\n\\nname;size\\nAnn;1\\nBo;2\\nCy;3\\n"), lines_above("name;size\\nAnn;1\\n")
    (2, 0)
    """
    if _SAID.match(text):
        return 0
    quote = _quote(text)
    found: list[tuple[int, str]] = []
    for separator in SEPARATORS:
        widths = [len(record) for record in _records(text, separator, quote)]
        width = max(set(widths), key=widths.count, default=0)
        first = next((place for place, each in enumerate(widths) if each >= width), 0)
        if width < 2 or widths[first:].count(width) < _EVEN * len(widths[first:]):
            continue
        if not first:
            return 0
        if first < len(widths) - 1:
            found.append((width, separator))
    if not found:
        return 0
    width, separator = max(found)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, quotechar=quote)
    above = 0
    for record in reader:
        if len(record) >= width:
            break
        above = reader.line_num
    return above


def _is_record(first: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """Whether the first record holds values, not names: half of it or more looks like values, or comes again below."""
    below: list[set[str]] = [set(cells) for cells in zip(*others, strict=True)] or [set() for _ in first]
    odd = sum(_is_value(cell, cells) for cell, cells in zip(first, below, strict=True))
    return odd >= min(2, len(first)) and 2 * odd >= len(first) > 0


def _is_value(cell: str, below: set[str]) -> bool:
    cell = cell.strip()
    return bool(cell) and (cell in below or bool(_VALUE.fullmatch(cell)) or bool(forms_of(cell)))


def _marks(columns: Sequence[Sequence[str]]) -> tuple[Marks, str]:
    """The marks of the numbers in columns, and what can be read in two ways."""
    votes = {mark: 0 for mark in (".", ",")}
    thousands: dict[str, set[str]] = {".": set(), ",": set()}
    unsure = False
    for cells in columns:
        some = list(filter(_DIGIT.search, cells))
        if 2 * len(some) < len(cells) or not some:
            continue
        fits = {decimal: _fitting(some, decimal) for decimal in votes}
        sure = {decimal: fits[decimal] is not None and any(_is_sure(cell, decimal) for cell in some) for decimal in votes}
        for decimal in votes:
            if sure[decimal] and not sure["," if decimal == "." else "."]:
                votes[decimal] += 1
                thousands[decimal] |= fits[decimal] or set()
        if not any(sure.values()) and any(match and match[1] == "," for match in map(_GROUPED.fullmatch, some)):
            unsure = True
        elif not any(sure.values()):
            found = {match[1] for match in map(_GROUPED.fullmatch, some) if match}
            if len(found) == 1 and found <= {" ", "'", "\u00a0", "\u202f", "\u2019"} and fits["."] is not None:
                thousands["."] |= found
                thousands[","] |= found
    decimal = "," if votes[","] and not votes["."] else "."
    mark = _mark(thousands[decimal])
    doubt = ""
    if unsure and decimal == "." and mark != ",":
        doubt = "numbers like 1,234 that can be read as 1.234 and as 1234 (set input.decimal or input.thousands)"
    elif decimal == "," and not mark and _has_points(columns):
        mark = "."
    return Marks(decimal, mark), doubt


def _fitting(cells: Sequence[str], decimal: str) -> set[str] | None:
    """The marks between thousands that the numbers have under a decimal mark; None if most are no numbers under it."""
    found: set[str] = set()
    wrong = 0
    for cell in cells:
        if cell.isdigit() or Marks(decimal).plain(cell):
            continue
        mark = next((mark for mark in _BETWEEN if mark != decimal and Marks(decimal, mark).plain(cell)), None)
        if mark:
            found.add(mark)
        else:
            wrong += 1
            if 10 * wrong > len(cells):
                return None
    return found


def _is_sure(cell: str, decimal: str) -> bool:
    """Whether a number is surely written with this decimal mark: it has the mark, and not before three digits alone."""
    if decimal not in cell or not (
        Marks(decimal).plain(cell) or any(Marks(decimal, m).plain(cell) for m in ",.' \u2019" if m != decimal)
    ):
        return False
    return not _GROUPED.fullmatch(cell)


def _has_points(columns: Sequence[Sequence[str]]) -> bool:
    """Whether some column has numbers with a point before three digits: with decimal commas, points stand between thousands."""
    return any(
        len(cells) > 0 and all(Marks(",", ".").plain(cell) for cell in cells) and any("." in cell for cell in cells)
        for cells in columns
    )


def _mark(found: set[str]) -> str:
    spaces = {" " if mark in "\u00a0\u202f" else mark for mark in found}
    return next(iter(spaces)) if len(spaces) == 1 else ""


def differs(path: str, said: Dialect) -> str:
    """How the beginning of a CSV file differs from what is said of it, with the setting of a policy; empty if it does not."""
    if is_standard(path) or kind(path) != "csv" or not os.path.isfile(path):
        return ""
    found, said = detected(path), said.named(path)
    is_ascii_only = found.dialect.encoding == UTF8 and said.encoding in ("cp1252", "latin-1")
    encodings = {found.dialect.encoding, said.encoding}
    same = len(encodings) == 1 or is_ascii_only or encodings == {"cp1252", "latin-1"}
    if found.dialect.separator == said.separator and same:
        return ""
    settings = {key: value for key, value in found.settings(path).items() if key != "header"}
    written = ", ".join(f"{key}: {_written(str(value))}" for key, value in settings.items())
    return f"input: the file seems to have {found}; write input: {{{written}}}"


def _written(value: str) -> str:
    return f'"{value}"'.replace("\t", "\\t") if not value[:1].isalnum() else value
