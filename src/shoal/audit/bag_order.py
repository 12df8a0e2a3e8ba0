"""The order of the values in a bag: does it say which value belongs to which tuple, or to which value of another bag?"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shoal.audit.values import Floats, Ints

_CERTAIN = 1e-6  # below this chance, a bag that has exactly another order was not shuffled
_SURE = 30.0  # -ln of the chance of what was found, if the values were shuffled
_PARTS = (8, 64)  # places, within which a bag may have been shuffled alone
_RARE = 64  # values that are no more frequent are compared pair by pair


def is_ordered(values: Sequence[str | None], other: Sequence[str]) -> bool:
    """Whether values stand as in another order, read forwards or backwards and from any place on, too often for a shuffle.

    >>> is_ordered([*"abcdefghijkl"], [*"abcdefghijkl"]), is_ordered([*"abcdefghijkl"], [*"lkjihgfedcba"])
    (True, True)
    >>> is_ordered([*"abcdefghijkl"], [*"ghijklabcdef"]), is_ordered([*"abcdefghijkl"], [*"jbelagidkcfh"])
    (True, False)
    >>> is_ordered([*"aaaa"], [*"aaaa"])
    False
    """
    size, number = len(values), _numbers(other)
    if size < 2:
        return False
    own, forwards = _codes(number, values), _codes(number, other)
    counts = np.bincount(own, minlength=len(number))
    orders = math.lgamma(size + 1) - sum(math.lgamma(count + 1) for count in counts.tolist())
    share = float((counts / size) @ (counts / size))
    for order in (forwards, forwards[::-1]):
        same = int(_shifted(own, order, counts).max())
        if same == size and orders > math.log(2 * size) - math.log(_CERTAIN):
            return True
        if _unlikely(same - size * share, size * share * (1 - share), 1.0):
            return True
    return False


class Together:
    """Whether the places of values in bags say more of something than they would after a shuffle, over all bags."""

    def __init__(self) -> None:
        self._excess = self._spread = self._most = 0.0

    def add(self, own: Ints, at: Ints, table: Floats) -> None:
        """One bag: its values, what each stands at, and how often a value stands there in truth."""
        size = len(own)
        counts, widths = np.bincount(own, minlength=len(table)), np.bincount(at, minlength=table.shape[1])
        by_value, by_place = table @ (widths / size), (counts / size) @ table
        centred = table - by_value[:, None] - by_place[None, :] + float(by_place @ (widths / size))
        self._excess += float(centred[own, at].sum())
        self._spread += float((counts @ (centred**2)) @ widths) / (size - 1)
        self._most = max(self._most, float(np.abs(centred).max()))

    @property
    def is_unlikely(self) -> bool:
        return _unlikely(self._excess, self._spread, self._most)


class Parts:
    """Whether bags were shuffled within short parts of another order alone."""

    def __init__(self) -> None:
        self._found = {(length, step): Together() for length in _PARTS for step in (1, -1)}

    def add(self, values: Sequence[str | None], other: Sequence[str]) -> None:
        """One bag, and the other order of its values."""
        number = _numbers(other)
        own = _codes(number, values)
        for (length, step), found in self._found.items():
            if len(own) >= 4 * length:
                at = np.arange(len(own)) // length
                table = np.zeros((len(number), int(at[-1]) + 1))
                np.add.at(table, (_codes(number, other)[::step], at), 1.0)
                found.add(own, at, table)

    @property
    def are_ordered(self) -> bool:
        return any(each.is_unlikely for each in self._found.values())


class Pairs:
    """Whether the values of two attributes of one tuple stand at the same places of their bags, over all bags."""

    def __init__(self) -> None:
        self._found = Together()

    def add(self, first: Sequence[str | None], second: Sequence[str | None], own: Sequence[tuple[str, str]]) -> None:
        """Two bags of the same tuples, and the values that each tuple has together."""
        rows, columns = (_numbers([pair[i] for pair in own]) for i in (0, 1))
        table = np.zeros((len(rows), len(columns)))
        for left, right in own:
            table[rows[left], columns[right]] += 1
        if len(own) > 1:
            self._found.add(_codes(rows, first), _codes(columns, second), table)

    @property
    def are_linked(self) -> bool:
        return self._found.is_unlikely


def _numbers(values: Sequence[str]) -> dict[str | None, int]:
    return {value: number for number, value in enumerate(dict.fromkeys(values))}


def _codes(number: dict[str | None, int], values: Sequence[str | None]) -> Ints:
    return np.array([number[value] for value in values])


def _shifted(own: Ints, order: Ints, counts: Ints) -> Ints:
    """For each number of places, how many values stand in both orders if one is moved around by so many."""
    size = len(own)
    found = np.zeros(size)
    for value in np.flatnonzero(counts > _RARE).tolist():
        here, there = (np.fft.rfft(each == value) for each in (own, order))
        found += np.fft.irfft(here * np.conj(there), size)
    rare = counts <= _RARE
    mine, theirs = (np.flatnonzero(rare[each]) for each in (own, order))
    mine, theirs = (places[np.argsort(each[places], kind="stable")] for places, each in ((mine, own), (theirs, order)))
    many = counts[own[mine]]  # each of mine is paired with so many of theirs, from `first` on
    begins = np.flatnonzero(np.diff(own[mine], prepend=-1))
    first = np.repeat(begins, many[begins])
    within = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
    pairs = np.repeat(mine, many) - theirs[np.repeat(first, many) + within]
    return np.rint(found).astype(np.int64) + np.bincount(pairs % size, minlength=size)


def _unlikely(excess: float, spread: float, most: float) -> bool:
    """Whether a sum is so far above its mean, by Bernstein's bound."""
    return excess > 0 and excess**2 > 2 * _SURE * (spread + excess * most / 3)
