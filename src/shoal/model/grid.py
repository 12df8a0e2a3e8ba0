"""p_k-anon for any catalogue: the distribution of log p_y, convolved on a grid.

log p_y is a sum of independent variables with two values each. Let s_i be how far log p_y lies, for class i, below that of the
class's most probable realization: each attribute that is not in its more probable state adds |logit p^Y|. What is wanted is
E[h(s)], where h, the probability that k - 1 others match, depends on y through s alone; h falls with every s_i, so the grid
ends where it is negligible. A shift between points of the grid is spread over three of them. `docs/model.md` shows why the
reported error is a bound.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ModelError
from shoal.model.binomial import Floats
from shoal.model.population import Publication
from shoal.model.realizations import Estimate, matched

POINTS = (1 << 16, 1 << 9)  # points of an axis at the most, for one class and for two; more classes have 2^20 points in all
ROUNDING = 1e-11  # allowed for what floating-point numbers lose
MANY = 64  # more quiet attributes than these are convolved together
WORST = 1 / (9 * math.sqrt(3))  # the largest |t (t² - 1)| / 6 for |t| <= 1
_BEYOND = 0.01  # of the tolerance: the probability of a match that is neglected
_QUIET = 8  # so many changes of quiet attributes lead beyond the grid
_NEGLIGIBLE = 1e-17
_SAFETY = 1.05
_FINE = 0.02


class Axis(NamedTuple):
    """The points 0, step, 2·step, … of one class; the last stands for everything beyond."""

    top: float  # log p_y at 0
    step: float
    points: int
    derivative: float = 0.0  # the largest third derivative of h along it

    @property
    def beyond(self) -> float:
        """Shifts from here on leave the grid; there a match is negligible."""
        return self.step * max(self.points - 2, 0)


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
    axes = []
    for i, n in enumerate(others):
        derivative = max(third_derivative(n, m) for m in range(needed, k))
        leaves = np.where(high[i], 1 - p[c], p[c])[shifts[i] < reach[i]]
        axes.append(_axis(tops[i], reach[i], leaves, derivative, tolerance / len(others), len(others)))
    weights, error, growth = distribution(p[c], high, shifts, axes)
    value = float((weights * _chance(others, k, axes)).sum())
    return min(max(value, 0.0), 1.0), error + neglected * growth + ROUNDING


def _axis(top: float, reach: float, leaves: Floats, derivative: float, tolerance: float, classes: int) -> Axis:
    """A step so small that spreading costs at most nine tenths of the tolerance, if there is room for it."""
    if reach <= 0:
        return Axis(top, 1.0, 1, derivative)
    growth = math.exp(min(float(np.log1p(leaves / 4).sum()), 50.0))
    cost = WORST * derivative * float(leaves.sum()) * growth
    step = (0.9 * tolerance / cost) ** (1 / 3) if cost else reach
    most = POINTS[classes - 1] if classes <= len(POINTS) else int((1 << 20) ** (1 / classes))
    points = max(3, min(most, math.ceil(reach / step) + 2))
    return Axis(top, reach / (points - 2), points, derivative)


def _chance(others: list[int], k: int, axes: list[Axis]) -> Floats:
    """h at every point."""
    lines = [np.exp(axis.top - axis.step * np.arange(axis.points)) for axis in axes]
    for line in lines:
        line[-1] = 0.0
    p = np.stack([each.ravel() for each in np.meshgrid(*lines, indexing="ij")])
    return matched(others, k, p).reshape([axis.points for axis in axes])


class Interpolation(NamedTuple):
    """Shifts spread by quadratic interpolation: three points from `cell` on, their weights, and the two costs."""

    cell: NDArray[np.int64]
    weights: Floats  # three for each shift
    growth: Floats  # the sum of the weights' absolute values: 1 to 1.25
    error: Floats  # |t (t² - 1)| / 6, times step³: to be multiplied by the third derivative


def interpolate(shifts: Floats, axis: Axis) -> Interpolation:
    """A shift of 0 stays as it is, one that leads beyond the grid goes to the last point.

    >>> interpolate(np.array([0.0, 0.75, 9.0]), Axis(0.0, 0.5, 11)).weights
    array([[ 1.   ,  0.   ,  0.   ],
           [ 0.375,  0.75 , -0.125],
           [ 1.   ,  0.   ,  0.   ]])
    """
    spread = (shifts > 0) & (shifts < axis.beyond)
    place = np.where(spread, shifts, 0.0) / axis.step
    middle = np.maximum(np.rint(place), 1.0)
    t = place - middle
    weights = np.stack([t * (t - 1) / 2, 1 - t * t, t * (t + 1) / 2], axis=-1)
    cell = np.where(spread, middle - 1, np.where(shifts > 0, axis.points - 1, 0)).astype(np.int64)
    weights[~spread] = (1.0, 0.0, 0.0)
    error = np.where(spread, np.abs(t * (t * t - 1)) / 6 * axis.step**3, 0.0)
    return Interpolation(cell, weights, np.abs(weights).sum(axis=-1), error)


@lru_cache(maxsize=256)
def third_derivative(n: int, m: int) -> float:
    """The largest third derivative by log p of P[Binomial(n, p) >= m], in absolute value.

    With φ = m·P[Binomial = m], the first derivative, and y = (n - m)·p/(1 - p), it is φ·((m - y)² - y·(1 + y/(n - m))). It is
    sampled fifty times in its own width, 1/√m: near a maximum it changes between two samples by far less than the 5 % added.

    >>> round(third_derivative(999, 1), 3)
    0.452
    """
    if n < m:
        return 0.0
    if n == m:
        return float(m**3)
    low = math.log(1e-3 * m / n)
    high = min(-1e-6, math.log((m + 12 * math.sqrt(m) + 60) / n))
    log_p = np.append(np.arange(low, high, _FINE / math.sqrt(m)), high)
    p = np.exp(log_p)
    y = (n - m) * p / (1 - p)
    ways = math.lgamma(n + 1) - math.lgamma(m) - math.lgamma(n - m + 1)
    slope = np.exp(ways + m * log_p + (n - m) * np.log1p(-p))
    return _SAFETY * float(np.abs(slope * ((m - y) ** 2 - y * (1 + y / (n - m)))).max())


def horizon(n: int, m: int, chance: float) -> float:
    """A log p below which m of n match with at most this chance: (n p)^m / m! bounds it.

    >>> round(math.exp(horizon(1000, 1, 0.01)), 9)
    1e-05
    """
    return math.inf if n < m else (math.log(chance) + math.lgamma(m + 1)) / m - math.log(n)


class Distribution(NamedTuple):
    """Weights of the points; the bound on what spreading cost; and the sum of the weights' absolute values, or more."""

    weights: Floats
    error: float
    growth: float


