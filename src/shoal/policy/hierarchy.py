"""A hierarchy of categories, with its leaves numbered so that every node is an interval of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from shoal.policy.branches import Branches

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy:
    """A tree of labels as arrays.

    Nodes `0 .. leaves-1` are the leaves in depth-first order; inner nodes follow, children before parents,
    the root last. Node `n` covers the leaves `first[n] .. last[n]`.

    >>> tree = Hierarchy.of([["Paris", "France", "Europe"], ["Lyon", "France", "Europe"], ["Oslo", "Europe"]])
    >>> tree.labels
    ('Paris', 'Lyon', 'Oslo', 'France', 'Europe')
    >>> tree.first[3], tree.last[3]
    (np.int64(0), np.int64(1))
    """

    labels: tuple[str, ...]
    parent: Integers
    first: Integers
    last: Integers
    leaves: int
    code: Mapping[str, int]

    @classmethod
    def of(cls, lines: Sequence[Sequence[str]]) -> Hierarchy:
        """The hierarchy of lines that each lead from a leaf to the root.

        Raises
        ------
        PolicyError
            The lines are no tree.
        """
        branches = Branches()
        for number, line in enumerate(lines, 1):
            branches.add(line, f"line {number}")
        branches.check()
        return cls.grow(branches)

    @classmethod
    def grow(cls, branches: Branches) -> Hierarchy:
        """The hierarchy of branches that have been checked."""
        leaves, inner = _order(branches)
        labels = (*leaves, *inner)
        node: dict[str | None, int] = {label: number for number, label in enumerate(labels)}
        parent = [node.get(branches.parent[label], -1) for label in labels]
        first = [*range(len(leaves)), *[len(leaves)] * len(inner)]
        last = [*range(len(leaves)), *[-1] * len(inner)]
        for number, above in enumerate(parent):
            if above >= 0:
                first[above] = min(first[above], first[number])
                last[above] = max(last[above], last[number])
        code = MappingProxyType({label: number for number, label in enumerate(leaves)})
        return cls(labels, _still(parent), _still(first), _still(last), len(leaves), code)

    @property
    def root(self) -> int:
        """The root's number."""
        return len(self.labels) - 1

    def lines(self) -> list[list[str]]:
        """The labels from leaf to root, a line a leaf."""
        return [self._line(leaf) for leaf in range(self.leaves)]

    def _line(self, node: int) -> list[str]:
        line = []
        while node >= 0:
            line.append(self.labels[node])
            node = int(self.parent[node])
        return line

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return self.labels == other.labels and np.array_equal(self.parent, other.parent)

    def __hash__(self) -> int:
        return hash(self.labels)

    def __reduce__(self) -> tuple[object, tuple[list[list[str]]]]:
        return Hierarchy.of, (self.lines(),)

    def __repr__(self) -> str:
        return f"Hierarchy(root={self.labels[self.root]!r}, leaves={self.leaves}, nodes={len(self.labels)})"


def _order(branches: Branches) -> tuple[list[str], list[str]]:
    """Leaves in depth-first order, and inner nodes with children before parents."""
    leaves: list[str] = []
    inner: list[str] = []
    waiting = [(branches.root, False)]
    while waiting:
        label, done = waiting.pop()
        below = branches.children.get(label)
        if not below:
            leaves.append(label)
        elif done:
            inner.append(label)
        else:
            waiting.append((label, True))
            waiting.extend((child, False) for child in reversed(below))
    return leaves, inner


def _still(numbers: Sequence[int]) -> Integers:
    result = np.array(numbers, dtype=np.int64)
    result.flags.writeable = False
    return result
