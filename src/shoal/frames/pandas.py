"""DataFrames of pandas: intervals become its own intervals, labels its own categories, sets lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from shoal.column_types import BLURRED_INTERVAL, DOUBT, ENDS, IMPUTED, doubt, is_blurred_label, is_set, is_struct_of
from shoal.errors import InputError
from shoal.frames.kind import Arrived, Kind, one_chunk, wanted


class Pandas(Kind):
    """The index is neither read nor published: rows are published in another order, and must not be traced back."""

    def arrow(self, frame: Any, fields: Sequence[str]) -> Arrived:
        names = wanted(frame.columns, fields)
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
    if is_struct_of(column.type, ENDS):
        yield name, _intervals(one_chunk(column))
    elif is_struct_of(column.type, BLURRED_INTERVAL) or is_blurred_label(column.type):
        array = one_chunk(column)
        yield name, array.flatten()[0].to_pandas() if is_blurred_label(array.type) else _intervals(array)
        yield f"{name}_{DOUBT}", doubt(array).to_pandas()
    elif is_struct_of(column.type, IMPUTED):
        value, of, had = one_chunk(column).flatten()
        yield from _columns(name, pa.chunked_array([value]), frame)
        yield f"{name}.of", of.to_pandas()
        yield f"{name}.had", had.to_pandas()
    elif is_set(column.type):
        yield name, pd.Series(column.to_pylist(), dtype=object)
    else:
        series = column.to_pandas()
        if name in frame.columns and not pa.types.is_dictionary(column.type) and not pa.types.is_list(column.type):
            series = _in_given_type(series, frame[name].dtype)
        yield name, series


def _intervals(array: pa.Array) -> Any:
    """Closed at both ends."""
    low, high = array.flatten()[:2]
    if pa.types.is_string(low.type) or pa.types.is_temporal(low.type):
        low, high = (pd.to_datetime(end.to_pandas()) for end in (low, high))
    else:
        low, high = (end.to_numpy(zero_copy_only=False) for end in (low, high))
        if array.null_count:
            low, high = (np.asarray(end, np.float64) for end in (low, high))
    return pd.arrays.IntervalArray.from_arrays(low, high, closed="both")


def _in_given_type(series: Any, dtype: Any) -> Any:
    try:
        return series.astype(dtype)
    except (TypeError, ValueError):
        return series