def distribution(p: Floats, high: NDArray[np.bool_], shifts: Floats, axes: list[Axis]) -> Distribution:
    """What stands for the distribution of s, for users who publish with the probabilities p.

    `high` and `shifts` say for each class whether p^Y is at least 0.5, and give |logit p^Y|.
    """
    ends = np.array([[axis.beyond] for axis in axes])
    low = ~high.any(axis=0)
    gone = low & (shifts >= ends).all(axis=0)
    quiet = low & ~gone & (shifts >= ends / _QUIET).all(axis=0)
    if np.count_nonzero(quiet) <= MANY:
        quiet = np.zeros_like(low)
    loud = ~(gone | quiet)
    f = np.zeros([axis.points for axis in axes])
    f.flat[0] = math.exp(float(np.log1p(-p[~loud]).sum()))
    walk = _line if len(axes) == 1 else _box
    f, error, growth = walk(f, p[loud], high[:, loud], shifts[:, loud], axes)
    if quiet.any():
        together, more, times = _together(p[quiet], shifts[:, quiet], axes)
        f, error, growth = product(f, together), error * times + more * growth, growth * times
    return Distribution(f, error, growth)


def _line(f: Floats, p: Floats, high: NDArray[np.bool_], shifts: Floats, axes: list[Axis]) -> Distribution:
    """One class: the more probable state moves nothing. What leads beyond the grid is left out, since nothing matches there."""
    leaves = np.where(high[0], 1 - p, p)
    moves = interpolate(shifts[0], axes[0])
    kernels = moves.weights * leaves[:, None]
    points = len(f)
    for stays, cell, kernel in zip((1 - leaves).tolist(), moves.cell.tolist(), kernels, strict=True):
        moved = np.convolve(f[: points - cell], kernel)
        f *= stays
        f[cell:] += moved[: points - cell]
    growth = float((1 - leaves + leaves * moves.growth).prod())
    return Distribution(f, float(leaves @ moves.error) * axes[0].derivative * growth, growth)


