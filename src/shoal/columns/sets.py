"""Sets as Arrow columns: lists of dictionary values, with null as the last one where the value may be missing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.compiled import first_one, kernel, popcount
from shoal.policy import Hierarchy


class SetTable(NamedTuple):
    """The sets of some groups, one after the other."""

    starts: NDArray[np.int64]  # where the labels of each group begin; the last entry is where they end
    labels: NDArray[np.int32]


def set_table(words: NDArray[np.uint64], tree: Hierarchy) -> SetTable:
    """The labels of each group, by its bits: one row of words per group.

    Bit i stands for leaf i, for the root if there are only i leaves, and else for the inner node of label i - 1. Labels are in
    the order of the hierarchy.
    """
    words, sizes = np.ascontiguousarray(words), np.zeros(len(words), np.int64)
    _count_bits(words, sizes)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    labels = np.empty(starts[-1], np.int32)
    _list_bits(words, tree.leaves, tree.root, labels)
    if len(labels) and labels.max() >= tree.leaves:
        group = np.repeat(np.arange(len(words)), sizes)
        labels = labels[np.lexsort((tree.first[labels], group))]
    return SetTable(starts, labels)


def set_column(
    table: SetTable, row: NDArray[np.int64], has_one: NDArray[np.bool_], doubts: NDArray[np.bool_], names: pa.Array
) -> pa.Array:
    """One list per tuple, by the row of its group; null where it shows nothing."""
    sizes = np.where(has_one, np.diff(table.starts)[row] + doubts, 0)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    if ends[-1] >= 2**31:
        raise pa.ArrowCapacityError("too many values of sets in one batch")
    labels, missing = np.zeros(ends[-1], np.int32), np.zeros(ends[-1], bool)
    _list_labels(table.starts, table.labels, row, has_one, doubts, ends, labels, missing)
    values = pa.DictionaryArray.from_arrays(pa.array(labels, mask=missing if doubts.any() else None), names, safe=False)
    return pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), values, mask=None if has_one.all() else pa.array(~has_one))


@kernel
def _count_bits(words, sizes):
    for group in range(words.shape[0]):
        for word in range(words.shape[1]):
            sizes[group] += popcount(words[group, word])


@kernel
def _list_bits(words, leaves, root, labels):
    at = 0
    for group in range(words.shape[0]):
        for word in range(words.shape[1]):
            bits = words[group, word]
            while bits != 0:
                node = 64 * word + first_one(bits)
                bits &= bits - np.uint64(1)
                labels[at] = node if node < leaves else root if node == leaves else node - 1
                at += 1


@kernel
def _list_labels(starts, own, row, has_one, doubts, ends, labels, missing):
    for i in range(len(row)):
        if has_one[i]:
            at, group = ends[i], row[i]
            for j in range(starts[group], starts[group + 1]):
                labels[at] = own[j]
                at += 1
            if doubts[i]:
                missing[at] = True
