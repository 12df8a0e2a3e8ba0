"""Whether bytes can be text at all, by fixed rules: what no text has is refused, and not opened as a table."""

from __future__ import annotations

import re

from shoal.errors import InputError
from shoal.formats.reading.utf8 import is_utf8

_USUAL = bytes([*range(7, 14), 0x1A, 0x1B, *range(32, 256)])  # bytes that texts have: no other control characters
_RARE, _RARE_IN_UTF8 = 200, 25  # at most one other byte in so many
_BEGINNINGS = {
    b"PK\x03\x04": "a ZIP archive or an Excel workbook; unpack it, or name it .xlsx",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; name it .xls",
    b"PAR1": "a Parquet file; name it .parquet",
    b"ARROW1": "an Arrow or Feather file; name it .arrow",
    b"ORC": "an ORC file; name it .orc",
    b"Obj\x01": "an Avro file; name it .avro",
    b"\x1f\x8b": "gzip data; name it with .gz at the end",
    b"\x28\xb5\x2f\xfd": "Zstandard data; name it with .zst at the end",
    b"BZh": "bzip2 data; name it with .bz2 at the end",
    b"\xfd7zXZ": "xz data; name it with .xz at the end",
    b"%PDF": "a PDF; export the table as CSV",
    b"SQLite format 3": "a SQLite database; export the table as CSV",
}
_NO_CSV = (
    (re.compile(rb'\s*(\[\s*)?\{\s*["}]'), "JSON; name it .jsonl, or .json if it is one array"),
    (re.compile(rb"\s*<(!doctype|html|table|\?xml)", re.IGNORECASE), "a page or XML; export the table as CSV"),
)


def check_csv(path: str, data: bytes) -> None:
    """Raise if the beginning of a CSV file is that of another kind of text: its values would be taken for names of columns."""
    for beginning, what in _NO_CSV:
        if beginning.match(data.removeprefix(b"\xef\xbb\xbf")):
            raise InputError(f"{path}: is no CSV, but begins like {what}")


def check_text(path: str, data: bytes) -> None:
    """Raise if the beginning of a file is not text."""
    for beginning, what in _BEGINNINGS.items():
        if data.startswith(beginning) and (not data.isascii() or not data[:1].isalpha() or b"\0" in data):
            raise InputError(f"{path}: is no text, but begins like {what}")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path}: begins with the mark of UTF-16; set input.encoding: utf-16, or save it as UTF-8")
    if 4 * (data[1::2].count(0) + data[::2].count(0)) > len(data) > 1:
        raise InputError(f"{path}: seems to be UTF-16 without a mark; save it as UTF-8, or with the mark")
    odd = len(data.translate(None, _USUAL))
    if odd * (_RARE_IN_UTF8 if is_utf8(data) else _RARE) > len(data):
        raise InputError(f"{path}: is no text, since it holds bytes that no text has; is the name of the file right?")