def _box(f: Floats, p: Floats, high: NDArray[np.bool_], shifts: Floats, axes: list[Axis]) -> Distribution:
    """Several classes: hidden moves along the axes of those that would rather show it, shown along the others."""
    states = [
        (1 - p, _interpolations(np.where(high, shifts, 0.0), axes)),
        (p, _interpolations(np.where(high, 0.0, shifts), axes)),
    ]
    for a in range(len(p)):
        f = sum((_moved(f * chance[a], spreads, a) for chance, spreads in states), np.zeros(()))
    costs = [_costs(chance, spreads, axes) for chance, spreads in states]
    growth = float(np.sum([own for _, own in costs], axis=0).prod())
    return Distribution(f, sum(error for error, _ in costs) * growth, growth)


def _interpolations(shifts: Floats, axes: list[Axis]) -> list[Interpolation]:
    return [interpolate(each, axis) for each, axis in zip(shifts, axes, strict=True)]


def _costs(chance: Floats, spreads: list[Interpolation], axes: list[Axis]) -> tuple[float, Floats]:
    """(error, growth of each attribute) when shifts of this chance are spread along one axis after the other."""
    error = 0.0
    for each, axis in zip(spreads, axes, strict=True):
        error += float(chance @ each.error) * axis.derivative
        chance = chance * each.growth
    return error, chance


def _moved(f: Floats, spreads: list[Interpolation], a: int) -> Floats:
    for axis, (cells, weights, _, _) in enumerate(spreads):
        if cells[a] == 0 and weights[a, 0] == 1:
            continue
        f = np.moveaxis(f, axis, -1)
        out = np.zeros_like(f)
        last = f.shape[-1] - 1
        for i, weight in enumerate(weights[a]):
            start = min(int(cells[a]) + i, last)
            out[..., start:last] += weight * f[..., : last - start]
            out[..., last] += weight * f[..., last - start :].sum(axis=-1)
        f = np.moveaxis(out, -1, axis)
    return f


def _together(p: Floats, shifts: Floats, axes: list[Axis]) -> tuple[Floats, float, float]:
    """Many attributes that are seldom published, without the factor that they are not: exp of a series, by log(1 + r x).

    log Π(1 + r_a x^d_a) = Σ_a Σ_j (-1)^(j+1) r_a^j x^(j d_a) / j, where r = p/(1 - p); the grid ends before j reaches 8.
    """
    odds = p / (1 - p)
    series = np.zeros([axis.points for axis in axes])
    size = error = 0.0
    for j in range(1, _QUIET + 1):
        chance = odds**j / j
        if chance.sum() < _NEGLIGIBLE:
            break
        spreads = _interpolations(j * shifts, axes)
        more, own = _costs(chance, spreads, axes)
        error, size = error + more, size + float(own.sum())
        _scatter(series, chance if j % 2 else -chance, spreads)
    growth = math.exp(size + float(np.log1p(-p).sum()))
    return _exponential(series, size), error * growth, growth


def _scatter(series: Floats, chance: Floats, spreads: list[Interpolation]) -> None:
    """Add every attribute's spread shift."""
    for corner in np.ndindex(*[3] * len(spreads)):
        weight, place = chance, []
        for i, each, points in zip(corner, spreads, series.shape, strict=True):
            weight = weight * each.weights[:, i]
            place.append(np.minimum(each.cell + i, points - 1))
        flat = np.ravel_multi_index(place, series.shape)
        series += np.bincount(flat, weight, series.size).reshape(series.shape)


def _exponential(series: Floats, size: float) -> Floats:
    """exp as a power series, by Horner's scheme, up to the power that is beyond the grid or negligible."""
    one = np.zeros_like(series)
    one.flat[0] = 1.0
    nearest = min(float(i.min()) / max(1, n - 1) for i, n in zip(np.nonzero(series), series.shape, strict=True))
    powers, term = 1, size
    while term > _NEGLIGIBLE and powers * nearest < 1:
        powers += 1
        term *= size / powers
    found = one
    for j in range(powers, 0, -1):
        found = one + product(found, series / j)
    return found


def product(a: Floats, b: Floats) -> Floats:
    """The convolution of two measures; what leads beyond an axis goes to its last point.

    >>> product(np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.5, 0.5]))[1:].round(12)
    array([0.25, 0.75])
    """
    sizes = [1 << (2 * n - 1).bit_length() for n in a.shape]
    axes = tuple(range(a.ndim))
    out = np.fft.irfftn(np.fft.rfftn(a, sizes, axes) * np.fft.rfftn(b, sizes, axes), sizes, axes)
    for axis, n in enumerate(a.shape):
        out = np.moveaxis(out, axis, -1)
        beyond = out[..., n:].sum(axis=-1)
        out = out[..., :n]
        out[..., -1] += beyond
        out = np.moveaxis(out, -1, axis)
    return out
