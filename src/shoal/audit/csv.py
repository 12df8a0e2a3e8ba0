"""CSV, every field as text."""

from __future__ import annotations

import re
from bisect import bisect_left
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from shoal.audit.block import BYTES, Block, named, opened
from shoal.errors import InputError

_LETTERS = "latin-1"  # each byte is a letter


def csv(path: str, wanted: set[str] | None) -> Iterator[Block]:
    """The blocks of a CSV file; a record with too many or too few fields, or that is not UTF-8, is malformed."""
    malformed: list[int] = []

    def skip(row: Any) -> str:
        malformed.append(row.number - 2)
        return "skip"

    encoding = _encoding(path)  # Arrow tells of a malformed record only if it can read it
    names = _header(path, encoding)
    if not names:
        return
    kinds = {name: pa.dictionary(pa.int32(), pa.binary()) for name in names}
    with opened(path) as file:
        reader = pa.csv.open_csv(
            file,
            read_options=pa.csv.ReadOptions(block_size=BYTES, use_threads=False, encoding=encoding),
            parse_options=pa.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=skip),
            convert_options=pa.csv.ConvertOptions(column_types=kinds, strings_can_be_null=False),
        )
        start = 0
        for batch in reader:
            lines, start = _numbered(start, batch.num_rows, malformed)
            if encoding != _LETTERS:
                yield Block(named(names, batch.columns, wanted), lines, start)
                continue
            written = [name.encode(_LETTERS).decode("utf-8", "replace") for name in names]
            columns = named(written, map(_as_bytes, batch.columns), wanted)
            good = _is_utf8(columns.values(), batch.num_rows)
            columns = {name: column.cast(pa.binary()).filter(pa.array(good)) for name, column in columns.items()}
            yield Block(columns, lines[good], start)
        if malformed and malformed[-1] >= start:
            yield Block({}, np.empty(0, np.int64), malformed[-1] + 1)


def _encoding(path: str) -> str:
    decoder = getincrementaldecoder("utf-8")()
    with opened(path) as file:
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


def _header(path: str, encoding: str) -> list[str]:
    """The names of a CSV file's columns; none where it is a header and nothing else, without a line end."""
    with opened(path) as file:
        try:
            reader = pa.csv.open_csv(
                file,
                read_options=pa.csv.ReadOptions(use_threads=False, encoding=encoding),
                parse_options=pa.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=lambda row: "skip"),
                convert_options=pa.csv.ConvertOptions(strings_can_be_null=False),
            )
        except pa.ArrowInvalid:
            pass
        else:
            return list(reader.schema.names)
    with opened(path) as file:
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
