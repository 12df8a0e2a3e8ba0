"""A CSV file without a header: its first record would pass for names, and be written down."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.errors import InputError
from shoal.infer.column import Column
from shoal.infer.forms import form


def refuse_record(path: str, columns: Sequence[Column]) -> None:
    """Raise if half of the names or more are values of their own columns, or look like data."""
    if len(columns) == 1 and any(mark in columns[0].name for mark in ";\t|"):
        raise InputError(f"{path}: has one column, whose name holds ; | or a tab; separate the columns by commas")
    odd = sum(_is_value(column) for column in columns)
    if odd >= min(2, len(columns)) and 2 * odd >= len(columns) > 0:
        raise InputError(
            f"{path}: its first line looks like a record ({odd} of {len(columns)} entries look like values); "
            "put a line with the names of the columns before it"
        )


def _is_value(column: Column) -> bool:
    name = column.name.strip()
    return name in column.values or form([name]) not in (None, "free text")
