"""Arrow's numbers as float64 in one pass, NaN where they are null."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.compiled import kernel
from shoal.errors import InputError

_ONE, _THREE, _SEVEN = np.uint64(1), np.uint64(3), np.uint64(7)  # a signed index would be checked for being negative
_MINUS, _ZERO = b"-0"
_LACKING = "a column has a code that its dictionary lacks; write the data again"
_WIDE = {pa.int64(): np.int64, pa.float64(): np.float64}


def spread(array: pa.Array) -> NDArray[np.float64]:
    """
    >>> spread(pa.array([1, None, 3])[1:])
    array([nan,  3.])
    """
    kind = _WIDE.get(array.type)
    if kind is None or not array.null_count:
        return array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    valid, data = array.buffers()
    out = np.empty(len(array))
    _spread(np.frombuffer(data, kind)[array.offset :], np.frombuffer(valid, np.uint8), array.offset, out)
    return out


def looked_up(table: NDArray[np.float64], indices: pa.Array, out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """The number that each index has in a table.

    >>> looked_up(np.array([0.5, 2.0]), pa.array([1, None, 0], pa.int8()))
    array([2. , nan, 0.5])
    """
    out = np.empty(len(indices)) if out is None else out
    if len(indices) and not _look_up(np.append(table, np.nan), *_codes(indices), out):
        raise InputError(_LACKING)
    return out


def marked(indices: pa.Array, size: int) -> NDArray[np.bool_]:
    """Whether each of so many codes occurs.

    >>> marked(pa.array([2, None, 0], pa.int8()), 3)
    array([ True, False,  True])
    """
    out = np.zeros(size + 1, bool)
    if len(indices) and not _mark(*_codes(indices), len(indices), out):
        raise InputError(_LACKING)
    return out[:-1]


def _codes(indices: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.uint8], int]:
    """The codes, the bits that say which of them are there (none if all are), and the place of the first bit."""
    indices = indices.cast(pa.int32())
    valid, data = indices.buffers()
    bits = np.frombuffer(valid if indices.null_count else b"", np.uint8)
    return np.frombuffer(data, np.int32)[indices.offset :], bits, indices.offset


def read(texts: pa.Array, blanks: bool) -> NDArray[np.float64] | None:
    """Texts of digits, with or without a sign, as numbers; NaN where they are null or, if `blanks`, empty; None if one is not.

    >>> read(pa.array(["1", "-20", None, ""]), blanks=True), read(pa.array(["1.5"]), blanks=True)
    (array([  1., -20.,  nan,  nan]), None)
    """
    valid, places, letters = texts.buffers()
    if not len(texts) or letters is None or not pa.types.is_string(texts.type):
        return None
    out = np.empty(len(texts))
    bits = np.frombuffer(valid if texts.null_count else b"", np.uint8)
    ends = np.frombuffer(places, np.int32)[texts.offset :]
    return out if _read(ends, np.frombuffer(letters, np.uint8), bits, texts.offset, blanks, out) else None


@kernel
def _spread(data, bits, offset, out):
    """bits[j >> 3], bit j & 7: whether entry j - offset is there."""
    for i in range(len(out)):
        value, j = np.float64(data[i]), np.uint64(offset + i)
        out[i] = value if bits[j >> _THREE] >> (j & _SEVEN) & _ONE else np.nan


@kernel
def _look_up(table, indices, bits, offset, out):
    """As `_spread`; without bits, all are there. The last of the table stands for null. Whether every index is in it."""
    null, wrong = np.uint64(len(table) - 1), False
    for i in range(len(out)):
        index, j = np.uint64(indices[i]), np.uint64(offset + i)
        missing = len(bits) > 0 and not bits[j >> _THREE] >> (j & _SEVEN) & _ONE
        wrong |= index >= null and not missing
        out[i] = table[null if missing else min(index, null)]
    return not wrong


@kernel
def _mark(indices, bits, offset, size, out):
    """As `_look_up`: out[c] for every code c that occurs; the last of it is for null. Whether every code has a place."""
    null, wrong = np.uint64(len(out) - 1), False
    for i in range(size):
        index, j = np.uint64(indices[i]), np.uint64(offset + i)
        missing = len(bits) > 0 and not bits[j >> _THREE] >> (j & _SEVEN) & _ONE
        wrong |= index >= null and not missing
        out[null if missing else min(index, null)] = True
    return not wrong


@kernel
def _read(places, letters, bits, offset, blanks, out):
    """As `_look_up`; text i starts at places[i]. Whether every text is a number of at most 15 digits."""
    for i in range(len(out)):
        j = offset + i
        start, end = places[i], places[i + 1]
        if (len(bits) > 0 and not bits[j >> 3] >> (j & 7) & 1) or (blanks and start == end):
            out[i] = np.nan
            continue
        negative = start < end and letters[start] == _MINUS
        start += negative
        if not 0 < end - start <= 15:
            return False
        value = 0
        for at in range(start, end):
            digit = np.int64(letters[at]) - _ZERO
            if not 0 <= digit <= 9:
                return False
            value = 10 * value + digit
        out[i] = -value if negative else value
    return True
