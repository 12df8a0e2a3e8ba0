"""Arrow's numbers as float64 in one pass, NaN where they are null; and dictionaries without unused values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.column_types import doubt, is_blurred_label
from shoal.compiled import kernel
from shoal.digits import whole_number
from shoal.errors import InputError

_ONE, _THREE, _SEVEN = np.uint64(1), np.uint64(3), np.uint64(7)  # unsigned: a signed index would be checked for negative values
_LACKING = "a column has a code that its dictionary lacks; write the data again"
_WIDE = {pa.int64(): np.int64, pa.float64(): np.float64}


def to_floats(array: pa.Array) -> NDArray[np.float64]:
    """A column of numbers; NaN for null.

    >>> to_floats(pa.array([1, None, 3])[1:])
    array([nan,  3.])
    """
    kind = _WIDE.get(array.type)
    if kind is None or not array.null_count:
        return array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    valid, data = array.buffers()
    out = np.empty(len(array))
    _to_floats(np.frombuffer(data, kind)[array.offset :], np.frombuffer(valid, np.uint8), array.offset, out)
    return out


def take_floats(table: NDArray[np.float64], indices: pa.Array, out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """table[index] for each index; NaN for a null index.

    >>> take_floats(np.array([0.5, 2.0]), pa.array([1, None, 0], pa.int8()))
    array([2. , nan, 0.5])
    """
    out = np.empty(len(indices)) if out is None else out
    if len(indices) and not _take_floats(np.append(table, np.nan), *_codes(indices), out):
        raise InputError(_LACKING)
    return out


def used_codes(indices: pa.Array, size: int) -> NDArray[np.bool_]:
    """Whether each of the codes 0 .. size-1 occurs.

    >>> used_codes(pa.array([2, None, 0], pa.int8()), 3)
    array([ True, False,  True])
    """
    out = np.zeros(size + 1, bool)
    if len(indices) and not _mark_used(*_codes(indices), len(indices), out):
        raise InputError(_LACKING)
    return out[:-1]


def _codes(indices: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.uint8], int]:
    """The codes, their validity bitmap (empty if none is null), and the offset of the first code in the bitmap."""
    indices = indices.cast(pa.int32())
    valid, data = indices.buffers()
    bits = np.frombuffer(valid if indices.null_count else b"", np.uint8)
    return np.frombuffer(data, np.int32)[indices.offset :], bits, indices.offset


def parse_digits(texts: pa.Array, blanks: bool) -> NDArray[np.float64] | None:
    """Texts of digits, with or without a sign, as numbers; NaN for null and, if `blanks`, for an empty text.

    None if a text is anything else.

    >>> parse_digits(pa.array(["1", "-20", None, ""]), blanks=True), parse_digits(pa.array(["1.5"]), blanks=True)
    (array([  1., -20.,  nan,  nan]), None)
    """
    valid, places, letters = texts.buffers()
    if not len(texts) or letters is None or not pa.types.is_string(texts.type):
        return None
    out = np.empty(len(texts))
    bits = np.frombuffer(valid if texts.null_count else b"", np.uint8)
    ends = np.frombuffer(places, np.int32)[texts.offset :]
    return out if _parse_digits(ends, np.frombuffer(letters, np.uint8), bits, texts.offset, blanks, out) else None


@kernel
def _to_floats(data, bits, offset, out):
    """Entry j - offset is not null if bit j & 7 of bits[j >> 3] is set."""
    for i in range(len(out)):
        value, j = np.float64(data[i]), np.uint64(offset + i)
        out[i] = value if bits[j >> _THREE] >> (j & _SEVEN) & _ONE else np.nan


@kernel
def _take_floats(table, indices, bits, offset, out):
    """As `_to_floats`; without bits, none is null. The last entry of the table stands for null.

    Returns whether every index lies in the table.
    """
    null, wrong = np.uint64(len(table) - 1), False
    for i in range(len(out)):
        index, j = np.uint64(indices[i]), np.uint64(offset + i)
        missing = len(bits) > 0 and not bits[j >> _THREE] >> (j & _SEVEN) & _ONE
        wrong |= index >= null and not missing
        out[i] = table[null if missing else min(index, null)]
    return not wrong


@kernel
def _mark_used(indices, bits, offset, size, out):
    """Set out[c] for every code c that occurs; the last entry of `out` is for null. Returns whether all codes are valid."""
    null, wrong = np.uint64(len(out) - 1), False
    for i in range(size):
        index, j = np.uint64(indices[i]), np.uint64(offset + i)
        missing = len(bits) > 0 and not bits[j >> _THREE] >> (j & _SEVEN) & _ONE
        wrong |= index >= null and not missing
        out[null if missing else min(index, null)] = True
    return not wrong


@kernel
def _parse_digits(places, letters, bits, offset, blanks, out):
    """As `_take_floats`; text i starts at places[i]. Returns whether every text is a number of at most 15 digits."""
    for i in range(len(out)):
        j = offset + i
        start, end = places[i], places[i + 1]
        if (len(bits) > 0 and not bits[j >> 3] >> (j & 7) & 1) or (blanks and start == end):
            out[i] = np.nan
            continue
        found, negative, size = whole_number(letters, start, end, 15, True)
        if not found:
            return False
        value = np.int64(size)
        out[i] = -value if negative else value
    return True


def only_used(array: pa.Array) -> pa.Array:
    """The same values; a dictionary loses its unused entries, which may come from records that are not published.

    >>> only_used(pa.DictionaryArray.from_arrays([1, None, 1], ["secret", "flu"])).dictionary.to_pylist()
    ['flu']
    """
    if is_blurred_label(array.type):
        return _only_used_labels(array)
    if not pa.types.is_dictionary(array.type):
        return array
    is_used = used_codes(array.indices, len(array.dictionary))
    if is_used.all():
        return array
    places = pa.array(np.maximum(np.cumsum(is_used) - 1, 0), array.indices.type)
    entries = array.dictionary.filter(pa.array(is_used))
    return pa.DictionaryArray.from_arrays(places.take(array.indices), entries, ordered=array.type.ordered)


def blank_nulls(array: pa.Array) -> pa.Array:
    """The same values; under a null lies nothing, where Arrow allows anything.

    >>> hidden = pa.Array.from_buffers(pa.int64(), 2, [pa.py_buffer(bytes([1])), pa.array([1, 42]).buffers()[1]])
    >>> hidden.to_pylist(), bytes(hidden.buffers()[1])[8], bytes(blank_nulls(hidden).buffers()[1])[8]
    ([1, None], 42, 0)
    """
    if pa.types.is_struct(array.type):
        children = [blank_nulls(child) for child in array.flatten()]
        return pa.StructArray.from_arrays(children, fields=list(array.type), mask=array.is_null())
    if pa.types.is_null(array.type) or not (array.null_count or pa.types.is_nested(array.type)):
        return array
    array = array.take(pa.array(np.arange(len(array)), mask=array.is_null().to_numpy(zero_copy_only=False)))
    if pa.types.is_list(array.type):
        return pa.ListArray.from_arrays(array.offsets, blank_nulls(array.values), array.type, mask=array.is_null())
    return array


def _only_used_labels(array: pa.StructArray) -> pa.Array:
    """The same for a struct of labels. Its labels are never null, so where the struct is null, the first one stays."""
    labels = array.flatten()[0]
    used = only_used(labels)
    if used is labels:
        return array
    entries = used.dictionary if len(used.dictionary) else labels.dictionary.take(pa.array([0]))
    children = [pa.DictionaryArray.from_arrays(used.indices.fill_null(0), entries), doubt(array)]
    return pa.StructArray.from_arrays(children, fields=list(array.type), mask=array.is_null())
