"""Diversity: whether the sensitive values of a group differ enough, and are distributed like those of all tuples.

A demand is an l or a t of a sensitive attribute. It has a shortfall, which is at most 0 if the demand holds. Values are
compared by fingerprints of 64 bits; two values with the same fingerprint, a chance of 2^-64, count as one. `blocks.state`
explains the arguments; i is the index of a demand.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.blocks.roster import Roster, find, join, join_all, roster
from shoal.compiled import inlined, inner
from shoal.policy import Policy

DISTINCT, ENTROPY, RECURSIVE, CLOSE = range(4)
KINDS = {"distinct": DISTINCT, "entropy": ENTROPY, "recursive": RECURSIVE}
ROOM = 64  # different values that are stored per group for reuse

_TOLERANCE = 1e-12
_WHOLE = 2.0**40  # above any count, so that one more distinct value is worth more than better frequencies


class Diversity(NamedTuple):
    """The demands, and how often each value arrived so far."""

    attribute: NDArray[np.int64]  # by demand, as are the next three
    kind: NDArray[np.int64]
    bound: NDArray[np.float64]  # l, or t
    factor: NDArray[np.float64]  # c of a recursive l
    counted: NDArray[np.bool_]  # by attribute: whether a demand looks at how often values are shown
    learned: NDArray[np.bool_]  # by attribute: whether the reference is the input so far
    values: Roster  # keys are a value and its attribute
    mass: NDArray[np.float64]  # by number in `values`: how often it arrived, or its share
    total: NDArray[np.float64]  # by attribute


def new_diversity(policy: Policy, fingerprint: dict[tuple[str, str], int]) -> Diversity:
    """The demands of a policy, given the fingerprints of the values in its distributions; nothing has arrived."""
    demands = [
        (a, *asked)
        for a, demand in enumerate(policy.requirements)
        for asked in (
            *([(KINDS[demand.l.kind], demand.l.l, demand.l.c)] if demand.l else []),
            *([(CLOSE, demand.t, 0.0)] if demand.t else []),
        )
    ]
    attribute, kind, bound, factor = (list(column) for column in zip(*demands, strict=True)) if demands else ([], [], [], [])
    attributes = range(len(policy.requirements))
    counted = [any(a == b and k != DISTINCT for a, k in zip(attribute, kind, strict=True)) for b in attributes]
    learned = [demand.t is not None and demand.distribution is None for demand in policy.requirements]
    d = Diversity(
        np.array(attribute, np.int64), np.array(kind, np.int64), np.array(bound, np.float64), np.array(factor, np.float64),
        np.array(counted, bool), np.array(learned, bool), roster(1), np.zeros(1), np.zeros(len(attributes)),
    )  # fmt: skip
    known = [
        (fingerprint[demand.name, value], a, share)
        for a, demand in enumerate(policy.requirements)
        for value, share in (demand.distribution or {}).items()
    ]
    for _, a, share in known:
        d.total[a] += share
    key = np.array([pair[:2] for pair in known], np.uint64).reshape(-1, 2)
    return refilled(d, key, np.array([share for *_, share in known]), len(known) + 1)


def with_values(d: Diversity, arrivals: int) -> Diversity:
    """The same with room for `arrivals` more tuples, each with new values."""
    size = int(d.values.size[0])
    needed = size + arrivals * int(d.learned.sum())
    if needed <= len(d.mass):
        return d
    return refilled(d, d.values.key[:size], d.mass[:size], needed + needed // 4)


def refilled(d: Diversity, key: NDArray[np.uint64], mass: NDArray[np.float64], room: int) -> Diversity:
    """The same with these values."""
    values, masses = roster(room), np.zeros(room)
    join_all(values, key)
    masses[: len(mass)] = mass
    return d._replace(values=values, mass=masses)


@inlined
def count_in(d, batch, row):
    """Count the sensitive values of a tuple that has just arrived, here or in another lane."""
    for a in range(len(d.learned)):
        if d.learned[a] and batch.sensitive[row, a] != 0:
            number = join(d.values, batch.sensitive[row, a], np.uint64(a))
            d.mass[number] += 1.0
            d.total[a] += 1.0


@inner
def is_diverse(d, w, slots, scratch):
    """Whether the tuples in `slots` meet all demands; their values are counted into `scratch`."""
    _count_all(d, w, slots, scratch)
    return unmet(d, scratch) < 0


@inner
def is_diverse_or_withheld(d, g, row, w, slots, scratch):
    """Whether a group meets all demands on what it does not withhold; its values are counted into `scratch`."""
    _count_all(d, w, slots, scratch)
    for i in range(len(d.kind)):
        if not g.withheld[row, d.attribute[i]] and not _is_met(d, i, _shortfall(d, i, scratch)):
            return False
    return True


@inner
def withhold_unmet(d, g, row, w, slots, scratch):
    """Withhold, in a group, each attribute of which the tuples in `slots` do not meet all demands."""
    _count_all(d, w, slots, scratch)
    for i in range(len(d.kind)):
        g.withheld[row, d.attribute[i]] |= not _is_met(d, i, _shortfall(d, i, scratch))


@inlined
def _count_all(d, w, slots, scratch):
    for a in range(len(d.counted)):
        scratch.shown[a] = scratch.valued[a] = 0
    for slot in slots:
        count_shown(w, slot, scratch)


@inlined
def withholds(g, row):
    """Whether a group withholds any attribute."""
    for a in range(g.withheld.shape[1]):
        if g.withheld[row, a]:
            return True
    return False


@inner
def stays_diverse(d, g, row, w, slot, scratch):
    """Whether a group would meet all demands with one more tuple, given the values that it has shown."""
    if withholds(g, row):
        return False
    for a in range(len(d.counted)):
        if not d.counted[a]:
            continue
        if g.shown[row, a] > ROOM:
            return False
        scratch.shown[a] = g.shown[row, a]
        scratch.valued[a] = 0
        for i in range(g.shown[row, a]):
            scratch.value[a, i] = g.value[row, a, i]
            scratch.times[a, i] = g.times[row, a, i]
            scratch.valued[a] += g.times[row, a, i]
        if w.sensitive[slot, a] != 0:
            _add(scratch, a, w.sensitive[slot, a], 1)
    for i in range(len(d.kind)):
        a = d.attribute[i]
        if d.counted[a] and (scratch.shown[a] > ROOM or not _is_met(d, i, _shortfall(d, i, scratch))):
            return False
    return True


@inner
def remember(d, g, row, scratch):
    """Store the values that a group shows, as just counted in `scratch`; `g.shown` is ROOM + 1 if there are more than ROOM."""
    for a in range(len(d.counted)):
        if d.counted[a]:
            g.shown[row, a] = min(ROOM + 1, scratch.shown[a])
            for i in range(min(ROOM, scratch.shown[a])):
                g.value[row, a, i] = scratch.value[a, i]
                g.times[row, a, i] = scratch.times[a, i]


@inlined
def count_shown(w, slot, scratch):
    """Count the values of one more tuple."""
    for a in range(w.sensitive.shape[1]):
        if w.sensitive[slot, a] != 0:
            _add(scratch, a, w.sensitive[slot, a], 1)


@inlined
def _add(scratch, a, value, times):
    """Count a value once more, or once less."""
    i = 0
    while i < scratch.shown[a] and scratch.value[a, i] != value:
        i += 1
    if i == scratch.shown[a]:
        scratch.value[a, i] = value
        scratch.times[a, i] = 0
        scratch.shown[a] += 1
    scratch.times[a, i] += times
    scratch.valued[a] += times
    if scratch.times[a, i] == 0:  # it was the last one added
        scratch.shown[a] -= 1


@inner
def unmet(d, scratch):
    """The first demand that does not hold; -1 if all do."""
    for i in range(len(d.kind)):
        if not _is_met(d, i, _shortfall(d, i, scratch)):
            return i
    return -1


@inner
def help_together(d, i, w, slots, scratch):
    """Whether the tuples in `slots`, all together, lower the shortfall of demand i."""
    a = d.attribute[i]
    before = _shortfall(d, i, scratch)
    for slot in slots:
        if w.sensitive[slot, a] != 0:
            _add(scratch, a, w.sensitive[slot, a], 1)
    after = _shortfall(d, i, scratch)
    for j in range(len(slots) - 1, -1, -1):
        if w.sensitive[slots[j], a] != 0:
            _add(scratch, a, w.sensitive[slots[j], a], -1)
    return after < before - _TOLERANCE


@inlined
def _is_met(d, i, shortfall):
    return shortfall < 0.0 if d.kind[i] == RECURSIVE else shortfall <= _TOLERANCE


@inner
def _shortfall(d, i, scratch):
    """By how much the values in `scratch` miss demand i."""
    a, kind, bound = d.attribute[i], d.kind[i], d.bound[i]
    shown, valued = scratch.shown[a], scratch.valued[a]
    if kind == DISTINCT:
        return bound - shown
    if kind == ENTROPY:
        if valued == 0:
            return np.log(bound) + 1.0
        total = 0.0
        for j in range(shown):
            times = np.float64(scratch.times[a, j])
            total += times * np.log(times)
        return np.log(bound) - (np.log(np.float64(valued)) - total / valued)
    if kind == RECURSIVE:
        most, frequent = _most_frequent(scratch, a, np.int64(bound) - 1)
        return _WHOLE * max(0.0, bound - shown) + (most - d.factor[i] * (valued - frequent))
    if valued == 0:
        return -bound
    apart, known = 0.0, 0.0
    for j in range(shown):
        number = find(d.values, scratch.value[a, j], np.uint64(a))
        share = d.mass[number] / d.total[a] if number >= 0 else 0.0
        apart += abs(scratch.times[a, j] / valued - share)
        known += share
    return 0.5 * (apart + (1.0 - known)) - bound


@inlined
def _most_frequent(scratch, a, n):
    """How often the most frequent value is shown, and the n most frequent ones together."""
    most, together = 0, 0
    last, at = np.int64(2**62), -1
    for rank in range(max(n, 1)):
        times, place = 0, -1
        for j in range(scratch.shown[a]):
            now = scratch.times[a, j]
            if now > times and (now < last or (now == last and j > at)):
                times, place = now, j
        if place < 0:
            break
        last, at = times, place
        most = max(most, times)
        together += times if rank < n else 0
    return most, together
