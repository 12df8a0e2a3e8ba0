"""Workbooks of Excel and LibreOffice, by calamine: the first sheet, or the one that a dialect names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from shoal.dialect import USUAL, Dialect
from shoal.errors import InputError
from shoal.extras import needs
from shoal.formats.json_values import EXACT, plain_text
from shoal.formats.reading.reader import Block, opened, slices
from shoal.formats.reading.tables import TableReader
from shoal.text import counted

_LOOKED_AT = 200  # rows below the header


class ExcelReader(TableReader):
    """Reads a sheet whose first row that is not empty names its columns. A workbook is read as a whole."""

    _format = "an Excel"

    def __init__(self, path: str, fields: Sequence[str] | None, rows: int, dialect: Dialect = USUAL) -> None:
        super().__init__(path, fields, rows)
        with opened(path):
            self._total = os.path.getsize(path)
        book = _book(path)
        try:
            names = book.sheet_names
            chosen = dialect.sheet or (names[0] if names else "")
            found = book.get_sheet_by_name(chosen).to_python(skip_empty_area=True) if chosen in names else None
        except Exception:
            raise self._broken() from None
        if found is None:
            raise InputError(f"{path}: has no such sheet; name one that it has (input.sheet)")
        self._table = _table(path, found, dialect.header)
        self._learn(self._table.schema)

    def __iter__(self) -> Iterator[Block]:
        batch = self._table.select(self._present)
        for piece in slices(batch, self._rows):
            self._done = self._total * (self._numbering.row + len(piece)) // max(len(batch), 1)
            yield self._numbering.block(piece)
        self._done = self._total

    def close(self) -> None:
        """Nothing to do: the workbook is closed after it was read."""


def _book(path: str) -> Any:
    with needs("excel", path):
        import python_calamine
    with opened(path):
        try:
            return python_calamine.load_workbook(path)
        except Exception:
            raise InputError(f"{path}: is not an Excel file, or damaged or cut short; write it again") from None


def sheets(path: str) -> int:
    """How many sheets a workbook has."""
    return len(_book(path).sheet_names)


def _table(path: str, rows: list[list[Any]], names: Sequence[str]) -> pa.RecordBatch:
    """The cells below the header; rows without any value are none."""
    rows = [row for row in rows if any(value != "" for value in row)]
    if not rows:
        raise InputError(f"{path}: its sheet is empty; the first row must name the columns")
    header = list(names) or [plain_text(_plain(value)) or "" for value in rows[0]]
    if not names:
        _check_header(path, header, rows[1 : _LOOKED_AT + 1])
    while header and not header[-1]:
        header.pop()
    for place, name in enumerate(header):
        if name in header[:place]:
            twins = f"columns {header.index(name) + 1} and {place + 1}"
            raise InputError(f"{path}: the header names {twins} alike; rename one of them")
    cells = rows if names else rows[1:]
    columns = [_column([row[i] if i < len(row) else "" for row in cells]) for i in range(len(header))]
    return pa.RecordBatch.from_arrays(columns, names=header)


def _check_header(path: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Raise if the first row is a title, or one of two rows of names: columns below it that are mostly filled have no name."""
    width = max(map(len, rows), default=0)
    filled = [i for i in range(width) if 2 * sum(i < len(row) and row[i] != "" for row in rows) > len(rows)]
    unnamed = [i for i in filled if i >= len(header) or not header[i]]
    if len(unnamed) > 1 or len(unnamed) > len(filled) / 2:
        raise InputError(
            f"{path}: its first row is no header: {counted(len(unnamed), 'column')} with values below it have no name in it; "
            "remove what stands above the header, and name each column"
        )


def _column(cells: list[Any]) -> pa.Array:
    """Cells of one type in that type, others as text; an empty cell is null.

    >>> _column([1.0, 2.0, ""]).to_pylist(), _column([1.0, "a"]).to_pylist(), _column([1.5, 2.0]).to_pylist()
    ([1, 2, None], ['1', 'a'], [1.5, 2.0])
    """
    values = [None if cell == "" else _plain(cell) for cell in cells]
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float}:
        whole = all(value is None or (float(value).is_integer() and abs(value) < EXACT) for value in values)
        return pa.array(
            [None if v is None else int(v) if whole else float(v) for v in values], pa.int64() if whole else pa.float64()
        )
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds == {date}:
        return pa.array(values, pa.date32())
    if kinds <= {date, datetime}:
        moments = [datetime(v.year, v.month, v.day) if type(v) is date else v for v in values]
        return pa.array(moments, pa.timestamp("us"))
    return pa.array([plain_text(v) if isinstance(v, str | int | float) or v is None else str(v) for v in values], pa.string())


def _plain(cell: Any) -> Any:
    """A moment at midnight is a date; times of day and spans are text."""
    if isinstance(cell, datetime):
        return cell.date() if cell == datetime(cell.year, cell.month, cell.day) else cell
    return cell if isinstance(cell, str | bool | int | float | date) else str(cell)
