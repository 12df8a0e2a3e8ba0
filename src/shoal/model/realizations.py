"""p_k-anon by going through realizations: all of them (equation 5), or the paper's effective ones (appendix B)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.errors import ModelError
from shoal.model.binomial import Floats, total_tail
from shoal.model.population import Publication

ATTRIBUTES = 24  # more attributes than these have too many realizations to go through
COVERAGE = 0.98  # the least that the effective realizations must add up to (equation B.2)
NODES = 1 << 22  # the most realizations that the tree goes through
_TOGETHER = 18


class Estimate(NamedTuple):
    """p_k-anon of the whole population, the bound on its error, and p_k-anon of each class."""

    value: float
    error: float
    classes: tuple[float, ...]

    @classmethod
    def over(cls, users: tuple[int, ...], classes: list[float], errors: list[float]) -> Estimate:
        """Classes weighed by their users.

        >>> Estimate.over((3, 1), [1.0, 0.5], [0.0, 0.4])
        Estimate(value=0.875, error=0.1, classes=(1.0, 0.5))
        """
        total = sum(users)
        value = sum(n * p for n, p in zip(users, classes, strict=True)) / total
        error = sum(n * e for n, e in zip(users, errors, strict=True)) / total
        return cls(value, error, tuple(classes))


def exact(publication: Publication, k: int) -> Estimate:
    """Every realization: 2^A of them, so only for small catalogues.

    Examples
    --------
    >>> from shoal.model import Population
    >>> paper = Population(1000, 0.2 / np.arange(1, 21))
    >>> round(exact(paper.publish(z=150, window=12), k=2).value, 5)
    0.42469
    """
    published = publication.published[:, publication.published.any(axis=0)]
    if published.shape[1] > ATTRIBUTES:
        raise ModelError(
            f"attributes: {published.shape[1]:,} that may be published have too many realizations; "
            f"use the grid, or at most {ATTRIBUTES}"
        )
    values = []
    for c in range(len(publication.users)):
        others = publication.others(c)
        first, rest = published[:, :-_TOGETHER], published[:, -_TOGETHER:]
        block = realizations(rest)
        values.append(
            sum(float(matched(others, k, block * head[:, None]) @ (block[c] * head[c])) for head in realizations(first).T)
        )
    return Estimate.over(publication.users, values, [0.0] * len(values))


def realizations(published: Floats) -> Floats:
    """p_y of every realization, equation 4: a row for each class.

    >>> realizations(np.array([[0.5, 0.1]]))
    array([[0.45, 0.45, 0.05, 0.05]])
    """
    found = np.ones((len(published), 1))
    for p in published.T[:, :, None]:
        found = np.concatenate([found * (1 - p), found * p], axis=1)
    return found


def matched(others: list[int], k: int, p: Floats) -> Floats:
    """The probability that k - 1 others have a realization too, which a user of class i has with probability p[i]."""
    if k < 1:
        raise ModelError("k: is below 1; 2 is the least that hides anyone")
    return total_tail(others, k - 1, p)


def tree(publication: Publication, k: int, theta1: float = 1.0, theta2: float | None = None) -> Estimate:
    """The realizations with p_y of at least θ2 / 2^A_eff, over the attributes that θ1 users are expected to publish.

    Parameters
    ----------
    publication
        What users publish.
    k
        The users who must share a realization.
    theta1
        θ1: an attribute that fewer users than these are expected to publish is left out.
    theta2
        θ2. Unless given, 1, and then a tenth until equation B.2 holds.

    Examples
    --------
    >>> from shoal.model import Population
    >>> paper = Population(1000, 0.2 / np.arange(1, 21)).publish(z=150, window=12)
    >>> round(tree(paper, k=2).value, 4)
    0.4249
    """
    users = np.asarray(publication.users, np.float64)
    effective = users @ publication.published >= theta1
    published = publication.published[:, effective]
    left_out = publication.published[:, ~effective].sum(axis=1)
    values, errors = [], []
    for c in range(len(users)):
        step = 1.0 if theta2 is None else theta2
        found = _pruned(published, c, step)
        while theta2 is None and found[c].sum() < COVERAGE:
            step /= 10
            found = _pruned(published, c, step)
        values.append(float(matched(publication.others(c), k, found) @ found[c]))
        errors.append(max(1 - float(found[c].sum()), k * float(left_out.max())))
    return Estimate.over(publication.users, values, errors)


def _pruned(published: Floats, c: int, theta2: float) -> Floats:
    """The tree of class c without what is too rare, a row of p_y for each class.

    A node changes one attribute more than its parent and is never more probable, so a level of the tree is made of the nodes
    kept so far: what is cut off here is exactly what the depth-first walk cuts off, its children and the siblings to its right.
    """
    order = np.argsort(np.abs(published[c] - 0.5), kind="stable")
    likely = np.where(published[c] >= 0.5, published, 1 - published)[:, order]
    best_rest = np.append(np.cumprod(likely[c, :0:-1])[::-1], 1.0)[: len(order)]
    threshold = theta2 / 2.0 ** len(order)
    found = np.ones((len(published), int(likely[c].prod() >= threshold)))
    for stays, best in zip(likely.T[:, :, None], best_rest, strict=True):
        changed = found * (1 - stays)
        found = np.concatenate([found * stays, changed[:, changed[c] * best >= threshold]], axis=1)
        if found.shape[1] > NODES:
            raise ModelError(f"theta2: the tree grows beyond {NODES:,} realizations; use a larger one, or the grid")
    return found
