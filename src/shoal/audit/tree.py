"""The audit's own view of a hierarchy."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.policy import Hierarchy

Integers = NDArray[np.int32]


class Tree(NamedTuple):
    """Nodes in depth-first order, parents before children; node 0 is the root and covers leaves `first .. last`.

    >>> tree = Tree.of(Hierarchy.of([["Paris", "France", "Europe"], ["Lyon", "France", "Europe"], ["Oslo", "Europe"]]))
    >>> tree.name
    ('Europe', 'France', 'Paris', 'Lyon', 'Oslo')
    >>> tree.first.tolist(), tree.last.tolist(), tree.depth.tolist(), tree.leaves
    ([0, 0, 0, 1, 2], [2, 1, 0, 1, 2], [0, 1, 2, 2, 1], 3)
    """

    name: tuple[str, ...]
    first: Integers
    last: Integers
    depth: Integers
    leaves: int

    @classmethod
    def of(cls, hierarchy: Hierarchy) -> Tree:
        """The tree that the lines of a policy's hierarchy make, each from a leaf to the root."""
        below: dict[str, dict[str, None]] = {}
        lines = hierarchy.lines()
        for line in lines:
            for child, parent in pairwise(line):
                below.setdefault(parent, {})[child] = None
        name: list[str] = []
        depth: list[int] = []
        first: list[int] = []
        last: list[int] = []
        leaves = 0
        waiting = [(lines[0][-1], 0)]
        while waiting:
            label, level = waiting.pop()
            name.append(label)
            depth.append(level)
            first.append(leaves)
            leaves += label not in below
            last.append(leaves - 1)
            waiting.extend((child, level + 1) for child in reversed(below.get(label, ())))
        for node in range(len(name) - 1, -1, -1):
            after = node + 1
            while after < len(name) and depth[after] > depth[node]:
                last[node] = max(last[node], last[after])
                after += 1
        return cls(tuple(name), np.array(first, np.int32), np.array(last, np.int32), np.array(depth, np.int32), leaves)

    def node_of(self) -> dict[str, int]:
        """The number of each label's node."""
        return {label: node for node, label in enumerate(self.name)}

    def leaf_of(self) -> dict[str, int]:
        """The number of each leaf's label."""
        inner = np.append(self.depth[1:] > self.depth[:-1], False)
        return {label: int(self.first[node]) for node, label in enumerate(self.name) if not inner[node]}
