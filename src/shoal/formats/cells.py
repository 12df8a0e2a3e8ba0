"""Cells that share texts: a code for each row, a text for each code, and the rows copied together from them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.compiled import COPIED, copy, kernel

ROOM = COPIED
"""Bytes that `write` may write past the end, and read past the end of a text."""

Codes = npt.NDArray[np.int32]


class Cells(NamedTuple):
    """For each row the text of its code."""

    texts: pa.Array
    codes: Codes


def pairs(lo: pa.Array, hi: pa.Array) -> tuple[Codes, pa.Array]:
    """A code for each row, from 1 and 0 where an end is null, and the first row of each code but 0.

    >>> pairs(pa.array([1, 5, None, 1]), pa.array([2, 6, 7, 2]))[0]
    array([1, 2, 0, 1], dtype=int32)
    """
    valid = pc.and_(lo.is_valid(), hi.is_valid()).to_numpy(zero_copy_only=False)
    if not _is_wide(lo.type):
        return np.where(valid, np.cumsum(valid, dtype=np.int32), 0), pa.array(np.flatnonzero(valid))
    low, high = (end.view(pa.int64()).fill_null(0).to_numpy() for end in (lo, hi))
    codes, firsts = np.empty(len(lo), np.int32), np.empty(len(lo) + 1, np.int32)
    table = np.zeros(2 << len(lo).bit_length(), np.int32)
    count = _number(low, high, valid, table, codes, firsts)
    return codes, pa.array(firsts[1 : count + 1])


def _is_wide(kind: pa.DataType) -> bool:
    """Whether each value has 64 bits."""
    try:
        return bool(kind.bit_width == 64)
    except ValueError:
        return False


@kernel
def _number(low, high, valid, table, codes, firsts):
    """codes[i] = the number, from 1, of the pair in row i; how many there are. `table` is empty where it is 0."""
    count = code = 0
    for i in range(len(low)):
        if not valid[i]:
            codes[i] = 0
            continue
        if code == 0 or low[i] != low[firsts[code]] or high[i] != high[firsts[code]]:
            mixed = np.uint64(low[i]) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(high[i])
            mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
            place = (mixed >> np.uint64(32)) & np.uint64(len(table) - 1)
            code = table[place]
            while code > 0 and (low[i] != low[firsts[code]] or high[i] != high[firsts[code]]):
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
def length(codes, places):
    """How many bytes `write` will write."""
    total = 0
    for column in range(codes.shape[0]):
        for row in range(codes.shape[1]):
            code = codes[column, row]
            total += places[code + 1] - places[code]
    return total


@kernel
def write(codes, places, letters, out):
    """Write row after row, each the texts that its codes name."""
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
