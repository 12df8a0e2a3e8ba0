"""Codes to records: the tuples that left the window as an Arrow batch."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.column_types import BLURRED_INTERVAL, BLURRED_LABEL, ENDS, IMPUTED, struct_of
from shoal.columns.floats import blank_nulls, only_used
from shoal.columns.periods import time_intervals
from shoal.columns.sets import set_column, set_table
from shoal.compiled import inlined, kernel
from shoal.policy import Hierarchy, Policy

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_MANY = 10_000


class Publisher:
    """Builds the published columns: intervals as structs of lo and hi, labels as dictionaries, all others unchanged.

    A set is a list of labels. Under `nulls_match: blurred` an interval has a third field, a label is a struct of two: whether
    it may be missing. A set that may be missing ends with null.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._imputes = policy.algorithm.imputes and policy.privacy.nulls_match == "maybe"
        self._trees = {q: a.hierarchy for q, (_, a) in enumerate(policy.quasi) if a.hierarchy and a.sets}
        self._words = dict(zip(self._trees, _word_slices(self._trees.values()), strict=True))
        self._blurs = policy.privacy.nulls_match == "blurred"
        self._labels = {name: pa.array(a.hierarchy.labels, pa.string()) for name, a in policy.quasi if a.hierarchy}
        self._demanding = {demand.name: a for a, demand in enumerate(policy.requirements)}
        self.whole = np.ones(len(policy.quasi), bool)  # by quasi-identifier: whether all values so far were whole numbers

    def publish(
        self, kept: pa.Table, pattern: NDArray[np.uint64], row: NDArray[np.int64],
        low: NDArray[np.float64], high: NDArray[np.float64], size: NDArray[np.int64], had: NDArray[np.int64],
        doubt: NDArray[np.uint64], time: tuple[NDArray[np.float64], NDArray[np.float64]], withheld: NDArray[np.bool_],
        nodes: NDArray[np.uint64],
    ) -> pa.RecordBatch:  # fmt: skip
        """`low`, `high`, `had` have one row per group and one column per quasi-identifier; row -1 is a suppressed tuple.

        Bit q of a group's `doubt` is set if quasi-identifier q is in doubt. `time` are the ends of the groups' times.
        `withheld` has a column for each of the policy's requirements: whether the group shows null instead of
        the values of this sensitive attribute. `nodes` are the groups' sets as bits (`blocks.sets`).
        """
        columns = self._times(kept, row, *time)
        suppressed = row < 0
        if suppressed.any():
            row = np.where(suppressed, len(low), row)
            pattern = np.where(suppressed, _ALL, pattern)
            low, high = np.vstack([low, self._root(0)]), np.vstack([high, self._root(1)])
            size, had = np.append(size, 0), np.vstack([had, np.zeros_like(had, shape=(1, had.shape[1]))])
            doubt, nodes = np.append(doubt, np.uint64(0)), np.vstack([nodes, self._root_words(nodes.shape[1])])
            withheld = np.vstack([withheld, np.zeros_like(withheld, shape=(1, withheld.shape[1]))])
        shown = self._bitmaps(pattern)
        doubted = self._bitmaps(_gathered(doubt, row) & pattern) if self._blurs else shown
        for q, (name, attribute) in enumerate(self._policy.quasi):
            valid = pa.py_buffer(shown[q])
            doubts = [pa.Array.from_buffers(pa.bool_(), len(row), [None, pa.py_buffer(doubted[q])])] if self._blurs else []
            if q in self._trees:
                has_one = (pattern >> np.uint64(q) & np.uint64(1)).astype(bool)
                in_doubt = (_gathered(doubt, row) >> np.uint64(q) & np.uint64(1)).astype(bool) & has_one
                table = set_table(nodes[:, self._words[q]], self._trees[q])
                columns[name] = set_column(table, row, has_one, in_doubt, self._labels[name])
            elif attribute.hierarchy:
                labels = self._labels[name]
                node = np.clip(low[:, q], 0, len(labels) - 1).astype(np.int32)  # where nobody has a value, it may be no node
                has_one = (pattern >> np.uint64(q) & np.uint64(1)).astype(bool)
                label = _labelled(_shown(node, row, pattern, q), has_one, None if self._blurs else valid, labels)
                columns[name] = _struct(BLURRED_LABEL, [label, *doubts], valid) if self._blurs else label
            else:
                kind = np.int64 if self.whole[q] else np.float64
                ends = [_column(_shown(end[:, q].astype(kind), row, pattern, q), None) for end in (low, high)]
                columns[name] = _struct(BLURRED_INTERVAL if self._blurs else ENDS, [*ends, *doubts], valid)
            if self._imputes:
                counts = [_counts(_shown(column, row, pattern, q), size, row, valid) for column in (size, had[:, q])]
                columns[name] = _imputed(columns[name], counts, valid)
        fields = []
        for name in self._policy.published:
            if name not in columns:
                column = _whole_column(kept.column(name))
                if name in self._demanding:
                    column = _blanked(column, withheld[row, self._demanding[name]])
                columns[name] = blank_nulls(only_used(column))
                fields.append(kept.schema.field(name).with_nullable(True))
            else:
                fields.append(pa.field(name, columns[name].type))
        return pa.RecordBatch.from_arrays([columns[field.name] for field in fields], schema=pa.schema(fields))

    def _times(
        self, kept: pa.Table, row: NDArray[np.int64], early: NDArray[np.float64], late: NDArray[np.float64]
    ) -> dict[str, pa.Array]:
        """The column of a generalized time, if there is one."""
        time, grid = self._policy.time, self._policy.time_grid
        if time is None or grid is None:
            return {}
        return {time.field: time_intervals(kept.schema.field(time.field).type, grid, early, late, row)}

    def _bitmaps(self, bits: NDArray[np.uint64]) -> NDArray[np.uint8]:
        """A bitmap for each quasi-identifier: one bit per tuple."""
        bitmaps = np.zeros((len(self._policy.quasi), -(-len(bits) // 8)), np.uint8)
        _fill_bitmaps(bits, bitmaps)
        return bitmaps

    def _root_words(self, words: int) -> NDArray[np.uint64]:
        """The sets of a suppressed tuple: the roots."""
        row = np.zeros(words, np.uint64)
        for q, tree in self._trees.items():
            root = tree.root + (tree.root >= tree.leaves)
            row[self._words[q].start + root // 64] = np.uint64(1 << root % 64)
        return row

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


def _word_slices(trees: Iterable[Hierarchy]) -> list[slice]:
    """Which words of a row are the sets of each hierarchy (`blocks.domain`)."""
    ends = np.cumsum([0, *(len(tree.labels) // 64 + 1 for tree in trees)]).tolist()
    return [slice(start, stop) for start, stop in pairwise(ends)]


def _struct(names: tuple[str, ...], children: list[pa.Array], valid: pa.Buffer) -> pa.Array:
    kind = struct_of(names, [child.type for child in children])
    return pa.Array.from_buffers(kind, len(children[0]), [valid], children=children)


def _column(values: NDArray[Any], valid: pa.Buffer | None) -> pa.Array:
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [valid, pa.py_buffer(values)])


def _shown(table: NDArray[Any], row: NDArray[np.int64], pattern: NDArray[np.uint64], q: int) -> NDArray[Any]:
    """The entry of each tuple's group; 0 if the tuple does not show quasi-identifier q, so that nothing lies under a null."""
    out = np.empty(len(row), table.dtype)
    _take_shown(np.ascontiguousarray(table), row, pattern, np.uint64(q), out)
    return out


def _gathered(table: NDArray[Any], row: NDArray[np.int64]) -> NDArray[Any]:
    out = np.empty(len(row), table.dtype)
    _take(table, row, out)
    return out


@kernel
def _take_shown(table, row, pattern, q, out):
    for i in range(len(row)):
        out[i] = table[np.uint64(row[i])] if pattern[i] >> q & np.uint64(1) else 0


@kernel
def _take(table, row, out):
    for i in range(len(row)):
        out[i] = table[np.uint64(row[i])]  # unsigned: a signed index would be checked for negative values


def _labelled(node: NDArray[np.int32], has_one: NDArray[np.bool_], valid: pa.Buffer | None, labels: pa.Array) -> pa.Array:
    """The label of each node. A very long list of labels is cut to those that rows show."""
    if len(labels) > _MANY:
        used = np.unique(node[has_one])
        if not len(used) and valid is None:  # a label in a struct is never null, even if the struct is
            used = np.zeros(1, np.int32)
        node, labels = np.where(has_one, np.searchsorted(used, node), 0).astype(np.int32), labels.take(pa.array(used))
    return pa.DictionaryArray.from_arrays(_column(node, valid), labels, safe=False)


def _whole_column(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _blanked(column: pa.Array, withheld: NDArray[np.bool_]) -> pa.Array:
    """The column with null wherever it is withheld."""
    return column.take(pa.array(np.arange(len(column)), mask=withheld)) if withheld.any() else column


def _counts(counts: NDArray[np.int64], size: NDArray[np.int64], row: NDArray[np.int64], valid: pa.Buffer) -> pa.Array:
    """Counts of imputed groups; null for the tuples of every other group."""
    return blank_nulls(pc.if_else(pa.array(size[row] > 0), _column(counts, valid), None))


def _imputed(value: pa.Array, counts: list[pa.Array], valid: pa.Buffer) -> pa.Array:
    """A value, the size of its group, and how many of the group had a value; these counts are null if nothing was imputed."""
    children = [value, *counts]
    fields = [pa.field(name, child.type) for name, child in zip(IMPUTED, children, strict=True)]
    return pa.Array.from_buffers(pa.struct(fields), len(value), [valid], children=children)
