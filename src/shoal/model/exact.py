"""p_k-anon by equation 5 itself, over all realizations."""

from __future__ import annotations

import numpy as np

from shoal.errors import ModelError
from shoal.model.binomial import Floats, total_tail
from shoal.model.estimate import Estimate
from shoal.model.population import Publication

MOST = 24
"""More attributes than these have too many realizations to go through."""

_TOGETHER = 18


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
    if published.shape[1] > MOST:
        raise ModelError(
            f"attributes: {published.shape[1]:,} that may be published have too many realizations; "
            f"use the grid, or at most {MOST}"
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
