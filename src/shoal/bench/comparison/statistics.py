"""Intervals of confidence, and a paired test, over repetitions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

CONFIDENCE = 0.95
_EXACT = 14  # pairs up to which every choice of signs is tried
_DRAWS = 20_000


def mean_and_half(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean, and half the width of its 95 % interval by Student's t; None with fewer than two values.

    >>> mean, half = mean_and_half([1.0, 2.0, 3.0])
    >>> mean, round(half, 3)
    (2.0, 2.484)
    """
    mean, count = float(np.mean(values)), len(values)
    if count < 2:
        return mean, None
    return mean, quantile(count - 1) * float(np.std(values, ddof=1)) / math.sqrt(count)


def quantile(freedom: int, confidence: float = CONFIDENCE) -> float:
    """The t that |T| stays below with this probability, T having Student's distribution.

    >>> [round(quantile(freedom), 3) for freedom in (1, 4, 9, 30)]
    [12.706, 2.776, 2.262, 2.042]
    """
    low, high = 0.0, 1e4
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < confidence else (low, middle)
    return (low + high) / 2


def _within(t: float, freedom: int) -> float:
    """P(|T| < t): the finite series for whole degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan2(t, math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    term, total = (cosine, 0.0) if freedom % 2 else (1.0, 0.0)
    start = 1 if freedom % 2 else 0
    for power in range(start, freedom - 1, 2):
        total += term
        term *= cosine * cosine * (power + 1) / (power + 2)
    return 2 / math.pi * (angle + sine * total) if freedom % 2 else sine * total


def paired(differences: Sequence[float], seed: int = 0) -> float | None:
    """The p-value of a paired permutation test: how often random signs give a mean at least as far from 0.

    If nothing distinguished two algorithms, each difference could as well have the other sign. With up to 14 pairs all signs
    are tried, so the test is exact; the smallest p of n pairs is 2 / 2^n. None with fewer than two pairs.

    >>> paired([1.0, 2.0, 3.0]), paired([0.0, 0.0]), paired([1.0])
    (0.25, 1.0, None)
    """
    each = np.asarray(differences, dtype=np.float64)
    if len(each) < 2:
        return None
    observed = abs(float(each.sum()))
    if len(each) <= _EXACT:
        signs = np.array(list(product((-1.0, 1.0), repeat=len(each))))
        return float(np.mean(np.abs(signs @ each) >= observed * (1 - 1e-12)))
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), (_DRAWS, len(each)))
    return float((1 + np.sum(np.abs(signs @ each) >= observed * (1 - 1e-12))) / (1 + _DRAWS))


def holm(found: Mapping[str, float | None]) -> dict[str, float | None]:
    """P-values corrected for their number by Holm's rule.

    >>> holm({"a": 0.01, "b": 0.04, "c": None})
    {'a': 0.02, 'b': 0.04, 'c': None}
    """
    known = sorted((p, name) for name, p in found.items() if p is not None)
    corrected: dict[str, float | None] = dict.fromkeys(found)
    highest = 0.0
    for place, (p, name) in enumerate(known):
        highest = max(highest, min(1.0, p * (len(known) - place)))
        corrected[name] = highest
    return corrected
