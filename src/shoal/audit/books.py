"""Workbooks, Avro and ORC files as batches of columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.orc

from shoal.errors import InputError

_ROWS = 65_536


def orc(path: str, wanted: set[str] | None) -> Iterator[pa.RecordBatch]:
    """The stripes of an ORC file."""
    file = pa.orc.ORCFile(path)
    names = [name for name in file.schema.names if wanted is None or name in wanted]
    for stripe in range(file.nstripes):
        yield file.read_stripe(stripe, columns=names)


def avro(path: str) -> Iterator[pa.RecordBatch]:
    """The records of an Avro file."""
    try:
        from fastavro import reader
    except ModuleNotFoundError:
        raise InputError(f"{path}: needs fastavro, which is not installed; pip install 'shoal-stream[avro]'") from None
    with open(path, "rb") as file:
        try:
            records = reader(file)
            names = [field["name"] for field in records.writer_schema["fields"]]
            while rows := list(islice(records, _ROWS)):
                columns = [_array([row.get(name) for row in rows]) for name in names]
                yield pa.RecordBatch.from_arrays(columns, names=names)
        except (ValueError, EOFError, KeyError, IndexError):
            raise OSError from None


def sheet(path: str, name: str, header: tuple[str, ...]) -> pa.RecordBatch:
    """A sheet of a workbook, the first if none is named; rows without any value are none."""
    try:
        import python_calamine
    except ModuleNotFoundError:
        raise InputError(f"{path}: needs python_calamine, which is not installed; pip install 'shoal-stream[excel]'") from None
    try:
        book = python_calamine.load_workbook(path)
        cells = book.get_sheet_by_name(name or book.sheet_names[0]).to_python()
    except FileNotFoundError:
        raise
    except (python_calamine.CalamineError, OSError, IndexError):
        raise OSError from None
    rows = [row for row in cells if set(row) != {""} and row]
    first = min((row.index(next(cell for cell in row if cell != "")) for row in rows), default=0)
    rows = [row[first:] for row in rows]
    names = list(header) if header else [_label(cell) for cell in (rows[0] if rows else [])]
    while names and not names[-1]:
        names.pop()
    body = rows if header else rows[1:]
    columns = [_array([_value(row[i] if i < len(row) else "") for row in body]) for i in range(len(names))]
    return pa.RecordBatch.from_arrays(columns, names=names)


def _label(cell: Any) -> str:
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _value(cell: Any) -> Any:
    if cell == "":
        return None
    if isinstance(cell, datetime):
        return cell.date() if cell.time() == datetime.min.time() else cell
    if isinstance(cell, bool | str | date):
        return cell
    return float(cell) if isinstance(cell, int | float) else str(cell)


def _array(values: list[Any]) -> pa.Array:
    """Values of one type in that type, others as text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} or len(kinds) == 1:
        with suppress(pa.ArrowException, OverflowError):
            return pa.array(values)
    if kinds == {date, datetime}:
        return pa.array([datetime(v.year, v.month, v.day) if type(v) is date else v for v in values], pa.timestamp("us"))
    return pa.array([None if value is None else _label(value) for value in values], pa.string())
