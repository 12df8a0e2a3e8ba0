"""DataFrames of pandas: intervals become its own intervals, labels its own categories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from shoal.errors import InputError
from shoal.frames.kind import Arrived, Kind, wanted


class Pandas(Kind):
    """The index is neither read nor published: rows are published in another order, and must not be traced back."""

    def arrow(self, frame: Any, fields: Sequence[str]) -> Arrived:
        names = wanted(frame.columns, fields)
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"'{name}': {names.count(name)} columns have this name; keep one")
        table = pa.table({name: _arrow(name, frame[name]) for name in names})
        return Arrived(table.schema, table.to_batches(), [str(name) for name in frame.columns])

    def from_arrow(self, table: pa.Table, frame: Any) -> Any:
        columns = [pair for name in table.schema.names for pair in _columns(name, table.column(name), frame)]
        return pd.DataFrame(dict(columns))


def _arrow(name: str, series: Any) -> pa.Array | pa.ChunkedArray:
    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise InputError(f"'{name}': its values are of several types (values withheld); give it one") from None


def _columns(name: str, column: pa.ChunkedArray, frame: Any) -> Iterator[tuple[str, Any]]:
    shape = [field.name for field in column.type] if pa.types.is_struct(column.type) else []
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if shape == ["lo", "hi"]:
        yield name, _intervals(array)
    elif shape == ["value", "of", "had"]:
        value, of, had = array.flatten()
        yield from _columns(name, pa.chunked_array([value]), frame)
        yield f"{name}.of", of.to_pandas()
        yield f"{name}.had", had.to_pandas()
    else:
        series = column.to_pandas()
        if name in frame.columns and not pa.types.is_dictionary(column.type):
            series = _in_given_type(series, frame[name].dtype)
        yield name, series


def _intervals(array: pa.Array) -> Any:
    """Closed at both ends; those of times lack their later end."""
    low, high = array.flatten()
    closed = "both"
    if pa.types.is_string(low.type) or pa.types.is_temporal(low.type):
        closed = "left"
        low, high = (pd.to_datetime(end.to_pandas()) for end in (low, high))
    else:
        low, high = (end.to_numpy(zero_copy_only=False) for end in (low, high))
        if array.null_count:
            low, high = (np.asarray(end, np.float64) for end in (low, high))
    return pd.arrays.IntervalArray.from_arrays(low, high, closed=closed)


def _in_given_type(series: Any, dtype: Any) -> Any:
    try:
        return series.astype(dtype)
    except (TypeError, ValueError):
        return series
