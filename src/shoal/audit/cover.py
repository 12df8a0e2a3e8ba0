"""Whether what was published holds what came in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.audit.original import MISSING, UNKNOWN, Category, Numeric
from shoal.audit.published import Band, Node
from shoal.audit.values import Flags
from shoal.policy import Attribute, Policy

Rows = NDArray[np.int64]


class Cover(NamedTuple):
    """What is wrong with published values of one quasi-identifier, row by row."""

    outside: Flags  # the value does not lie in what is published
    vanished: Flags  # a value became null
    appeared: Flags  # null became a value


def cover(before: Numeric | Category, after: Band | Node, records: Rows, rows: Rows) -> Cover:
    """Compare records of the input with rows of the output."""
    null = after.null[rows]
    if isinstance(before, Numeric) and isinstance(after, Band):
        value = before.value[records]
        missing = np.isnan(value)
        inside = (after.lo[rows] <= value) & (value <= after.hi[rows])
    else:
        assert isinstance(before, Category) and isinstance(after, Node)
        leaf, node = before.leaf[records], after.node[rows]
        missing = leaf == MISSING
        known = np.maximum(node, 0)
        inside = (node >= 0) & (after.tree.first[known] <= leaf) & (leaf <= after.tree.last[known])
        inside |= (leaf == UNKNOWN) & (node == 0)
    return Cover(~missing & ~null & ~inside, ~missing & null, missing & ~null)


def is_root(column: Band | Node, attribute: Attribute, rows: Rows | slice = slice(None)) -> Flags:
    """Which of these rows show the whole range, or the root."""
    if isinstance(column, Band):
        return (column.lo[rows] == attribute.low) & (column.hi[rows] == attribute.high)
    return column.node[rows] == 0


def shows_roots(policy: Policy, quasi: Mapping[str, Band | Node]) -> Flags:
    """Which rows show the whole range and the root everywhere."""
    return np.logical_and.reduce([is_root(quasi[name], attribute) for name, attribute in policy.quasi])
