"""A cut: a question that divides tuples in two, and where those go who lack the value that it asks about.

Of the cuts that divide them about as wished, the one is best whose halves would lose least: around some of the tuples groups
are drawn up, of the nearest in the same half.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.policy import Attribute, Policy

_UNEVEN = 0.1  # by how much a half may be larger than it should
_GROUPS = 64
_FINE = 2**32  # distances that differ by less are alike


class Question(NamedTuple):
    """Is the value at most so large?"""

    quasi: int
    bound: float

    def answers(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """1 for yes, 0 for no, NaN for a value that is missing."""
        column = values[self.quasi]
        return np.where(np.isnan(column), np.nan, column <= self.bound)


class Cut(NamedTuple):
    question: Question
    instead: Question | None  # asked of those who lack the value
    turned: bool  # whether yes to that counts as no
    otherwise: bool  # what counts for those who lack that value, too

    def yes(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """
        >>> cut = Cut(Question(0, 5.0), Question(1, 2.0), turned=True, otherwise=True)
        >>> cut.yes(np.array([[4.0, 6.0, np.nan, np.nan, np.nan], [1.0, 1.0, 2.0, 3.0, np.nan]])).tolist()
        [True, False, False, True, True]
        """
        answers = self.question.answers(values)
        if self.instead:
            answers = np.where(np.isnan(answers), np.abs(self.instead.answers(values) - self.turned), answers)
        return np.where(np.isnan(answers), self.otherwise, answers) == 1


def best_cut(policy: Policy, values: NDArray[np.float64], share: float) -> Cut | None:
    """The cut to which about this share says yes, and whose halves would lose least; None if there is none."""
    tuples = _Tuples(policy, values)
    best, least = None, (True, np.inf)
    for cut in tuples.cuts(share):
        yes = cut.yes(values)
        if yes.all() or not yes.any():
            continue
        uneven = abs(float(yes.mean()) - share)
        rank = (True, uneven) if uneven > _UNEVEN else (False, tuples.loss(yes))
        if rank < least:
            best, least = cut, rank
    return best


class _Tuples:
    def __init__(self, policy: Policy, values: NDArray[np.float64]) -> None:
        self._policy, self._values = policy, values
        self._strict = policy.privacy.nulls_match != "maybe"
        self._order = np.argsort(values, axis=1, kind="stable")  # what is missing comes last
        self._sorted = np.take_along_axis(values, self._order, axis=1)
        self._steps = self._sorted[:, 1:] > self._sorted[:, :-1]
        size = values.shape[1]
        self._around = np.arange(min(size, _GROUPS)) * size // min(size, _GROUPS)
        apart = (self._apart(values[:, self._around]) * _FINE).astype(np.int64)
        self._near = apart * size + np.arange(size)  # no two alike, so that any way of sorting finds the same

    def cuts(self, share: float) -> Iterator[Cut]:
        """About each quasi-identifier the one that divides best who have it; and whether a value is there at all."""
        for q, (column, steps) in enumerate(zip(self._sorted, self._steps, strict=True)):
            ends, there = np.flatnonzero(steps), int((~np.isnan(column)).sum())
            if len(ends):
                end = ends[np.argmin(np.abs((ends + 1) / there - share))]
                yield from self._with_a_place_for_all(self._question(q, end), there < len(column))
            if 0 < there < len(column):
                yield Cut(Question(q, np.inf), None, turned=False, otherwise=False)

    def loss(self, yes: NDArray[np.bool_]) -> float:
        """What tuples would lose in these halves: in groups, around some of them, of the nearest in the same half."""
        size = min(self._policy.privacy.k, int(yes.sum()), int((~yes).sum()))
        near = np.where(yes[self._around][:, None] == yes, self._near, np.iinfo(np.int64).max)
        members = self._values[:, np.argpartition(near, size - 1, axis=1)[:, :size]]
        lows, highs = np.nan_to_num(np.fmin.reduce(members, 2)), np.nan_to_num(np.fmax.reduce(members, 2))
        missing, total = np.isnan(members).mean(2), 0.0
        for (name, attribute), low, high, lacking in zip(self._policy.quasi, lows, highs, missing, strict=True):
            wide = _widths(attribute, low, high)
            shown = np.where(lacking > 0, 1.0, wide) if self._strict else wide
            total += self._policy.weights.get(name, 1.0) * float(((1 - lacking) * shown).sum())
        return total

    def _question(self, q: int, end: int) -> Question:
        return Question(q, float(self._sorted[q, end] + self._sorted[q, end + 1]) / 2)

    def _with_a_place_for_all(self, question: Question, any_lack: bool) -> Iterator[Cut]:
        """Who lacks the value goes with the neighbours it may have; where nulls must be alike, all of them to one side."""
        if any_lack and not self._strict:
            yield self._like(question)
            return
        yield Cut(question, None, turned=False, otherwise=False)
        if any_lack:
            yield Cut(question, None, turned=False, otherwise=True)

    def _like(self, question: Question) -> Cut:
        """Who lacks the value is asked what most often has the same answer, if that is more often than the usual answer."""
        answers = question.answers(self._values)
        signs = np.nan_to_num(2 * answers - 1).astype(np.int64)  # 1, -1 and 0
        usual = bool(signs.sum() > 0)
        known = np.where(np.isnan(self._sorted), 0, signs[self._order])
        alike = np.cumsum(known, axis=1)[:, :-1] + (known < 0).sum(axis=1, keepdims=True)
        other = np.abs(known).sum(axis=1, keepdims=True) - alike
        counts = np.where(self._steps, (alike, other), -1)
        counts[:, question.quasi] = -1
        if counts.max() <= np.count_nonzero(answers == usual):
            return Cut(question, None, turned=False, otherwise=usual)
        turned, q, end = np.unravel_index(int(np.argmax(counts)), counts.shape)
        return Cut(question, self._question(int(q), int(end)), bool(turned), usual)

    def _apart(self, some: NDArray[np.float64]) -> NDArray[np.float64]:
        """How far some are from all: the mean over what both have; where nulls must be alike, what only one has counts as 1."""
        here, there = (~np.isnan(values) * 1.0 for values in (some, self._values))
        asked = here.T @ there
        if self._strict:
            asked = here.sum(axis=0)[:, None] + there.sum(axis=0) - asked
        total = np.zeros_like(asked)
        for (_, attribute), own, column in zip(self._policy.quasi, some, self._values, strict=True):
            mine, place = np.unique(own, return_inverse=True)
            theirs, other = np.unique(column, return_inverse=True)
            ends = np.nan_to_num(mine)[:, None], np.nan_to_num(theirs)
            wide = _widths(attribute, np.minimum(*ends), np.maximum(*ends))
            lacks, lack = np.isnan(mine)[:, None], np.isnan(theirs)
            wide = np.where(lacks | lack, self._strict & (lacks != lack), wide)
            total += wide[place[:, None], other]
        return np.where(asked > 0, total / np.maximum(asked, 1), 1.0)


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
