"""The reuse set: published generalizations that a later tuple may wear."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.blocks.groups import covers, loss
from shoal.compiled import inlined

RULE = np.dtype([("age", np.float64), ("limit", np.int64), ("loss", np.float64), ("head", np.int64), ("entries", np.int64)])


class Reuse(NamedTuple):
    entry: NDArray[np.int64]  # a ring of rows of the groups, the oldest at `head`
    rule: np.record


def reuse(age: float, limit: int, loss: float) -> Reuse:
    rule = np.zeros(1, RULE).view(np.recarray)[0]
    rule.age, rule.limit, rule.loss = age, limit, loss
    return Reuse(np.zeros(limit + 1, np.int64), rule)


@inlined
def best_cover(r, g, w, t, alike=False):
    """The row of the covering entry with the smallest loss(t, G), the older on a tie; -1 if none covers.

    With `alike` an entry serves only tuples with exactly its own quasi-identifiers.
    """
    expire(r, g, w.clock.now)
    best = -1
    best_loss = np.inf
    for i in range(r.rule.entries):
        row = r.entry[(r.rule.head + i) % len(r.entry)]
        if covers(g, row, w, t) and not (alike and w.pattern[t] != g.pattern[row]):
            entry_loss = loss(g, row, w.pattern[t])
            if entry_loss < best_loss:
                best = row
                best_loss = entry_loss
    return best


@inlined
def expire(r, g, now):
    """Drop the entries of age `age` or more."""
    while r.rule.entries > 0 and now - g.published[r.entry[r.rule.head]] >= r.rule.age:
        _drop(r)


@inlined
def admit(r, g, row, now):
    """Add a group that has just been published."""
    g.published[row] = now
    r.entry[(r.rule.head + r.rule.entries) % len(r.entry)] = row
    r.rule.entries += 1
    if r.rule.entries > r.rule.limit:
        _drop(r)


@inlined
def renew(r, g, row, now):
    """Count an entry as published now; entries published at one time stand in order of their numbers."""
    size = len(r.entry)
    i = 0
    while r.entry[(r.rule.head + i) % size] != row:
        i += 1
    g.published[row] = now
    while i + 1 < r.rule.entries:
        after = r.entry[(r.rule.head + i + 1) % size]
        if g.published[after] == now and g.number[after] > g.number[row]:
            break
        r.entry[(r.rule.head + i) % size] = after
        i += 1
    r.entry[(r.rule.head + i) % size] = row


@inlined
def _drop(r):
    r.rule.head = (r.rule.head + 1) % len(r.entry)
    r.rule.entries -= 1
