"""How often a group has shown each sensitive value, and how far that is from a reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
_CELLS = 1 << 20
Floats = NDArray[np.float64]


class Mixture(NamedTuple):
    """Some moments, one a row; the different values of the moment's group, one a column."""

    moment: Ints
    value: Ints  # the code of each value; -1 where a group has fewer
    counts: Ints  # how often it has been shown up to the end of the moment


def mixtures(group: Ints, moment: Ints, code: Ints, cells: int = _CELLS) -> Iterator[Mixture]:
    """The counts at every moment, some moments at a time; groups and moments are numbered from 0, in this order.

    A code below 0 is no value.

    >>> for found in mixtures(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 2]), np.array([7, 7, 4, -1])):
    ...     print(found.moment.tolist(), found.value.tolist(), found.counts.tolist())
    [2, 0, 1] [[-1, -1], [4, 7], [4, 7]] [[0, 0], [0, 2], [1, 2]]
    """
    if not len(group):
        return
    has = np.flatnonzero(code >= 0)
    width = int(code.max()) + 2
    pair, rank = np.unique(group[has] * width + code[has], return_inverse=True)
    first = np.searchsorted(pair, np.arange(int(group[-1]) + 2) * width)
    owner = group[np.flatnonzero(np.diff(moment, prepend=-1))]
    order = np.argsort(np.diff(first)[owner], kind="stable")  # like groups together, so that few columns are empty
    owner = owner[order]
    breadth = np.diff(first)[owner]
    row = np.argsort(order)[moment[has]]
    by_row = np.argsort(row, kind="stable")
    row, column = row[by_row], (rank - first[group[has]])[by_row]
    start, carried = 0, np.zeros(0, np.int64)
    while start < len(order):
        end = _end(breadth, start, cells)
        columns = np.arange(max(1, int(breadth[end - 1])))
        part = slice(*np.searchsorted(row, [start, end]))
        count = _counts(row[part] - start, column[part], owner[start:end], len(columns), carried)
        inside = columns < breadth[start:end, None]
        value = np.full(count.shape, -1)
        value[inside] = pair[(first[owner[start:end]][:, None] + columns)[inside]] % width
        yield Mixture(order[start:end], value, count)
        goes_on = end < len(order) and owner[end] == owner[end - 1]
        start, carried = end, count[-1] if goes_on else np.zeros(0, np.int64)


def _counts(row: Ints, column: Ints, owner: Ints, columns: int, carried: Ints) -> Ints:
    """Running totals down the rows of each owner; the first owner's go on from what is carried over."""
    total = np.cumsum(np.bincount(row * columns + column, minlength=len(owner) * columns).reshape(-1, columns), axis=0)
    begin = np.maximum.accumulate(np.where(np.diff(owner, prepend=-1) != 0, np.arange(len(owner)), 0))
    count: Ints = total - np.vstack([np.zeros(columns, np.int64), total])[begin]
    count[begin == 0, : len(carried)] += carried
    return count


def _end(breadth: Ints, start: int, cells: int) -> int:
    """Where to stop so that rows times columns stay below so many cells; breadths ascend."""
    far = min(start + max(1, cells // max(1, int(breadth[start]))), len(breadth))
    return min(far, start + max(1, cells // max(1, int(breadth[far - 1]))))


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
