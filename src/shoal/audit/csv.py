"""CSV, every field as text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from shoal.audit.block import BYTES, Block, named, opened
from shoal.errors import InputError


def csv(path: str, wanted: set[str] | None) -> Iterator[Block]:
    """The blocks of a CSV file; a record with too many or too few fields, or that is not UTF-8, is malformed."""
    malformed: list[int] = []

    def skip(row: Any) -> str:
        malformed.append(row.number - 2)
        return "skip"

    with opened(path) as file:
        names = _header(file, path)
    kinds = {name: pa.dictionary(pa.int32(), pa.binary()) for name in names}
    with opened(path) as file:
        reader = pa.csv.open_csv(
            file,
            read_options=pa.csv.ReadOptions(block_size=BYTES, use_threads=False),
            parse_options=pa.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=skip),
            convert_options=pa.csv.ConvertOptions(column_types=kinds, strings_can_be_null=False),
        )
        start = 0
        for batch in reader:
            lines, start = _numbered(start, batch.num_rows, malformed)
            good = _is_utf8(batch)
            columns = named(names, batch.columns, wanted)
            if not good.all():
                columns = {name: column.filter(pa.array(good)) for name, column in columns.items()}
            yield Block(columns, lines[good], start)


def _is_utf8(batch: pa.RecordBatch) -> NDArray[np.bool_]:
    """Which rows are UTF-8 throughout; a record that is not is malformed."""
    good = np.ones(batch.num_rows, bool)
    for column in batch.columns:
        values = column.dictionary
        with suppress(pa.ArrowInvalid):
            values.cast(pa.string())
            continue
        fine = np.array([_decodes(value) for value in values.to_pylist()], bool)
        good &= fine[column.indices.to_numpy()]
    return good


def _decodes(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _header(file: BinaryIO, path: str) -> list[str]:
    """The names of a CSV file's columns."""
    try:
        reader = pa.csv.open_csv(
            file,
            read_options=pa.csv.ReadOptions(use_threads=False),
            parse_options=pa.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=lambda row: "skip"),
            convert_options=pa.csv.ConvertOptions(strings_can_be_null=False),
        )
    except pa.ArrowInvalid:
        raise InputError(f"{path}: has no header; write the names of the fields into its first line") from None
    return list(reader.schema.names)


def _numbered(start: int, rows: int, malformed: list[int]) -> tuple[NDArray[np.int64], int]:
    """The numbers of the next rows, passing over those that are malformed; and the number after them."""
    bad = [number for number in malformed if number >= start]
    numbers = np.arange(start, start + rows + len(bad))
    numbers = numbers[~np.isin(numbers, bad)][:rows]
    end = int(numbers[-1]) + 1 if rows else start
    while end in bad:
        end += 1
    return numbers, end
