"""The cells of a column as codes of distinct texts, and the rows of a table assembled from such texts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.column_types import doubt
from shoal.compiled import COPIED, copy, inlined, kernel

ROOM = COPIED  # bytes that `write` may write past the end, and read past the end of a text
Codes = npt.NDArray[np.int32]


class Cells(NamedTuple):
    """A code for each row, and the text of each code."""

    texts: pa.Array
    codes: Codes


def chosen(indices: pa.Array, nothing: int) -> Codes:
    """The indices of a dictionary, `nothing` where they are null.

    >>> chosen(pa.array([2, None, 0], pa.int8()), 3)
    array([2, 3, 0], dtype=int32)
    """
    indices = indices.cast(pa.int32())
    if not indices.null_count:
        return indices.to_numpy()
    valid, data = indices.buffers()
    codes = np.empty(len(indices), np.int32)
    _choose(np.frombuffer(data, np.int32)[indices.offset :], np.frombuffer(valid, np.uint8), indices.offset, nothing, codes)
    return codes


def pairs(column: pa.StructArray) -> tuple[Codes, pa.Array]:
    """A code for each row of a struct of two ends and, if it has a third field, their doubt; and the first row of each code.

    Codes start at 1; 0 is null.

    >>> pairs(pa.array([{"lo": 1, "hi": 2}, {"lo": 5, "hi": 6}, None, {"lo": 1, "hi": 2}]))[0]
    array([1, 2, 0, 1], dtype=int32)
    """
    size = len(column)
    if not _is_wide(column.type.field(0).type) or any(column.field(i).null_count for i in range(2)):
        lo, hi = column.flatten()[:2]
        there = pc.and_(lo.is_valid(), hi.is_valid()).to_numpy(zero_copy_only=False)
        return np.where(there, np.cumsum(there, dtype=np.int32), 0), pa.array(np.flatnonzero(there))
    codes, firsts = np.zeros(size, np.int32), np.empty(size + 1, np.int32)
    if column.null_count == size:
        return codes, pa.array([], pa.int32())
    low, high = (_words(column.field(i)) for i in range(2))
    valid = np.frombuffer(column.buffers()[0] if column.null_count else b"", np.uint8)
    table = np.zeros(2 << size.bit_length(), np.int32)
    doubts = doubt(column).to_numpy(zero_copy_only=False) if column.type.num_fields > 2 else np.zeros(size, bool)
    count = _number(low, high, doubts, valid, column.offset, table, codes, firsts)
    return codes, pa.array(firsts[1 : count + 1])


def lists(column: pa.ListArray) -> tuple[Codes, pa.Array]:
    """A code for each row of a column of sets, the same for equal rows that follow each other; and the first row of each code.

    Codes start at 1; 0 is null.

    >>> labels = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 1, 1]), ["a", "b"])
    >>> lists(pa.ListArray.from_arrays([0, 2, 4, 5], labels))[0]
    array([1, 1, 2], dtype=int32)
    """
    labels = chosen(column.values.indices, -1)
    codes, firsts = np.zeros(len(column), np.int32), np.empty(len(column) + 1, np.int32)
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    count = _number_lists(column.offsets.to_numpy(), labels, valid, codes, firsts)
    return codes, pa.array(firsts[1 : count + 1])


def _is_wide(kind: pa.DataType) -> bool:
    """Whether each value has 64 bits."""
    try:
        return bool(kind.bit_width == 64)
    except ValueError:
        return False


def _words(ends: pa.Array) -> npt.NDArray[np.int64]:
    return np.frombuffer(ends.buffers()[1], np.int64)[ends.offset : ends.offset + len(ends)]


@kernel
def _choose(indices, bits, offset, nothing, codes):
    """Row j - offset is not null if bit j & 7 of bits[j >> 3] is set."""
    for i in range(len(codes)):
        index, j = indices[i], offset + i
        codes[i] = index if bits[j >> 3] >> (j & 7) & 1 else nothing


@kernel
def _number(low, high, doubts, bits, offset, table, codes, firsts):
    """codes[i] = the number, from 1, of the pair in row i and its doubt. Returns how many there are. `table` is a hash table; 0
    is an empty slot. The bits are as in `_choose`; without bits, no row is null."""
    count = code = 0
    for i in range(len(low)):
        j = offset + i
        if len(bits) > 0 and not bits[j >> 3] >> (j & 7) & 1:
            continue
        if code == 0 or not _is_same(low, high, doubts, i, firsts[code]):
            mixed = (np.uint64(low[i]) + np.uint64(doubts[i])) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(high[i])
            mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
            place = (mixed >> np.uint64(32)) & np.uint64(len(table) - 1)
            code = table[place]
            while code > 0 and not _is_same(low, high, doubts, i, firsts[code]):
                place = (place + np.uint64(1)) & np.uint64(len(table) - 1)
                code = table[place]
            if code == 0:
                count += 1
                code = count
                table[place] = code
                firsts[code] = i
        codes[i] = code
    return count


@kernel
def _number_lists(offsets, labels, valid, codes, firsts):
    """codes[i] = the number, from 1, of the list in row i, which is that of the row before if they are equal. Returns how many
    there are."""
    count = 0
    for i in range(len(codes)):
        if not valid[i]:
            continue
        start, size = offsets[i], offsets[i + 1] - offsets[i]
        same = count > 0
        if same:
            before = firsts[count]
            same = offsets[before + 1] - offsets[before] == size
            for j in range(size if same else 0):
                same = same and labels[offsets[before] + j] == labels[start + j]
        if not same:
            count += 1
            firsts[count] = i
        codes[i] = count
    return count


@inlined
def _is_same(low, high, doubts, i, j):
    return low[i] == low[j] and high[i] == high[j] and doubts[i] == doubts[j]


@kernel
def length(codes, places):
    """The number of bytes that `write` will write."""
    total = 0
    for column in range(codes.shape[0]):
        for row in range(codes.shape[1]):
            code = codes[column, row]
            total += places[code + 1] - places[code]
    return total


@kernel
def write(codes, places, letters, out):
    """Write the texts of each row's codes, row after row."""
    at = 0
    for row in range(codes.shape[1]):
        for column in range(codes.shape[0]):
            code = codes[column, row]
            start, end = places[code], places[code + 1]
            while start < end:
                copy(letters, start, out, at)
                step = min(end - start, COPIED)
                start += step
                at += step
