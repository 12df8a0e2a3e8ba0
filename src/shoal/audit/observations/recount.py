"""The users of each item at each moment, counted anew.

An observation (t, u, a) exposes a and every ancestor of a. Of a node n the newest time is the largest seen by then, and the
time of a user the largest at which the user exposed n. The count is of the users whose time lies in [newest - Δt, t], the user
at hand included: users from before newest - Δt are forgotten, and in a stream in order newest is t itself. An observation
from before newest - Δt of its own item is rejected; before that of an ancestor, it counts as nothing there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.audit.values import Flags, Floats, Integers, Ints

NO_NODE = -1


def above(values: Integers, low: Integers, high: Integers, bound: Integers) -> Ints:
    """For each query, how many of `values[low:high]` are above `bound`.

    A wavelet matrix, bit by bit from the highest: the values are parted by the bit, and each query follows its bound.

    >>> above(np.array([3, 1, 4, 1, 5]), np.array([0, 1]), np.array([5, 4]), np.array([2, 1])).tolist()
    [3, 1]
    """
    values, low, high, bound = (each.astype(np.int32) for each in (values, low, high, bound))
    found = np.zeros(len(low), np.int32)
    top = int(max(values.max(initial=0), bound.max(initial=0)))
    for bit in reversed(range(top.bit_length())):
        ones = (values >> bit & 1).astype(bool)
        ones_before = np.zeros(len(values) + 1, np.int32)
        np.cumsum(ones, out=ones_before[1:])
        zeros = np.int32(len(values) - ones_before[-1])
        low_ones, high_ones = ones_before[low], ones_before[high]
        up = (bound >> bit & 1).astype(bool)
        found += np.where(up, 0, high_ones - low_ones)
        low = np.where(up, zeros + low_ones, low - low_ones)
        high = np.where(up, zeros + high_ones, high - high_ones)
        values = np.concatenate([values[~ones], values[ones]])
    return found.astype(np.int64)


class Recount(NamedTuple):
    """Of each observation, in the order of arrival."""

    users: NDArray[np.int32]  # by level: of the item, its parent, and so on; 0 past the root
    rejected: Flags  # more than a window older than the newest of its item
    behind: Flags  # more than a window older than the newest of all


def recount(path: NDArray[np.int32], user: NDArray[np.int32], time: Floats, window: float) -> Recount:
    """Count; `path` holds the nodes of each observation from its item to the root, then NO_NODE.

    >>> path = np.array([[0, 2], [0, 2], [1, 2], [1, 2]], np.int32)
    >>> recount(path, np.array([7, 8, 7, 9], np.int32), np.array([0.0, 1.0, 5.0, 11.0]), 10).users.tolist()
    [[1, 1], [2, 2], [1, 2], [2, 3]]
    """
    found = np.zeros(path.shape, np.int32)
    behind = time < np.maximum.accumulate(time) - window
    if not len(time):
        return Recount(found, behind, behind)
    moments = np.unique(np.concatenate([time, time - window]))
    at, since = np.searchsorted(moments, time), np.searchsorted(moments, time - window)
    record, level = np.nonzero(path != NO_NODE)
    order = np.argsort(path[record, level], kind="stable")
    record, level = record[order], level[order]
    base = path[record, level].astype(np.int64) * len(moments)
    void = base + at[record] < np.maximum.accumulate(base + since[record])
    rejected = np.zeros(len(time), bool)
    rejected[record[void & (level == 0)]] = True
    counted = ~void & ~rejected[record]
    record, level, base = record[counted], level[counted], base[counted]
    found[record, level] = _live(base, at[record], since[record], user[record])
    return Recount(found, rejected, behind)


def _live(base: Ints, at: Ints, since: Ints, user: NDArray[np.int32]) -> Ints:
    """The count of each exposure; those of a node follow each other, in the order of arrival.

    `base` identifies the node, `base + at` also the time; so one sorted array serves all nodes at once.
    """
    newest, oldest = np.maximum.accumulate(base + at), np.maximum.accumulate(base + since)
    entries = _entries(base, at, user)
    begin = np.flatnonzero(entries.renewed)
    end = np.minimum(entries.replaced[begin], np.searchsorted(oldest, (base + at)[begin], side="right"))
    change = np.bincount(begin, minlength=len(base) + 1) - np.bincount(end, minlength=len(base) + 1)
    count = np.cumsum(change[:-1])
    late = np.flatnonzero(base + at < newest)
    if len(late):
        first = np.searchsorted(base, base[late])
        ended = np.argsort(end, kind="stable")
        gone, left = (np.searchsorted(end[ended], row, side="right") for row in (first, late))
        here, came = (np.searchsorted(begin, row) for row in (first, late + 1))
        later = above(at[begin], here, came, at[late]) - above(at[begin[ended]], gone, left, at[late])
        count[late] += entries.later[late] - later
    return count


class _Entries(NamedTuple):
    """Of each exposure, what it did to the time that is known of its user."""

    renewed: Flags  # it is the newest of its user by then
    replaced: Ints  # the row of the next that is newer
    later: Flags  # a newer one of its user came before


def _entries(base: Ints, at: Ints, user: NDArray[np.int32]) -> _Entries:
    order = np.lexsort((user, base))
    new = np.append(True, (base[order][1:] != base[order][:-1]) | (user[order][1:] != user[order][:-1]))
    width = int(at.max(initial=0)) + 1
    key = np.cumsum(new) * width + at[order]
    before = np.append(-1, np.maximum.accumulate(key)[:-1])
    renewed = new | (key > before)
    later = ~new & (key < before)
    rows = order[renewed]
    following = np.append(rows[1:], len(base))
    following[np.append(new[renewed][1:], True)] = len(base)
    replaced = np.full(len(base), len(base))
    replaced[rows] = following
    result = _Entries(np.empty(len(base), bool), replaced, np.empty(len(base), bool))
    result.renewed[order], result.later[order] = renewed, later
    return result
