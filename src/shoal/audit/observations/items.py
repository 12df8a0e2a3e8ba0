"""Items and their ancestors as numbers, and what has to leave by the input and the policy alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.audit.observations.recount import NO_NODE, Recount
from shoal.audit.trace import GENERALIZED, RELEASED, WITHHELD, FilterTrace
from shoal.audit.values import Ints, canonical_column
from shoal.policy import Hierarchy, Item

BLANK = -3
UNKNOWN = -2


class Nodes(NamedTuple):
    """The nodes of the input and of the output."""

    path: NDArray[np.int32]  # of each observation, from its item to the root, then NO_NODE
    shown: NDArray[np.int32]  # of each row of the output: BLANK, or UNKNOWN: neither an item of the input nor a node


def nodes(item: Item, before: Mapping[str, pa.ChunkedArray], after: Mapping[str, pa.ChunkedArray]) -> Nodes:
    """Number the items of input and output, and all their ancestors."""
    labels = pa.array(item.hierarchy.labels if item.hierarchy else [], pa.string())
    old, new, count = None, None, 0
    for name in item.names:
        found = _coded(before[name], after[name], labels)
        old, new, count = found if old is None or new is None else _paired((old, new, count), found)
    assert old is not None and new is not None
    above = _paths(item.hierarchy, count) if item.hierarchy else np.arange(count, dtype=np.int32)[:, None]
    return Nodes(above[old], new.astype(np.int32))


def _coded(before: pa.ChunkedArray, after: pa.ChunkedArray, labels: pa.Array) -> tuple[Ints, Ints, int]:
    """Numbers of the texts of both; the hierarchy's labels come first."""
    old = before.combine_chunks()
    known = pc.unique(pa.concat_arrays([labels, *(old.chunks if isinstance(old, pa.ChunkedArray) else [old])]))
    new = pa.chunked_array([canonical_column(chunk)[0] for chunk in after.chunks], pa.string()).combine_chunks()
    found = pc.index_in(new, value_set=known).fill_null(UNKNOWN).to_numpy(zero_copy_only=False).astype(np.int64)
    blank = pc.or_kleene(new.is_null(), pc.equal(new, "")).fill_null(True).to_numpy(zero_copy_only=False)
    code = pc.index_in(old, value_set=known).to_numpy(zero_copy_only=False).astype(np.int64)
    return code, np.where(blank, BLANK, found), len(known)


def _paired(left: tuple[Ints, Ints, int], right: tuple[Ints, Ints, int]) -> tuple[Ints, Ints, int]:
    """Numbers of pairs that the input has."""
    known, old = np.unique(left[0] * right[2] + right[0], return_inverse=True)
    key = np.where((left[1] < 0) | (right[1] < 0), -1, left[1] * right[2] + right[1])
    place = np.minimum(np.searchsorted(known, key), max(len(known) - 1, 0))
    hit = known[place] == key if len(known) else np.zeros(len(key), bool)
    blank = (left[1] == BLANK) & (right[1] == BLANK)
    return old.astype(np.int64), np.where(blank, BLANK, np.where(hit, place, UNKNOWN)), len(known)


def _paths(hierarchy: Hierarchy, count: int) -> NDArray[np.int32]:
    """For each node the way to the root; an item that the hierarchy does not know is alone."""
    label = {name: node for node, name in enumerate(hierarchy.labels)}
    lines = [[label[name] for name in line] for line in hierarchy.lines()]
    found = np.full((count, max(map(len, lines))), NO_NODE, np.int32)
    found[:, 0] = np.arange(count)
    for line in lines:
        for place, node in enumerate(line):
            found[node, : len(line) - place] = line[place:]
    return found


class Prediction(NamedTuple):
    """The rows that must leave, in order. With a fixed z, input and policy determine them, and no trace is needed."""

    trace: FilterTrace
    node: NDArray[np.int32]  # what each shows


def predict(path: NDArray[np.int32], count: Recount, z: int, blank: bool) -> Prediction:
    """Predict what leaves; `path` holds the nodes of each observation from its item to the root.

    With `blank`, an observation that is withheld leaves without its item.

    >>> count = Recount(np.array([[1, 1], [1, 2], [2, 3]], np.int32), np.zeros(3, bool), np.zeros(3, bool))
    >>> predict(np.array([[0, 2], [1, 2], [0, 2]], np.int32), count, 2, blank=False).node.tolist()
    [2, 0]
    """
    enough = count.users >= z
    level = enough.argmax(axis=1)
    public = enough.any(axis=1)
    rows = np.flatnonzero(~count.rejected & (public | blank))
    shown = np.where(public, path[np.arange(len(path)), level], BLANK).astype(np.int32)
    how = np.where(~public, WITHHELD, np.where(level > 0, GENERALIZED, RELEASED)).astype(np.int8)
    return Prediction(FilterTrace(rows, how[rows], np.full(len(rows), z)), shown[rows])
