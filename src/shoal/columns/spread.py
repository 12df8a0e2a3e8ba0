"""Arrow's numbers as float64 in one pass, NaN where they are null."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.compiled import kernel
from shoal.errors import InputError

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
    indices = indices.cast(pa.int32())
    out = np.empty(len(indices)) if out is None else out
    valid, data = indices.buffers()
    if not len(indices):
        return out
    bits = np.frombuffer(valid if indices.null_count else b"", np.uint8)
    if not _look_up(table, np.frombuffer(data, np.int32)[indices.offset :], bits, indices.offset, out):
        raise InputError("a column has a code that its dictionary lacks; write the data again")
    return out


@kernel
def _spread(data, bits, offset, out):
    """bits[j >> 3], bit j & 7: whether entry j - offset is there."""
    for i in range(len(out)):
        j = offset + i
        out[i] = data[i] if bits[j >> 3] >> (j & 7) & 1 else np.nan


@kernel
def _look_up(table, indices, bits, offset, out):
    """As `_spread`; without bits, all are there. Whether every index is in the table."""
    wrong = False
    for i in range(len(out)):
        j = offset + i
        if len(bits) > 0 and not bits[j >> 3] >> (j & 7) & 1:
            out[i] = np.nan
        elif 0 <= indices[i] < len(table):
            out[i] = table[indices[i]]
        else:
            wrong = True
    return not wrong
