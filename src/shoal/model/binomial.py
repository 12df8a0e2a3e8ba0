"""Tails of binomials and of their sums: summed outward from the threshold, never by factorials."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

NOTHING = 45.0  # a probability below exp(-NOTHING), 3e-20, counts as none
_ROOM = 1 << 18  # numbers in one block
_HALVINGS = 12
_SHORT = 16  # up to here a product of polynomials is cheaper term by term


def upper_tail(n: int, m: int, p: ArrayLike) -> Floats:
    """P[Binomial(n, p) >= m], for each p.

    >>> upper_tail(3, 2, [0.0, 0.5, 1.0])
    array([0. , 0.5, 1. ])
    >>> float(upper_tail(10**6, 300_000, [0.3])[0].round(6))
    0.500377
    """
    p = np.atleast_1d(np.asarray(p, np.float64))
    if m <= 0:
        return np.ones_like(p)
    if m > n:
        return np.zeros_like(p)
    if m == 1:
        with np.errstate(divide="ignore"):
            return -np.expm1(n * np.log1p(-p))
    least, most = _between(n, m)
    tail = (p >= most).astype(np.float64)
    open_ = np.flatnonzero((p > least) & (p < most))
    if open_.size:
        q = p[open_]
        above = q * n < m - 1
        found = np.empty_like(q)
        found[above] = _summed(n, m, q[above])
        found[~above] = 1 - _summed(n, n - m + 1, 1 - q[~above])
        tail[open_] = found
    return tail


def total_tail(counts: Sequence[int], m: int, p: Floats) -> Floats:
    """P[sum of Binomial(counts[i], p[i]) >= m], for each column of p.

    >>> total_tail([3, 5], 2, np.array([[0.5], [0.5]])) - upper_tail(8, 2, 0.5)
    array([0.])
    """
    if len(counts) == 1:
        return upper_tail(counts[0], m, p[0])
    if m <= 0:
        return np.ones(p.shape[1])
    mean = np.asarray(counts, np.float64) @ p
    tail = (mean >= m).astype(np.float64)
    open_ = np.flatnonzero((_exponent(mean, m) < NOTHING) & (_exponent(mean, m - 1) < NOTHING))
    for some in _blocks(open_, 4 * m):
        below = np.ones((some.size, 1))
        for n, chance in zip(counts, p[:, some], strict=True):
            below = _product(below, _first(n, m, chance), m)
        tail[some] = 1 - below.sum(axis=1)
    return np.clip(tail, 0.0, 1.0)


def _exponent(mean: Floats, m: int) -> Floats:
    """Chernoff: a sum of independent indicators with this mean reaches m, from either side, with at most exp(-this)."""
    with np.errstate(divide="ignore"):
        return mean - m + (m * (math.log(m) - np.log(mean)) if m else 0.0)


def _between(n: int, m: int) -> tuple[float, float]:
    """Two p, below the first of which the tail is 0, and above the second 1, to within exp(-NOTHING)."""
    least, inside = 0.0, m / n
    for _ in range(_HALVINGS):
        middle = (least + inside) / 2
        least, inside = (middle, inside) if n * _divergence(m / n, middle) > NOTHING else (least, middle)
    inside, most = (m - 1) / n, 1.0
    for _ in range(_HALVINGS):
        middle = (inside + most) / 2
        inside, most = (inside, middle) if n * _divergence((m - 1) / n, middle) > NOTHING else (middle, most)
    return least, most


def _divergence(x: float, p: float) -> float:
    if not 0 < p < 1:
        return math.inf
    return (x * math.log(x / p) if x else 0.0) + ((1 - x) * math.log((1 - x) / (1 - p)) if x < 1 else 0.0)


def _summed(n: int, m: int, p: Floats) -> Floats:
    """P[Binomial(n, p) >= m] for m above the mean: P[= m] times 1 + r + r·r' + …, ratios that fall."""
    found = np.empty_like(p)
    for some in _blocks(np.argsort(p), 1 + _terms(n, m, p)):
        q = p[some]
        j = np.arange(m, m + _terms(n, m, q))
        ratios = (q / (1 - q))[:, None] * ((n - j) / (j + 1))
        found[some] = _mass(n, m, q) * (1 + np.cumprod(ratios, axis=1).sum(axis=1))
    return found


def _terms(n: int, m: int, p: Floats) -> int:
    """How many terms it takes until they fall below 1e-18 of the first: they fall like a normal density."""
    return min(n - m, int(9.5 * math.sqrt(n * float((p * (1 - p)).max(initial=0.0)))) + 24)


def _mass(n: int, x: int, p: Floats) -> Floats:
    """P[Binomial(n, p) = x] after Loader (2000): Stirling's error and the divergence of x/n from p, without cancellation."""
    if x == n:
        return p**n
    off = n * p - x
    scale = _stirling(n) - _stirling(x) - _stirling(n - x) + 0.5 * math.log(n / (2 * math.pi * x * (n - x)))
    with np.errstate(divide="ignore"):
        return np.exp(scale + x * np.log1p(off / x) + (n - x) * np.log1p(-off / (n - x)))


def _stirling(v: int) -> float:
    """log v! less Stirling's formula."""
    if v < 16:
        return math.lgamma(v + 1) - (v + 0.5) * math.log(v) + v - 0.5 * math.log(2 * math.pi)
    return 1 / (12 * v) - 1 / (360 * v**3) + 1 / (1260 * v**5) - 1 / (1680 * v**7)


def _first(n: int, m: int, p: Floats) -> Floats:
    """P[Binomial(n, p) = j] for j < m, a row for each p."""
    j = np.arange(min(m, n + 1))
    ways = np.concatenate([[0.0], np.cumsum(np.log((n - j[:-1]) / (j[:-1] + 1)))])
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.where(j == 0, 0.0, j * np.log(p)[:, None])
        rest = np.where(j == n, 0.0, (n - j) * np.log1p(-p)[:, None])
    return np.exp(ways + odds + rest)


def _product(a: Floats, b: Floats, m: int) -> Floats:
    """Rows of a times rows of b, as polynomials, up to degree m - 1."""
    if min(a.shape[1], b.shape[1]) <= _SHORT:
        short, long = (a, b) if a.shape[1] < b.shape[1] else (b, a)
        out = np.zeros((len(a), min(m, a.shape[1] + b.shape[1] - 1)))
        for i in range(short.shape[1]):
            width = min(long.shape[1], out.shape[1] - i)
            out[:, i : i + width] += short[:, i : i + 1] * long[:, :width]
        return out
    size = 1 << (a.shape[1] + b.shape[1] - 1).bit_length()
    return np.fft.irfft(np.fft.rfft(a, size) * np.fft.rfft(b, size), size)[:, :m]


def _blocks(order: NDArray[np.intp], width: int) -> Iterator[NDArray[np.intp]]:
    step = max(1, _ROOM // width)
    for start in range(0, len(order), step):
        yield order[start : start + step]
