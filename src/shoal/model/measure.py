"""The distribution of s on a grid, an axis for each class: attribute by attribute, and the many quiet ones together."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.model.binomial import Floats
from shoal.model.stencil import Axis, Stencil, stencil

MANY = 64
"""Quiet attributes from which on they are convolved together."""

_QUIET = 8  # so many changes of quiet attributes lead beyond the grid
_NOTHING = 1e-17


class Measure(NamedTuple):
    """Weights of the points; the bound on what spreading cost; and the sum of the weights' absolute values, or more."""

    weights: Floats
    error: float
    growth: float


def measure(p: Floats, high: NDArray[np.bool_], shifts: Floats, axes: list[Axis], bends: list[float]) -> Measure:
    """What stands for the distribution of s, for users who publish with the probabilities p.

    `high` and `shifts` tell for each class whether p^Y is at least 0.5, and |logit p^Y|; `bends` the largest third derivative
    of h along each axis.
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
    f, error, growth = walk(f, p[loud], high[:, loud], shifts[:, loud], axes, bends)
    if quiet.any():
        together, more, times = _together(p[quiet], shifts[:, quiet], axes, bends)
        f, error, growth = product(f, together), error * times + more * growth, growth * times
    return Measure(f, error, growth)


def _line(f: Floats, p: Floats, high: NDArray[np.bool_], shifts: Floats, axes: list[Axis], bends: list[float]) -> Measure:
    """One class: the more probable state moves nothing. What leads beyond the grid is left out, since nothing matches there."""
    leaves = np.where(high[0], 1 - p, p)
    moves = stencil(shifts[0], axes[0])
    kernels = moves.weights * leaves[:, None]
    points = len(f)
    for stays, cell, kernel in zip((1 - leaves).tolist(), moves.cell.tolist(), kernels, strict=True):
        moved = np.convolve(f[: points - cell], kernel)
        f *= stays
        f[cell:] += moved[: points - cell]
    growth = float((1 - leaves + leaves * moves.growth).prod())
    return Measure(f, float(leaves @ moves.error) * bends[0] * growth, growth)


def _box(f: Floats, p: Floats, high: NDArray[np.bool_], shifts: Floats, axes: list[Axis], bends: list[float]) -> Measure:
    """Several classes: hidden moves along the axes of those that would rather show it, shown along the others."""
    states = [
        (1 - p, _stencils(np.where(high, shifts, 0.0), axes)),
        (p, _stencils(np.where(high, 0.0, shifts), axes)),
    ]
    for a in range(len(p)):
        f = sum((_moved(f * chance[a], stencils, a) for chance, stencils in states), np.zeros(()))
    costs = [_costs(chance, stencils, bends) for chance, stencils in states]
    growth = float(np.sum([own for _, own in costs], axis=0).prod())
    return Measure(f, sum(error for error, _ in costs) * growth, growth)


def _stencils(shifts: Floats, axes: list[Axis]) -> list[Stencil]:
    return [stencil(each, axis) for each, axis in zip(shifts, axes, strict=True)]


def _costs(chance: Floats, stencils: list[Stencil], bends: list[float]) -> tuple[float, Floats]:
    """(error, growth of each attribute) when shifts of this chance are spread along one axis after the other."""
    error = 0.0
    for each, bend in zip(stencils, bends, strict=True):
        error += float(chance @ each.error) * bend
        chance = chance * each.growth
    return error, chance


def _moved(f: Floats, stencils: list[Stencil], a: int) -> Floats:
    for axis, (cells, weights, _, _) in enumerate(stencils):
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


def _together(p: Floats, shifts: Floats, axes: list[Axis], bends: list[float]) -> tuple[Floats, float, float]:
    """Many attributes that are seldom published, without the factor that they are not: exp of a series, by log(1 + r x).

    log Π(1 + r_a x^d_a) = Σ_a Σ_j (-1)^(j+1) r_a^j x^(j d_a) / j, where r = p/(1 - p); the grid ends before j reaches 8.
    """
    odds = p / (1 - p)
    series = np.zeros([axis.points for axis in axes])
    size = error = 0.0
    for j in range(1, _QUIET + 1):
        chance = odds**j / j
        if chance.sum() < _NOTHING:
            break
        stencils = _stencils(j * shifts, axes)
        more, own = _costs(chance, stencils, bends)
        error, size = error + more, size + float(own.sum())
        _scatter(series, chance if j % 2 else -chance, stencils)
    growth = math.exp(size + float(np.log1p(-p).sum()))
    return _exponential(series, size), error * growth, growth


def _scatter(series: Floats, chance: Floats, stencils: list[Stencil]) -> None:
    """Add every attribute's spread shift."""
    for corner in np.ndindex(*[3] * len(stencils)):
        weight, place = chance, []
        for i, each, points in zip(corner, stencils, series.shape, strict=True):
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
    while term > _NOTHING and powers * nearest < 1:
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
