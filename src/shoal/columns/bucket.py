"""Times published as buckets: the interval of the window's length in which each lies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.columns.interval import interval


def buckets(kind: pa.DataType, seconds: NDArray[np.float64], length: float) -> pa.Array:
    """Intervals in the form the times came in: seconds, timestamps, or ISO 8601 text in UTC.

    >>> buckets(pa.int64(), np.array([61.0, 119.0]), 60.0).to_pylist()
    [{'lo': 60, 'hi': 120}, {'lo': 60, 'hi': 120}]
    >>> buckets(pa.string(), np.array([61.0]), 60.0).to_pylist()
    [{'lo': '1970-01-01T00:01:00Z', 'hi': '1970-01-01T00:02:00Z'}]
    """
    seconds = np.where(np.isfinite(seconds), seconds, 0.0)
    number = np.floor(seconds / length)
    number -= number * length > seconds  # where the division was rounded up to the next bucket
    ends = [_written(kind, edge * length, length) for edge in (number, number + 1)]
    return pa.StructArray.from_arrays(ends, fields=list(interval(ends[0].type)))


def _written(kind: pa.DataType, seconds: NDArray[np.float64], length: float) -> pa.Array:
    if pa.types.is_integer(kind) and float(length).is_integer():
        return pa.array(seconds.astype(np.int64))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return pa.array(seconds)
    stamps: Any = np.round(seconds * 1e6).astype("datetime64[us]")
    if pa.types.is_timestamp(kind):
        return pa.array(stamps).cast(pa.timestamp("us", kind.tz))
    written = np.datetime_as_string(stamps, unit="s" if float(length).is_integer() else "us")
    return pa.array([f"{text}Z" for text in written], pa.string())
