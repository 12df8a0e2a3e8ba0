"""Whether what was published holds what came in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.audit.original import MISSING, UNKNOWN, Category, Numeric
from shoal.audit.published import NULL, Band, Node
from shoal.audit.values import Flags
from shoal.policy import Attribute, Policy

Rows = NDArray[np.integer]
NullsMatch = Literal["extended", "root", "maybe"]


class Cover(NamedTuple):
    """What is wrong with published values of one quasi-identifier, row by row."""

    outside: Flags  # the value does not lie in what is published
    vanished: Flags  # a value became null
    appeared: Flags  # null became a value

    def beyond(self, reading: NullsMatch, root: Flags) -> Cover:
        """What is left of it where a policy reads nulls so; `root` tells which rows show the root.

        Under `extended` a value may be blanked, for the group to look alike; under `root` the root stands for what is missing.
        """
        if reading == "extended":
            return self._replace(vanished=np.zeros_like(self.vanished))
        return self._replace(appeared=self.appeared & ~root) if reading == "root" else self


def cover(before: Numeric | Category, after: Band | Node, records: Rows, rows: Rows) -> Cover:
    """Compare records of the input with rows of the output."""
    if isinstance(before, Numeric) and isinstance(after, Band):
        value, lo = before.value[records], after.lo[rows]
        missing, null = np.isnan(value), np.isnan(lo)
        inside = (lo <= value) & (value <= after.hi[rows])
    else:
        assert isinstance(before, Category) and isinstance(after, Node)
        leaf, node = before.leaf[records], after.node[rows]
        missing, null = leaf == MISSING, node == NULL
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
