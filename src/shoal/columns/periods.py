"""Periods of time: the number of the period that contains a time, and the interval that is published for it."""

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


def period_intervals(kind: pa.DataType, seconds: NDArray[np.float64], length: float) -> pa.Array:
    """The interval of each time's period, in the form of the given times: seconds, timestamps, or ISO 8601 text in UTC.

    >>> period_intervals(pa.int64(), np.array([61.0, 119.0]), 60.0).to_pylist()
    [{'lo': 60, 'hi': 120}, {'lo': 60, 'hi': 120}]
    >>> period_intervals(pa.string(), np.array([61.0]), 60.0).to_pylist()
    [{'lo': '1970-01-01T00:01:00Z', 'hi': '1970-01-01T00:02:00Z'}]
    """
    seconds = np.where(np.isfinite(seconds), seconds, 0.0)
    number = np.floor(seconds / length)
    number -= number * length > seconds  # where the division was rounded up to the next period
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
