"""Time: the number of the period that contains it, and the intervals in which it is published."""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.column_types import interval

_EXACT = 2.0**50  # below this, the result of `floor_divide` is exact


def periods(time: NDArray[np.float64], window: float) -> NDArray[np.int64]:
    """The number of the period of each time, counted from 1970: floor(t / Δt), exactly.

    If Δt is 0, every time is a period of its own, and its number is the bits of its float64.

    >>> periods(np.array([-1.0, 0.3, 0.3 + 2**-53]), 0.1)
    array([-10,   2,   3])
    """
    if window == 0:
        return (time + 0.0).view(np.int64)
    if len(time) > 2:
        first, last = periods(np.array([time.min(), time.max()]), window)
        if first == last:
            return np.full(len(time), first)
    quotient = time / window
    found = np.floor(quotient)
    doubtful = np.abs(quotient - np.rint(quotient)) <= 2.0**-50 * np.abs(quotient)
    if doubtful.any():
        found[doubtful] = np.floor_divide(time[doubtful], window)
        for row in np.flatnonzero(doubtful & (np.abs(quotient) >= _EXACT)):
            found[row] = floor(Fraction(time[row]) / Fraction(window))
    return found.astype(np.int64)


def time_type(kind: pa.DataType, grid: float) -> pa.DataType:
    """The type of the ends of published times, given the type of the times that came in.

    >>> time_type(pa.int32(), 60.0), time_type(pa.int64(), 0.5), time_type(pa.timestamp("s", "UTC"), 60.0)
    (DataType(int64), DataType(double), TimestampType(timestamp[us, tz=UTC]))
    """
    if pa.types.is_null(kind):
        return kind
    if pa.types.is_integer(kind) and float(grid).is_integer():
        return pa.int64()
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return pa.float64()
    return pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else pa.string()


def time_intervals(
    kind: pa.DataType, grid: float, early: NDArray[np.float64], late: NDArray[np.float64], row: NDArray[np.int64]
) -> pa.Array:
    """The interval that each tuple shows, given those of the groups in seconds and the row of its group; null where that is -1.

    >>> time_intervals(pa.int64(), 60.0, np.array([60.0]), np.array([180.0]), np.array([0, -1])).to_pylist()
    [{'lo': 60, 'hi': 180}, None]
    >>> time_intervals(pa.string(), 0.5, np.array([0.5]), np.array([1.0]), np.array([0])).to_pylist()
    [{'lo': '1970-01-01T00:00:00.500Z', 'hi': '1970-01-01T00:00:01.000Z'}]
    """
    if pa.types.is_null(kind):
        return pa.nulls(len(row))
    used, place = np.unique(row, return_inverse=True)
    ends = [_written(kind, grid, np.append(end, 0.0)[used]).take(pa.array(place)) for end in (early, late)]
    return pa.StructArray.from_arrays(ends, fields=list(interval(ends[0].type)), mask=pa.array(row < 0))


def _written(kind: pa.DataType, grid: float, seconds: NDArray[np.float64]) -> pa.Array:
    if pa.types.is_integer(kind):
        return pa.array(seconds.astype(np.int64))
    if pa.types.is_floating(kind):
        return pa.array(seconds)
    stamps: Any = np.round(seconds * 1e6).astype("datetime64[us]")
    if pa.types.is_timestamp(kind):
        return pa.array(stamps).cast(kind)
    written = np.datetime_as_string(stamps, unit="s" if float(grid).is_integer() else "ms")
    return pa.array([f"{text}Z" for text in written], pa.string())
