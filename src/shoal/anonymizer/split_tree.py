"""The split tree: a decision tree that names the lane of a tuple, so that similar tuples share a lane.

Each question compares one quasi-identifier with a bound: is value <= bound? The tree is learned from a sample of the stream, by
repeated splits into two parts. Among the splits whose parts have about the wanted sizes, the best split has the least loss.
The loss is estimated with groups: some tuples of the sample form groups with their nearest neighbours in the same part.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.policy import Attribute, Policy

SAMPLE = 1024
"""The least number of tuples that the tree is learned from; many lanes need more."""

_EACH = 32  # the least number of sample tuples per lane
_UNEVEN = 0.1  # how far the share of a part may be from the wanted share
_GROUPS = 64  # groups that the loss is estimated with
_RESOLUTION = 2**32  # distances are compared in units of 1 / _RESOLUTION
YES, NO = -1, -2  # the two lanes of a split, as entries of `branches`


class SplitTree(NamedTuple):
    quasi: NDArray[np.int64]  # one row per question: the quasi-identifier
    bound: NDArray[np.float64]  # the answer is yes if value <= bound
    branches: NDArray[np.int64]  # columns for yes, no and missing: the next question, or lane i as -1 - i

    def lanes(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The lane of each tuple; `values` has one row per quasi-identifier.

        >>> tree = SplitTree(np.array([0, 1]), np.array([5.0, np.inf]), np.array([[-1, 1, -3], [-2, -3, -3]]))
        >>> tree.lanes(np.array([[4.0, 6.0, np.nan], [np.nan, 1.0, np.nan]])).tolist()
        [0, 1, 2]
        """
        value = values[self.quasi[0]]
        yes, no, missing = self.branches[0]
        node = np.where(value <= self.bound[0], yes, np.where(np.isnan(value), missing, no))
        open_ = np.flatnonzero(node >= 0)
        while len(open_):
            question = node[open_]
            value = values[self.quasi[question], open_]
            node[open_] = self.branches[question, np.where(np.isnan(value), 2, value > self.bound[question])]
            open_ = open_[node[open_] >= 0]
        return -1 - node


