"""The locality key: which lane a tuple takes, so that neighbours meet.

A tree of questions, each about one quasi-identifier: is the value there, and at most so large? It is learned from tuples of the
stream, whose values it cuts in halves again and again, each time where the halves would lose least.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.policy import Attribute, Policy

BEGINNING = 1024
"""Tuples that it is learned from; or more, where there are many lanes."""

_EACH = 32  # tuples for each lane
_UNEVEN = 0.1  # by how much a half may be larger than it should
_TRIED = 4  # cuts of one quasi-identifier
_OUTLIERS = 20  # of so many, one at either end


class Tree(NamedTuple):
    quasi: NDArray[np.int64]  # a question each: about this quasi-identifier
    bound: NDArray[np.float64]  # up to here yes; a missing value is always no
    then: NDArray[np.int64]  # two columns, yes and no: the next question, or lane i as -1 - i

    def lanes(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The lanes of tuples, whose values come a row a quasi-identifier.

        >>> tree = Tree(np.array([0, 1]), np.array([5.0, np.inf]), np.array([[-1, 1], [-2, -3]]))
        >>> tree.lanes(np.array([[4.0, 6.0, np.nan], [np.nan, 1.0, np.nan]])).tolist()
        [0, 1, 2]
        """
        node = np.zeros(values.shape[1], np.int64)
        asked = np.arange(values.shape[1])
        while len(asked):
            question = node[asked]
            answer = values[self.quasi[question], asked] <= self.bound[question]
            node[asked] = self.then[question, 1 - answer.astype(np.int64)]
            asked = asked[node[asked] >= 0]
        return -1 - node


class Locality:
    """Learns a tree from the stream's beginning, and again when asked."""

    def __init__(self, policy: Policy) -> None:
        self._lanes = policy.lanes
        self._policy = policy
        self.tree: Tree | None = None
        self.sample: NDArray[np.float64] | None = np.zeros((len(policy.quasi), 0))  # None: nothing is to be learned

    @property
    def wanted(self) -> int | None:
        """How many tuples more are needed to learn; None if nothing is to be learned."""
        return None if self.sample is None else max(BEGINNING, _EACH * self._lanes) - self.sample.shape[1]

    def see(self, values: NDArray[np.float64]) -> bool:
        """Look at tuples, no more than are wanted; whether something was learned."""
        if self.sample is None:
            return False
        self.sample = np.hstack([self.sample, values])
        if self.wanted:
            return False
        self.tree, self.sample = learned(self._policy, self.sample), None
        return True

    def relearn(self) -> None:
        """Learn from the next tuples; until then the old tree holds."""
        self.sample = np.zeros((len(self._policy.quasi), 0))


def learned(policy: Policy, values: NDArray[np.float64]) -> Tree:
    """The tree that cuts these tuples into as many lanes as the policy has, or into fewer if they are too much alike."""
    quasi: list[int] = []
    bound: list[float] = []
    then: list[list[int]] = []
    lanes = 0

    def grow(tuples: NDArray[np.float64], share: int) -> int:
        """The number of the question that cuts these tuples, or -1 - the number of their lane."""
        nonlocal lanes
        cut = _cut(policy, tuples, share // 2 / share) if share > 1 else None
        if cut is None:
            lanes += 1
            return -lanes
        node = len(quasi)
        quasi.append(cut[0])
        bound.append(cut[1])
        then.append([0, 0])
        yes = tuples[cut[0]] <= cut[1]
        then[node] = [grow(tuples[:, yes], share // 2), grow(tuples[:, ~yes], share - share // 2)]
        return node

    if grow(values, policy.lanes) < 0:  # nothing tells them apart
        quasi, bound, then = [0], [np.inf], [[-1, -1]]
    return Tree(np.array(quasi), np.array(bound), np.array(then))


def _cut(policy: Policy, values: NDArray[np.float64], share: float) -> tuple[int, float] | None:
    """The question to which about this share says yes, and whose halves would lose least; None if there is none."""
    best, least = None, (True, np.inf)
    for q, column in enumerate(values):
        found, count = np.unique(column[~np.isnan(column)], return_counts=True)
        part = np.cumsum(count) / len(column)
        middles = np.append((found[:-1] + found[1:]) / 2, np.inf) if len(found) else part
        uneven = np.abs(part - share)[part < 1]
        for place in np.argsort(uneven, kind="stable")[:_TRIED]:
            yes = column <= middles[place]
            loss = sum(_loss(policy, half) * half.shape[1] for half in (values[:, yes], values[:, ~yes]))
            rank = (False, loss) if uneven[place] <= _UNEVEN else (True, float(uneven[place]))
            if rank < least:
                best, least = (q, float(middles[place])), rank
    return best


def _loss(policy: Policy, values: NDArray[np.float64]) -> float:
    """About what tuples would lose in a group of all of them but outliers, and by what some of them lack."""
    total = 0.0
    for (name, attribute), column in zip(policy.quasi, values, strict=True):
        there = np.sort(column[~np.isnan(column)])
        missing = 1 - len(there) / len(column)
        if len(there):
            outliers = len(there) // _OUTLIERS
            wide = _width(attribute, there[outliers], there[-1 - outliers])
            total += policy.weights.get(name, 1.0) * (1 - missing) * (wide + missing)
    return total


def _width(attribute: Attribute, low: float, high: float) -> float:
    """The loss of an interval, or of the lowest node that covers both leaves."""
    tree = attribute.hierarchy
    if tree is None:
        return float((high - low) / (attribute.high - attribute.low))
    if low == high or tree.leaves == 1:
        return 0.0
    node = tree.root if high >= tree.leaves else int(low)
    while tree.last[node] < min(high, tree.leaves - 1):
        node = int(tree.parent[node])
    return float((tree.last[node] - tree.first[node]) / (tree.leaves - 1))
