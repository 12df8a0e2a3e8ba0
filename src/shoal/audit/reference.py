"""What t compares the sensitive values of a group with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def distance(count: Ints, share: Floats) -> Floats:
    """Half the sum of the differences in share, row by row; `share` is that of the reference in the same values.

    It is the earth mover's distance where all values are equally far from each other, and no less than that along an order. A
    group without any value is at distance 0.

    >>> distance(np.array([[1, 1], [0, 0]]), np.array([[0.5, 0.25], [0.5, 0.25]])).tolist()
    [0.25, 0.0]
    """
    size = count.sum(axis=1, keepdims=True)
    apart = np.abs(count / np.maximum(size, 1) - share).sum(axis=1) + np.maximum(1.0 - share.sum(axis=1), 0.0)
    return np.where(size[:, 0] > 0, apart / 2, 0.0)


class Given(NamedTuple):
    """The distribution that a policy gives; a value that it lacks has share 0."""

    share: Floats  # by code

    @classmethod
    def of(cls, distribution: Mapping[str, float], texts: list[str]) -> Given:
        whole = sum(distribution.values())  # about 1
        return cls(np.array([*(distribution.get(text, 0.0) / whole for text in texts), 0.0]))

    def distance(self, value: Ints, count: Ints) -> Floats:
        return distance(count, self.share[value])


class Stream:
    """The values of the accepted records, in the order of their arrival; below 0 is no value.

    >>> Stream(np.array([1, -1, 0, 1])).distance(np.array([[0, 1]]), np.array([[1, 1]]), np.array([4])).round(3).tolist()
    [0.167]
    """

    def __init__(self, code: Ints) -> None:
        self._width = len(code) + 1
        has = np.flatnonzero(code >= 0)
        self._arrival = np.sort(code[has] * self._width + has)
        self._first = np.searchsorted(self._arrival, np.arange(int(code.max(initial=0)) + 1) * self._width)
        self.valued = np.append(0, np.cumsum(code >= 0))  # how many of the first n have a value

    def distance(self, value: Ints, count: Ints, arrivals: Ints) -> Floats:
        """How far each row is from the first so many arrivals."""
        known = np.maximum(value, 0)
        seen = np.searchsorted(self._arrival, known * self._width + arrivals[:, None]) - self._first[known]
        share = np.where(value < 0, 0, seen) / np.maximum(self.valued[arrivals], 1)[:, None]
        return distance(count, share)
