"""The locality key: which lane a tuple takes, so that neighbours meet.

A tree of questions, each about one quasi-identifier: is the value there, and at most so large? It is learned from tuples of the
stream, which it cuts in halves again and again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.anonymizer.cut import best_cut
from shoal.policy import Policy

BEGINNING = 1024
"""Tuples that it is learned from; or more, where there are many lanes."""

_EACH = 32  # tuples for each lane


class Tree(NamedTuple):
    quasi: NDArray[np.int64]  # a question each: about this quasi-identifier
    bound: NDArray[np.float64]  # is the value at most so large?
    then: NDArray[np.int64]  # three columns, yes, no and missing: the next question, or lane i as -1 - i

    def lanes(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The lanes of tuples, whose values come a row a quasi-identifier.

        >>> tree = Tree(np.array([0, 1]), np.array([5.0, np.inf]), np.array([[-1, 1, -3], [-2, -3, -3]]))
        >>> tree.lanes(np.array([[4.0, 6.0, np.nan], [np.nan, 1.0, np.nan]])).tolist()
        [0, 1, 2]
        """
        value = values[self.quasi[0]]
        yes, no, missing = self.then[0]
        node = np.where(value <= self.bound[0], yes, np.where(np.isnan(value), missing, no))
        asked = np.flatnonzero(node >= 0)
        while len(asked):
            question = node[asked]
            value = values[self.quasi[question], asked]
            node[asked] = self.then[question, np.where(np.isnan(value), 2, value > self.bound[question])]
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
        cut = best_cut(policy, tuples, share // 2 / share) if share > 1 else None
        if cut is None:
            lanes += 1
            return -lanes
        first = len(quasi)
        for question in filter(None, (cut.question, cut.instead)):
            quasi.append(question.quasi)
            bound.append(question.bound)
            then.append([])
        yes = cut.yes(tuples)
        sides = [grow(tuples[:, yes], share // 2), grow(tuples[:, ~yes], share - share // 2)]
        otherwise = sides[not cut.otherwise]
        then[first] = [*sides, first + 1 if cut.instead else otherwise]
        if cut.instead:
            then[first + 1] = [*(reversed(sides) if cut.turned else sides), otherwise]
        return first

    if grow(values, policy.lanes) < 0:  # nothing tells them apart
        quasi, bound, then = [0], [np.inf], [[-1, -1, -1]]
    return Tree(np.array(quasi), np.array(bound), np.array(then))
