"""Published sets: lists of labels, in every form that a format gives them.

A set gets a number like a node's: a list of one label has the number of that label's node, and each other set a number past the
last node. So rows that show the same set have the same number.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.audit.original import Tree
from shoal.audit.values import Flags, Ints, distinct, is_text

NULL, NO_NODE = -1, -2
_BETWEEN, _MISSING = "\x1f", "\x1e"  # in a list that is written as one text
WORDS, BAR = " or missing", "|"


class Sets:
    """The sets that a column shows, in the order of their appearance."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._node = tree.node_of()
        self._numbers: dict[tuple[int, ...], int] = {}

    def read(self, column: pa.Array) -> tuple[Ints, Flags, list[dict[str, Any]]]:
        """The number of each row's set, whether it may be missing, and the object around it where its group was imputed."""
        kind = column.type
        if pa.types.is_null(kind):
            return np.full(len(column), NULL), np.zeros(len(column), bool), []
        if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
            column, parse = _as_text(column), _of_list
        else:
            parse = _of_cell
        if not is_text(column.type):
            there = column.is_valid().to_numpy(zero_copy_only=False)
            return np.where(there, NO_NODE, NULL), np.zeros(len(column), bool), []
        code, values = distinct(column)
        numbers, doubts, around = [], [], []
        for raw in values.to_pylist():
            labels, whole = parse(raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw)
            number, doubt = self._number(labels)
            numbers.append(number)
            doubts.append(doubt)
            around.append(whole)
        found = np.array([*numbers, NULL])[code]
        each = [around[c] if c >= 0 else {} for c in code] if any(around) else []
        return found, np.array([*doubts, False], bool)[code], each

    def _number(self, labels: object) -> tuple[int, bool]:
        """The number of a list of labels, and whether it ends with null. A list that no group can show has none."""
        if labels is None:
            return NULL, False
        if not isinstance(labels, list) or not labels:
            return NO_NODE, False
        doubt = labels[-1] is None
        known = labels[:-1] if doubt else labels
        nodes = [self._node.get(label, NO_NODE) if isinstance(label, str) else NO_NODE for label in known]
        if not nodes or NO_NODE in nodes:
            return NO_NODE, False
        first, last = self._tree.first[nodes], self._tree.last[nodes]
        if (first[1:] <= last[:-1]).any():  # twice, one below the other, or not in the order of the hierarchy
            return NO_NODE, False
        if len(nodes) == 1:
            return nodes[0], doubt
        return len(self._tree.name) + self._numbers.setdefault(tuple(nodes), len(self._numbers)), doubt

    def members(self) -> tuple[tuple[int, ...], ...]:
        """The nodes of each set past the nodes."""
        return tuple(self._numbers)


def _as_text(column: pa.Array) -> pa.Array:
    """Each list as one text."""
    values = column.values if not pa.types.is_fixed_size_list(column.type) else column.flatten()
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_null(values.type):
        values = values.cast(pa.string())
    if not is_text(values.type) or pa.types.is_fixed_size_list(column.type):
        return pa.array([None if each is None else json.dumps(each, default=str) for each in column.to_pylist()], pa.string())
    lists = pa.ListArray.from_arrays(column.offsets.cast(pa.int32()), values.cast(pa.string()).fill_null(_MISSING))
    texts = pc.binary_join(lists, _BETWEEN)
    return pc.if_else(column.is_valid(), texts, None)


def _of_list(text: str) -> tuple[object, dict[str, Any]]:
    return [None if label == _MISSING else label for label in text.split(_BETWEEN)], {}


def _of_cell(text: str) -> tuple[object, dict[str, Any]]:
    """What a cell of text says: labels with a bar between them; JSON, where its group was imputed."""
    if not text:
        return None, {}
    if text[0] in "[{":
        with suppress(ValueError, RecursionError):
            found = json.loads(text)
            return (found.get("value"), found) if isinstance(found, dict) else (found, {})
    doubt = text.endswith(WORDS)
    return [*text.removesuffix(WORDS).split(BAR), *([None] if doubt else [])], {}


def member_table(tree: Tree, members: tuple[tuple[int, ...], ...]) -> Flags:
    """Which leaves lie at or below the labels of each set: one row per set."""
    found = np.zeros((len(members), tree.leaves), bool)
    for number, nodes in enumerate(members):
        for node in nodes:
            found[number, tree.first[node] : tree.last[node] + 1] = True
    return found
