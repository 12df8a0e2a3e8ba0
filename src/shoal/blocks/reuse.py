"""The reuse set: published generalizations that later tuples may reuse.

The entries are in no order: age, ties and the eviction of the oldest go by the time of publication, then by the group's
number. Bounds and losses are kept in blocks of eight entries, one row per quasi-identifier, so that one step tests eight.
`blocks.state` explains the arguments.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.blocks.diversity import stays_diverse
from shoal.blocks.domain import weight_of
from shoal.blocks.groups import conflict
from shoal.blocks.rows import has_share, is_timed
from shoal.blocks.sets import bit_of
from shoal.compiled import COLUMNS, add_losses, inlined, inner, kernel

RULE = np.dtype([
    ("age", np.float64), ("limit", np.int64), ("loss", np.float64), ("entries", np.int64),
    ("same_pattern", np.bool_),  # whether an entry serves only tuples with exactly its own quasi-identifiers
])  # fmt: skip


class Reuse(NamedTuple):
    row: NDArray[np.int64]  # of the groups
    low: NDArray[np.float64]  # of entry e: [e // 8, quasi-identifier, e % 8]
    high: NDArray[np.float64]
    pattern: NDArray[np.uint64]
    doubt: NDArray[np.uint64]
    early: NDArray[np.float64]
    late: NDArray[np.float64]
    published: NDArray[np.float64]
    number: NDArray[np.int64]
    loss: NDArray[np.float64]
    reach: NDArray[np.uint64]  # of the sets: one row per word, one column per entry
    lost: NDArray[np.float64]  # work array: the weighted losses of the current tuple with each entry; infinite if not covered
    covering: NDArray[np.int64]  # work array: the blocks with an entry that covers the current tuple
    rule: np.record


def reuse(age: float, limit: int, loss: float, same_pattern: bool, quasi: int, words: int) -> Reuse:
    rule = np.zeros(1, RULE).view(np.recarray)[0]
    rule.age, rule.limit, rule.loss, rule.same_pattern = age, limit, loss, same_pattern
    blocks = limit // COLUMNS + 1  # room for one entry above the limit
    room = blocks * COLUMNS
    low, high, losses = (np.zeros((blocks, quasi, COLUMNS)) for _ in range(3))
    return Reuse(
        row=np.zeros(room, np.int64), low=low, high=high, pattern=np.zeros(room, np.uint64), doubt=np.zeros(room, np.uint64),
        early=np.zeros(room), late=np.zeros(room), published=np.zeros(room), number=np.zeros(room, np.int64), loss=losses,
        reach=np.zeros((words, room), np.uint64), lost=np.zeros(room), covering=np.zeros(blocks, np.int64), rule=rule,
    )  # fmt: skip


@inlined
def best_cover(s, t):
    """The row of the covering entry with the smallest loss(t, G), the older on a tie; -1 if none covers.

    An entry does not serve if its rows show another time, if the person of `t` would have more than 1/k of them, or if they
    would not be diverse enough with `t`. Where several windows share a reuse set, an
    entry from a moment that this window's clock has not reached does not serve either.
    """
    w, g, r = s.window, s.groups, s.reuse
    covering = _find_covering(s, t)
    weight = weight_of(s.domain, w.pattern[t]) if w.pattern[t] != 0 else 1.0
    best, best_loss = -1, np.inf
    for b in r.covering[:covering]:
        for e in range(b * COLUMNS, min((b + 1) * COLUMNS, r.rule.entries)):
            loss = r.lost[e] / weight
            if loss < best_loss or (loss == best_loss and best >= 0 and _is_older(r, e, best)):
                is_fresh = w.clock.now - r.published[e] < r.rule.age
                if is_fresh and g.arrivals[r.row[e]] <= w.clock.arrivals and can_serve(s, r.row[e], t):
                    best, best_loss = e, loss
    return r.row[best] if best >= 0 else -1


@inlined
def _find_covering(s, t):
    """How many blocks have an entry that covers t.

    Their numbers are in reuse.covering. reuse.lost[e] is the sum of the weighted losses of t with entry e; it is infinite if
    the entry does not cover t.
    """
    w, r, domain = s.window, s.reuse, s.domain
    blocks = (r.rule.entries + COLUMNS - 1) // COLUMNS
    width = blocks * COLUMNS
    own, match, pattern, doubt, lost = w.pattern[t], s.exits.promise.match, r.pattern[:width], r.doubt[:width], r.lost[:width]
    if r.rule.same_pattern:
        for e in range(width):
            lost[e] = 0.0 if own == pattern[e] else np.inf
    else:
        for e in range(width):
            lost[e] = 0.0 if conflict(pattern[e], doubt[e], own, match) == 0 else np.inf
    if is_timed(domain):
        moment, early, late = w.moment[t], r.early[:width], r.late[:width]
        for e in range(width):
            lost[e] = lost[e] if early[e] <= moment <= late[e] else np.inf
    for q in range(len(domain.sets)):
        if domain.sets[q] and own >> np.uint64(q) & np.uint64(1):
            leaf = np.int64(w.values[t, q])
            reach, own_bit = r.reach[domain.word[q] + (leaf >> 6), :width], bit_of(leaf)
            for e in range(width):
                shown = pattern[e] >> np.uint64(q) & np.uint64(1)
                lost[e] = lost[e] if reach[e] & own_bit or not shown else np.inf
    covering = 0
    for b in range(blocks):
        columns = lost[b * COLUMNS : (b + 1) * COLUMNS]
        r.covering[covering] = b
        covering += add_losses(r.low[b], r.high[b], r.loss[b], domain.weight, w.values[t], columns)
    return covering


@inner
def call_best_cover(core, t):
    """`best_cover` as a call, compiled once for all algorithms: for those that use it in several places, or rarely."""
    return best_cover(core, t)


@inlined
def can_serve(s, row, t):
    """Whether a group that covers `t` may serve it."""
    if s.exits.promise.one_in_k and not has_share(s.groups, row, s.window, t, s.exits.promise.k):
        return False
    return stays_as_diverse(s, row, t)


@inlined
def stays_as_diverse(s, row, t):
    """Whether a group stays as diverse as promised with one more tuple."""
    d = s.exits.diversity
    return len(d.kind) == 0 or stays_diverse(d, s.groups, row, s.window, t, s.scratch)


@inlined
def row_of(r, number):
    """The row of the entry with this number; -1 if there is none."""
    for e in range(r.rule.entries):
        if r.number[e] == number:
            return r.row[e]
    return -1


@inlined
def admit(r, g, row, now):
    """Add a group that was just published; drop entries that are too old, and the oldest if there are too many."""
    _enter(r, g, row, r.rule.entries)
    r.rule.entries += 1
    e = 0
    while e < r.rule.entries:
        if now - r.published[e] >= r.rule.age:
            _drop(r, g, e)
        else:
            e += 1
    if r.rule.entries > r.rule.limit:
        oldest = 0
        for e in range(1, r.rule.entries):
            if _is_older(r, e, oldest):
                oldest = e
        _drop(r, g, oldest)


@inlined
def renew(r, g, row, now):
    """Count an entry as published now, unless a window with a later clock has renewed it."""
    for e in range(r.rule.entries):
        if r.row[e] == row:
            g.published[row] = max(g.published[row], now)
            r.published[e] = g.published[row]
            break


def rows(r: Reuse) -> NDArray[np.int64]:
    """The rows of the groups that can be reused."""
    return r.row[: int(r.rule.entries)]


@kernel
def refill(r, g, entries):
    """Fill the reuse set with the first `entries` rows of the groups."""
    for row in range(entries):
        _enter(r, g, row, row)
    r.rule.entries = entries


@inlined
def _is_older(r, e, f):
    return r.published[e] < r.published[f] or (r.published[e] == r.published[f] and r.number[e] < r.number[f])


@inlined
def _enter(r, g, row, e):
    r.row[e] = row
    r.pattern[e] = g.pattern[row]
    r.doubt[e] = g.doubt[row]
    r.early[e] = g.early[row]
    r.late[e] = g.late[row]
    r.published[e] = g.published[row]
    r.number[e] = g.number[row]
    b, i = e // COLUMNS, e % COLUMNS
    for q in range(r.low.shape[1]):
        r.low[b, q, i] = g.low[row, q]
        r.high[b, q, i] = g.high[row, q]
        r.loss[b, q, i] = g.loss[row, q]
    for word in range(len(r.reach)):
        r.reach[word, e] = g.reach[row, word]


@inlined
def _drop(r, g, e):
    """Put the last entry in the place of entry e."""
    r.rule.entries -= 1
    _enter(r, g, r.row[r.rule.entries], e)
