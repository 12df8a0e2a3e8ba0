"""The trace replayed: what each group had shown by the moment that a tuple left."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.audit.trace import CLUSTER, NO_CLUSTER, REUSE, Trace
from shoal.audit.values import Flags

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Replay:
    """The lines of the trace that wear a group's generalization, group by group, in the order of release.

    What leaves of a group at once is a *moment*: new members whose lines follow each other and were released at one instant,
    or a single tuple that reuses it. Groups and moments are numbered from 0, in this order.

    >>> whatever, released = np.zeros(4, np.int64), np.array([5.0, 5.0, 6.0, 7.0])
    >>> told = Trace(np.arange(4), np.array([0, 0, 0, 1], np.int8), np.array([8, 8, 3, 8]), whatever, released)
    >>> found = replay(told)
    >>> found.line.tolist(), found.group.tolist(), found.moment.tolist()
    ([2, 0, 1, 3], [0, 1, 1, 1], [0, 1, 1, 2])
    >>> found.so_far(np.ones(4, np.int64)).tolist()
    [1, 2, 2, 3]
    """

    line: Ints  # of the trace
    group: Ints
    moment: Ints
    is_member: Flags  # whether it left with the group; else it reuses it

    def so_far(self, amount: Ints) -> Ints:
        """For each line the sum of an amount over its group, up to the end of its moment."""
        if not len(amount):
            return amount
        total = np.cumsum(amount)
        last = _last_of(self.moment)
        first = np.flatnonzero(np.diff(self.group, prepend=-1))
        before = (total - amount)[first]
        return total[last] - before[self.group]

    def first_seen(self, code: Ints) -> Ints:
        """1 where a code appears for the first time in its group, 0 where again; below 0 is no code."""
        fresh = np.zeros(len(code), np.int64)
        width = int(code.max(initial=0)) + 2
        fresh[np.unique(self.group * width + code + 1, return_index=True)[1]] = 1
        fresh[code < 0] = 0
        return fresh


def replay(told: Trace) -> Replay:
    """Put the lines of a trace in the order of their groups; suppressed tuples are in none."""
    worn = (told.how == CLUSTER) | (told.how == REUSE)
    line = np.flatnonzero(worn & (told.cluster != NO_CLUSTER))
    line = line[np.argsort(told.cluster[line], kind="stable")]
    cluster, released, is_member = told.cluster[line], told.released[line], told.how[line] == CLUSTER
    new_group = _changes(cluster)
    goes_on = ~_changes(released) & ~_changes(line - np.arange(len(line))) & is_member
    goes_on[1:] &= is_member[:-1]
    return Replay(line, np.cumsum(new_group) - 1, np.cumsum(new_group | ~goes_on) - 1, is_member)


def _changes(values: NDArray[np.generic]) -> Flags:
    """Where a value differs from the one before; the first does."""
    return np.append(True, values[1:] != values[:-1])[: len(values)]


def _last_of(run: Ints) -> Ints:
    """For each the place of the last that has the same number; equal numbers are neighbours."""
    last = np.append(np.flatnonzero(np.diff(run)), len(run) - 1)
    return last[run]