class SplitLearner:
    """Learns a tree from the first tuples of the stream, and a new one after `relearn`."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.tree: SplitTree | None = None
        self.sample: NDArray[np.float64] | None = None  # None: no tree is being learned
        self.relearn()

    @property
    def wanted(self) -> int | None:
        """How many more tuples are needed to learn; None if no tree is being learned."""
        return None if self.sample is None else sample_size(self._policy) - self.sample.shape[1]

    def see(self, values: NDArray[np.float64]) -> bool:
        """Add at most `wanted` tuples to the sample; returns whether a tree was learned."""
        if self.sample is None:
            return False
        self.sample = np.hstack([self.sample, values])
        if self.wanted:
            return False
        self.tree, self.sample = learned_tree(self._policy, self.sample), None
        return True

    def relearn(self) -> None:
        """Learn a new tree from the next tuples; the old tree is used until then."""
        self.sample = np.zeros((len(self._policy.quasi), 0))


def sample_size(policy: Policy) -> int:
    """How many tuples a tree is learned from."""
    return max(SAMPLE, _EACH * policy.lanes)


def learned_tree(policy: Policy, values: NDArray[np.float64]) -> SplitTree:
    """The tree that splits these tuples into as many lanes as the policy has, or into fewer if they are too similar."""
    quasi: list[int] = []
    bound: list[float] = []
    branches: list[list[int]] = []
    lanes = 0

    def grow(tuples: NDArray[np.float64], share: int) -> int:
        """The number of the question that splits these tuples, or -1 - the number of their lane."""
        nonlocal lanes
        split = best_split(policy, tuples, share // 2 / share) if share > 1 else None
        if split is None:
            lanes += 1
            return -lanes
        first, side = len(quasi), split.lanes(tuples)
        quasi.extend(split.quasi)
        bound.extend(split.bound)
        branches.extend([] for _ in split.quasi)
        sides = [grow(tuples[:, side == 0], share // 2), grow(tuples[:, side == 1], share - share // 2)]
        for i, row in enumerate(split.branches.tolist()):
            branches[first + i] = [sides[-1 - branch] if branch < 0 else first + branch for branch in row]
        return first

    if grow(values, policy.lanes) < 0:  # no question splits the tuples
        quasi, bound, branches = [0], [np.inf], [[-1, -1, -1]]
    return SplitTree(np.array(quasi), np.array(bound), np.array(branches))


def best_split(policy: Policy, values: NDArray[np.float64], share: float) -> SplitTree | None:
    """The split with the least loss among those that put about `share` of the tuples in the first lane.

    If every split is too uneven, the most even one; None if no question splits the tuples.
    """
    tuples = _Tuples(policy, values)
    best, least = None, (True, np.inf)
    for split in tuples.splits(share):
        yes = split.lanes(values) == 0
        if yes.all() or not yes.any():
            continue
        uneven = abs(float(yes.mean()) - share)
        rank = (True, uneven) if uneven > _UNEVEN else (False, tuples.loss(yes))
        if rank < least:
            best, least = split, rank
    return best


def _split(q: int, bound: float, default: int) -> SplitTree:
    """Two lanes, for yes and for no; tuples without the value go to the default lane."""
    return SplitTree(np.array([q]), np.array([bound]), np.array([[YES, NO, default]]))


class _Tuples:
    def __init__(self, policy: Policy, values: NDArray[np.float64]) -> None:
        self._policy, self._values = policy, values
        self._strict = policy.privacy.nulls_match in ("extended", "root")
        self._order = np.argsort(values, axis=1, kind="stable")  # missing values come last
        self._sorted = np.take_along_axis(values, self._order, axis=1)
        self._steps = self._sorted[:, 1:] > self._sorted[:, :-1]
        size = values.shape[1]
        self._centres = np.arange(min(size, _GROUPS)) * size // min(size, _GROUPS)
        distance = (self._distances(values[:, self._centres]) * _RESOLUTION).astype(np.int64)
        self._near = distance * size + np.arange(size)  # all different, so that every sorting algorithm gives the same order

    def splits(self, share: float) -> Iterator[SplitTree]:
        """For each quasi-identifier: splits at the bound nearest to `share`, and the split by whether the value is missing."""
        for q, (column, steps) in enumerate(zip(self._sorted, self._steps, strict=True)):
            ends, present = np.flatnonzero(steps), int((~np.isnan(column)).sum())
            if len(ends):
                end = ends[np.argmin(np.abs((ends + 1) / present - share))]
                yield from self._with_missing(q, self._bound(q, end), present < len(column))
            if 0 < present < len(column):
                yield _split(q, np.inf, NO)

    def loss(self, yes: NDArray[np.bool_]) -> float:
        """The estimated loss of a split, in groups of some tuples with their nearest neighbours in the same part."""
        size = min(self._policy.privacy.k, int(yes.sum()), int((~yes).sum()))
        near = np.where(yes[self._centres][:, None] == yes, self._near, np.iinfo(np.int64).max)
        members = self._values[:, np.argpartition(near, size - 1, axis=1)[:, :size]]
        lows, highs = np.nan_to_num(np.fmin.reduce(members, 2)), np.nan_to_num(np.fmax.reduce(members, 2))
        missing, total = np.isnan(members).mean(2), 0.0
        for (name, attribute), low, high, lacking in zip(self._policy.quasi, lows, highs, missing, strict=True):
            wide = _widths(attribute, low, high)
            shown = np.where(lacking > 0, 1.0, wide) if self._strict else wide
            total += self._policy.weights.get(name, 1.0) * float(((1 - lacking) * shown).sum())
        return total

    def _bound(self, q: int, end: int) -> float:
        return float(self._sorted[q, end] + self._sorted[q, end + 1]) / 2

    def _with_missing(self, q: int, bound: float, any_missing: bool) -> Iterator[SplitTree]:
        """Splits by one question, one for each way to treat tuples without the value.

        If `nulls_match` is `maybe` or `blurred`, a surrogate question decides their lane, so that similar tuples share a lane.
        Otherwise a group needs equal missing patterns, and all tuples without the value go to one lane.
        """
        if any_missing and not self._strict:
            yield self._with_surrogate(q, bound)
            return
        yield _split(q, bound, NO)
        if any_missing:
            yield _split(q, bound, YES)

    def _with_surrogate(self, q: int, bound: float) -> SplitTree:
        """A split in which a second question, the surrogate, decides the lane of tuples without the value.

        The surrogate is the question about another quasi-identifier that predicts the first answer most often. If the more
        frequent answer is as good a prediction, there is no surrogate, and these tuples go to the lane of that answer.
        """
        column = self._values[q]
        signs = np.where(np.isnan(column), 0, np.where(column <= bound, 1, -1))
        usual = YES if signs.sum() > 0 else NO
        known = np.where(np.isnan(self._sorted), 0, signs[self._order])
        same = np.cumsum(known, axis=1)[:, :-1] + (known < 0).sum(axis=1, keepdims=True)
        opposite = np.abs(known).sum(axis=1, keepdims=True) - same
        counts = np.where(self._steps, (same, opposite), -1)
        counts[:, q] = -1
        if counts.max() <= np.count_nonzero(signs == (1 if usual == YES else -1)):
            return _split(q, bound, usual)
        inverted, other, end = (int(place) for place in np.unravel_index(int(np.argmax(counts)), counts.shape))
        questions, bounds = np.array([q, other]), np.array([bound, self._bound(other, end)])
        sides = [NO, YES] if inverted else [YES, NO]
        return SplitTree(questions, bounds, np.array([[YES, NO, 1], [*sides, usual]]))

    def _distances(self, some: NDArray[np.float64]) -> NDArray[np.float64]:
        """The distances from some tuples to all tuples: the mean over the values that both tuples have.

        If `nulls_match` is `extended` or `root`, a value that only one of the two tuples has counts as distance 1.
        """
        here, there = (~np.isnan(values) * 1.0 for values in (some, self._values))
        counted = here.T @ there
        if self._strict:
            counted = here.sum(axis=0)[:, None] + there.sum(axis=0) - counted
        total = np.zeros_like(counted)
        for (_, attribute), own, column in zip(self._policy.quasi, some, self._values, strict=True):
            value, place = np.unique(own, return_inverse=True)
            other, other_place = np.unique(column, return_inverse=True)
            ends = np.nan_to_num(value)[:, None], np.nan_to_num(other)
            wide = _widths(attribute, np.minimum(*ends), np.maximum(*ends))
            lacks, other_lacks = np.isnan(value)[:, None], np.isnan(other)
            wide = np.where(lacks | other_lacks, self._strict & (lacks != other_lacks), wide)
            total += wide[place[:, None], other_place]
        return np.where(counted > 0, total / np.maximum(counted, 1), 1.0)


def _widths(attribute: Attribute, low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """The loss of intervals, or of the lowest nodes that cover both leaves."""
    tree = attribute.hierarchy
    if tree is None:
        return (high - low) / (attribute.high - attribute.low)
    node = np.where(high >= tree.leaves, tree.root, low).astype(np.int64)
    last = np.minimum(high, tree.leaves - 1)
    while (short := tree.last[node] < last).any():
        node = np.where(short, tree.parent[node], node)
    return np.where(low == high, 0.0, (tree.last[node] - tree.first[node]) / max(tree.leaves - 1, 1))
