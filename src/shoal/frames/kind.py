"""The kinds of frames. A library is recognized by the name of a frame's type, and imported only if it is needed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from shoal.column_types import BLURRED_INTERVAL, DOUBT, ENDS, is_blurred_label, is_struct_of
from shoal.errors import InputError
from shoal.path import head

_KNOWN = "pandas, polars, Arrow or a structured array of NumPy"


class Arrived(NamedTuple):
    """A frame as Arrow."""

    schema: pa.Schema
    batches: Iterable[pa.RecordBatch]
    names: Sequence[str]  # of all its columns, also those that were not asked for


class Kind(ABC):
    """How a kind of frame becomes Arrow, and how Arrow becomes one again."""

    streams = False  # whether the result is computed while it is read

    @abstractmethod
    def arrow(self, frame: Any, fields: Sequence[str]) -> Arrived:
        """The asked fields of a frame, without copies where the memory allows it."""

    @abstractmethod
    def from_arrow(self, table: pa.Table, frame: Any) -> Any:
        """The published table as a frame of the kind that was given."""


class _Table(Kind):
    def arrow(self, frame: Any, fields: Sequence[str]) -> Arrived:
        table = frame.select(wanted(frame.schema.names, fields))
        return Arrived(table.schema, table.to_batches(), frame.schema.names)

    def from_arrow(self, table: pa.Table, frame: Any) -> Any:
        return table


class _Batch(_Table):
    def arrow(self, frame: Any, fields: Sequence[str]) -> Arrived:
        return super().arrow(pa.Table.from_batches([frame]), fields)

    def from_arrow(self, table: pa.Table, frame: Any) -> Any:
        return pa.RecordBatch.from_arrays([one_chunk(column) for column in table.columns], schema=table.schema)


class _Exported(_Table):
    """Anything that gives an Arrow stream."""

    def arrow(self, frame: Any, fields: Sequence[str]) -> Arrived:
        return super().arrow(pa.table(frame), fields)


class _Reader(Kind):
    streams = True

    def arrow(self, frame: Any, fields: Sequence[str]) -> Arrived:
        return Arrived(frame.schema, frame, frame.schema.names)

    def from_arrow(self, table: pa.Table, frame: Any) -> Any:
        return table


class _Array(Kind):
    """A structured array; an interval becomes a field of fields, a missing value NaN, or None in a column of objects."""

    def arrow(self, frame: Any, fields: Sequence[str]) -> Arrived:
        names = wanted(frame.dtype.names, fields)
        table = pa.table({name: _column(name, frame[name]) for name in names})
        return Arrived(table.schema, table.to_batches(), frame.dtype.names)

    def from_arrow(self, table: pa.Table, frame: Any) -> Any:
        columns = {name: _values(one_chunk(table.column(name))) for name in table.schema.names}
        array = np.empty(len(table), [(name, column.dtype) for name, column in columns.items()])
        for name, column in columns.items():
            array[name] = column
        return array


def kind(frame: Any) -> Kind:
    """The kind of a frame.

    >>> type(kind(pa.table({"a": [1]}))).__name__
    '_Table'
    """
    library = type(frame).__module__.partition(".")[0]
    match frame:
        case pa.Table():
            return _Table()
        case pa.RecordBatch():
            return _Batch()
        case pa.RecordBatchReader():
            return _Reader()
        case np.ndarray() if frame.dtype.names and frame.ndim == 1:
            return _Array()
    if library == "pandas" and type(frame).__name__ == "DataFrame":
        from shoal.frames.pandas import Pandas

        return Pandas()
    if library == "polars" and type(frame).__name__ in ("DataFrame", "LazyFrame"):
        from shoal.frames.polars import Polars

        return Polars()
    if hasattr(frame, "__arrow_c_stream__"):
        return _Exported()
    raise InputError(f"{type(frame).__name__} is no kind of frame that is known; give one of {_KNOWN}")


def wanted(names: Iterable[Any], fields: Sequence[str]) -> list[str]:
    """Those of the names that are fields, or hold one."""
    asked = {*fields, *map(head, fields)}
    found = [name for name in names if name in asked]
    for name in found:
        if found.count(name) > 1:
            raise InputError(f"'{name}': {found.count(name)} columns have this name; keep one")
    return found


def _column(name: str, values: Any) -> pa.Array:
    try:
        return pa.array(values.tolist() if values.dtype.kind in "OSU" else np.ascontiguousarray(values), from_pandas=True)
    except pa.ArrowException:
        raise InputError(f"'{name}': its values are of several types (values withheld); give it one") from None


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _values(array: pa.Array) -> Any:
    if any(is_struct_of(array.type, names) for names in (ENDS, BLURRED_INTERVAL)) or is_blurred_label(array.type):
        fields = zip(array.type, array.flatten(), strict=True)
        parts = {field.name: _values(part.fill_null(False) if field.name == DOUBT else part) for field, part in fields}
        values = np.empty(len(array), [(name, part.dtype) for name, part in parts.items()])
        for name, part in parts.items():
            values[name] = part
        return values
    if pa.types.is_dictionary(array.type):
        array = array.dictionary.take(array.indices)
    return array.to_numpy(zero_copy_only=False)
