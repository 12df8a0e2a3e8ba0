"""Codes to records: the tuples that left the window as an Arrow batch."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.column_types import IMPUTED, interval
from shoal.columns.floats import only_used
from shoal.compiled import inlined, kernel
from shoal.policy import Policy

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_MANY = 10_000


class Publisher:
    """Builds the published columns: intervals as structs of lo and hi, labels as dictionaries, all others unchanged."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._imputes = policy.algorithm.imputes and policy.privacy.nulls_match == "maybe"
        self._labels = {name: pa.array(a.hierarchy.labels, pa.string()) for name, a in policy.quasi if a.hierarchy}
        self.whole = np.ones(len(policy.quasi), bool)  # by quasi-identifier: whether all values so far were whole numbers

    def publish(
        self, kept: pa.Table, pattern: NDArray[np.uint64], row: NDArray[np.int64],
        low: NDArray[np.float64], high: NDArray[np.float64], size: NDArray[np.int64], had: NDArray[np.int64],
    ) -> pa.RecordBatch:  # fmt: skip
        """`low`, `high`, `had` have one row per group and one column per quasi-identifier; row -1 is a suppressed tuple."""
        suppressed = row < 0
        if suppressed.any():
            row = np.where(suppressed, len(low), row)
            pattern = np.where(suppressed, _ALL, pattern)
            low, high = np.vstack([low, self._root(0)]), np.vstack([high, self._root(1)])
            size, had = np.append(size, 0), np.vstack([had, np.zeros_like(had, shape=(1, had.shape[1]))])
        columns: dict[str, pa.Array] = {}
        bitmaps = np.zeros((len(self._policy.quasi), -(-len(row) // 8)), np.uint8)
        _fill_bitmaps(pattern, bitmaps)
        for q, (name, attribute) in enumerate(self._policy.quasi):
            valid = pa.py_buffer(bitmaps[q])
            if attribute.hierarchy:
                columns[name] = _labelled(low[:, q].astype(np.int32), row, valid, self._labels[name])
            else:
                kind = np.int64 if self.whole[q] else np.float64
                ends = [_taken(end[:, q].astype(kind), row, None) for end in (low, high)]
                columns[name] = pa.Array.from_buffers(interval(ends[0].type), len(row), [valid], children=ends)
            if self._imputes:
                counts = [_counts(column, size, row, valid) for column in (size, had[:, q])]
                columns[name] = _imputed(columns[name], counts, valid)
        fields = []
        for name in self._policy.published:
            if name not in columns:
                columns[name] = only_used(_whole_column(kept.column(name)))
                fields.append(kept.schema.field(name))
            else:
                fields.append(pa.field(name, columns[name].type))
        return pa.RecordBatch.from_arrays([columns[field.name] for field in fields], schema=pa.schema(fields))

    def _root(self, end: int) -> list[float]:
        """The row of a suppressed tuple: the whole range, the root's label."""
        return [a.hierarchy.root if a.hierarchy else (a.low, a.high)[end] for _, a in self._policy.quasi]


@kernel
def _fill_bitmaps(pattern, bitmaps):
    """bitmaps[q] = bit q of every pattern, as an Arrow validity bitmap: eight patterns and eight q at a time."""
    for byte in range(bitmaps.shape[1]):
        some = pattern[8 * byte : 8 * byte + 8]
        for first in range(0, len(bitmaps), 8):
            square = np.uint64(0)
            for i in range(len(some)):
                square |= (some[i] >> np.uint64(first) & np.uint64(0xFF)) << np.uint64(8 * i)
            square = _transposed(square)
            for q in range(first, min(first + 8, len(bitmaps))):
                bitmaps[q, byte] = square >> np.uint64(8 * (q - first)) & np.uint64(0xFF)


@inlined
def _transposed(square):
    """The transpose of eight rows of eight bits, one byte per row: single bits first, then 2 by 2, then 4 by 4."""
    swapped = (square ^ square >> np.uint64(7)) & np.uint64(0x00AA00AA00AA00AA)
    square ^= swapped ^ swapped << np.uint64(7)
    swapped = (square ^ square >> np.uint64(14)) & np.uint64(0x0000CCCC0000CCCC)
    square ^= swapped ^ swapped << np.uint64(14)
    swapped = (square ^ square >> np.uint64(28)) & np.uint64(0x00000000F0F0F0F0)
    return square ^ swapped ^ swapped << np.uint64(28)


def _taken(table: NDArray[np.generic], row: NDArray[np.int64], valid: pa.Buffer | None) -> pa.Array:
    out = np.empty(len(row), table.dtype)
    _take(table, row, out)
    return pa.Array.from_buffers(pa.from_numpy_dtype(table.dtype), len(row), [valid, pa.py_buffer(out)])


@kernel
def _take(table, row, out):
    for i in range(len(row)):
        out[i] = table[np.uint64(row[i])]  # unsigned: a signed index would be checked for negative values


def _labelled(node: NDArray[np.int32], row: NDArray[np.int64], valid: pa.Buffer, labels: pa.Array) -> pa.Array:
    """The label of each row's node. A very long list of labels is cut to those that occur."""
    if len(labels) > _MANY:
        shown, place = np.unique(node[row], return_inverse=True)
        node, row, labels = place.astype(np.int32), np.arange(len(row)), labels.take(pa.array(shown))
    return pa.DictionaryArray.from_arrays(_taken(node, row, valid), labels, safe=False)


def _whole_column(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _counts(counts: NDArray[np.int64], size: NDArray[np.int64], row: NDArray[np.int64], valid: pa.Buffer) -> pa.Array:
    """Counts of imputed groups; null for the tuples of every other group."""
    return pc.if_else(pa.array(size[row] > 0), _taken(counts, row, valid), None)


def _imputed(value: pa.Array, counts: list[pa.Array], valid: pa.Buffer) -> pa.Array:
    """A value, the size of its group, and how many of the group had a value; these counts are null if nothing was imputed."""
    children = [value, *counts]
    fields = [pa.field(name, child.type) for name, child in zip(IMPUTED, children, strict=True)]
    return pa.Array.from_buffers(pa.struct(fields), len(value), [valid], children=children)
