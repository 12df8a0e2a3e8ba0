"""p_k-anon for any catalogue: the distribution of log p_y, convolved on a grid.

log p_y is a sum of independent variables with two values each. Let s_i be how far log p_y lies, for class i, below that of the
class's most probable realization: each attribute that is not in its more probable state adds |logit p^Y|. What is wanted is
E[h(s)], where h, the probability that k - 1 others match, depends on y through s alone; h falls with every s_i, so the grid
ends where it is negligible. A shift between points of the grid is spread over three of them. `docs/model.md` shows why the
reported error is a bound.
"""

from __future__ import annotations

import math

import numpy as np

from shoal.errors import ModelError
from shoal.model.binomial import Floats
from shoal.model.estimate import Estimate
from shoal.model.exact import matched
from shoal.model.measure import measure
from shoal.model.population import Publication
from shoal.model.stencil import WORST, Axis, bend, horizon

POINTS = (1 << 16, 1 << 9)
"""Points of an axis at the most, for one class and for two; more classes have 2^20 points in all."""

ROUNDING = 1e-11
"""Allowed for what floating-point numbers lose."""

_BEYOND = 0.01  # of the tolerance: the chance of a match that is neglected


def grid(publication: Publication, k: int, tolerance: float = 1e-6) -> Estimate:
    """As many points as keep the bound on the error within the tolerance, as far as there is room for them.

    Parameters
    ----------
    publication
        What users publish.
    k
        The users who must share a realization.
    tolerance
        The error that is aimed at. The error that is reported may be larger where points run out: with several classes.

    Examples
    --------
    >>> from shoal.model import Population
    >>> found = grid(Population(1000, 0.2 / np.arange(1, 100_001)).publish(z=150, window=12), k=2)
    >>> round(found.value, 5), found.error < 1e-6
    (0.42469, True)
    """
    if k < 1:
        raise ModelError("k: is below 1; 2 is the least that hides anyone")
    if not 0 < tolerance < 1:
        raise ModelError("tolerance: lies outside 0 to 1; 1e-6 is the default")
    classes = range(len(publication.users))
    found = [(1.0, 0.0) if k == 1 else _of_class(publication, c, k, tolerance) for c in classes]
    return Estimate.over(publication.users, [value for value, _ in found], [error for _, error in found])


def _of_class(publication: Publication, c: int, k: int, tolerance: float) -> tuple[float, float]:
    others = publication.others(c)
    p = publication.published
    p = p[:, p.any(axis=0)]
    with np.errstate(divide="ignore"):
        shown, hidden = np.log(p), np.log1p(-p)
    tops = np.maximum(shown, hidden).sum(axis=1)
    needed = k - 1 if len(others) == 1 else 1  # with classes, the rest may come from another
    neglected = tolerance * _BEYOND
    reach = [top - horizon(n, needed, neglected / len(others)) for top, n in zip(tops, others, strict=True)]
    if max(reach) <= 0:
        return 0.0, neglected
    high, shifts = p >= 0.5, np.abs(shown - hidden)
    bends = [max(bend(n, m) for m in range(needed, k)) for n in others]
    axes = []
    for i, bent in enumerate(bends):
        leaves = np.where(high[i], 1 - p[c], p[c])[shifts[i] < reach[i]]
        axes.append(_axis(tops[i], reach[i], leaves, bent, tolerance / len(others), len(others)))
    weights, error, growth = measure(p[c], high, shifts, axes, bends)
    value = float((weights * _chance(others, k, axes)).sum())
    return min(max(value, 0.0), 1.0), error + neglected * growth + ROUNDING


def _axis(top: float, reach: float, leaves: Floats, bent: float, tolerance: float, classes: int) -> Axis:
    """A step so small that spreading costs at most nine tenths of the tolerance, if there is room for it."""
    if reach <= 0:
        return Axis(top, 1.0, 1)
    growth = math.exp(min(float(np.log1p(leaves / 4).sum()), 50.0))
    cost = WORST * bent * float(leaves.sum()) * growth
    step = (0.9 * tolerance / cost) ** (1 / 3) if cost else reach
    most = POINTS[classes - 1] if classes <= len(POINTS) else int((1 << 20) ** (1 / classes))
    points = max(3, min(most, math.ceil(reach / step) + 2))
    return Axis(top, reach / (points - 2), points)


def _chance(others: list[int], k: int, axes: list[Axis]) -> Floats:
    """h at every point."""
    lines = [np.exp(axis.top - axis.step * np.arange(axis.points)) for axis in axes]
    for line in lines:
        line[-1] = 0.0
    p = np.stack([each.ravel() for each in np.meshgrid(*lines, indexing="ij")])
    return matched(others, k, p).reshape([axis.points for axis in axes])
