"""p_k-anon by the paper's own approximation (appendix B): effective attributes, effective realizations."""

from __future__ import annotations

import numpy as np

from shoal.errors import ModelError
from shoal.model.binomial import Floats
from shoal.model.estimate import Estimate
from shoal.model.exact import matched
from shoal.model.population import Publication

COVERAGE = 0.98
"""The least that the effective realizations must add up to (equation B.2)."""

MOST = 1 << 22
"""Realizations that are gone through at the most."""


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
    found = np.ones((len(published), 1))
    for stays, best in zip(likely.T[:, :, None], best_rest, strict=True):
        changed = found * (1 - stays)
        found = np.concatenate([found * stays, changed[:, changed[c] * best >= threshold]], axis=1)
        if found.shape[1] > MOST:
            raise ModelError(f"theta2: the tree grows beyond {MOST:,} realizations; use a larger one, or the grid")
    return found
