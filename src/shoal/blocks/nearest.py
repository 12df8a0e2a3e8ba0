"""The m nearest tuples of m different persons, without sorting the window; and the arrays that kernels work in.

`blocks.state` explains the arguments.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.blocks.distance import distance, rough_error
from shoal.blocks.diversity import ROOM
from shoal.blocks.window import STRIDE, even
from shoal.compiled import first_one, float_of, inlined, popcount, up_to

_ABOVE_ONE = np.int32(0x3F900000)  # the bits of 1.125


class Scratch(NamedTuple):
    """Arrays to work in, so that no kernel allocates; one entry per slot where nothing else is said."""

    distance: NDArray[np.float32]  # rough; infinite for a slot that is excluded
    units: NDArray[np.uint16]  # the sum from which `distance` is computed
    chosen: NDArray[np.int64]  # slots: the current group
    best_group: NDArray[np.int64]  # slots: X-BAND's best group so far
    best_alike: NDArray[np.int64]  # slots: the best group so far of `choose_alike`
    undecided: NDArray[np.int64]  # slots that only exact distances decide
    exact: NDArray[np.float64]
    seen: NDArray[np.int64]  # by person: the last turn that saw the person
    best: NDArray[np.int64]  # by person: its nearest slot in that turn
    mark: NDArray[np.int64]  # the turn in which the door released it, so that no tuple leaves twice
    turn: NDArray[np.int64]
    key: NDArray[np.int64]  # what slots are sorted by
    rank: NDArray[np.int64]
    guess: NDArray[np.int32]  # the bits of the last edge that `nearest` found
    joined: NDArray[np.int64]  # by partition: the last union that it joined
    union: NDArray[np.int64]
    similarity: NDArray[np.float64]  # by partition, as are the next two
    likeness: NDArray[np.int64]
    first: NDArray[np.int64]
    value: NDArray[np.uint64]  # by sensitive attribute: the different values of the current group
    times: NDArray[np.int64]  # how often each is shown
    shown: NDArray[np.int64]  # how many different ones there are, and how many in all
    valued: NDArray[np.int64]
    lacking: NDArray[np.int64]  # by quasi-identifier: how many tuples lack it
    away: NDArray[np.float64]  # how far a tuple outside a group is; infinite: it is in the group, or in a cell
    cell: NDArray[np.int64]  # slots: the cells that were laid, one after the other
    joins: NDArray[np.bool_]  # by cell: whether it joins the group


def scratch(capacity: int, sensitive: int) -> Scratch:
    one = np.zeros(1, np.int64)
    rough, exact, whole = np.zeros(even(capacity), np.float32), np.zeros(capacity), np.zeros(capacity + 1, np.int64)
    values = (sensitive, max(capacity, ROOM) + 2)  # of the tuples of a group, or those that a group has shown and one more
    return Scratch(
        distance=rough, units=np.zeros(even(capacity), np.uint16), chosen=whole, best_group=whole.copy(),
        best_alike=whole.copy(), undecided=whole.copy(), exact=exact,
        seen=whole.copy(), best=whole.copy(), mark=whole.copy(), turn=one,
        key=whole.copy(), rank=whole.copy(), guess=np.zeros(1, np.int32),
        joined=whole.copy(), union=one.copy(), similarity=exact.copy(), likeness=whole.copy(), first=whole.copy(),
        value=np.zeros(values, np.uint64), times=np.zeros(values, np.int64),
        shown=np.zeros(sensitive, np.int64), valued=np.zeros(sensitive, np.int64), lacking=np.zeros(64, np.int64),
        away=exact.copy(), cell=whole.copy(), joins=np.zeros(capacity + 1, bool),
    )  # fmt: skip


@inlined
def nearest(domain, w, t, m, metric, scratch, out):
    """Write into `out` the slots of nearest(t, S, m), in no particular order; of equally distant tuples the older wins.

    S is the set of slots whose rough distance in `scratch` is finite; it must hold m persons besides the person of `t`.
    """
    held = w.clock.held
    if w.persons.size[0] == held:
        scratch.distance[t] = np.inf
    else:
        _closest_of_each_person(domain, w, t, metric, scratch.distance[:held], scratch)
    nearest_included(domain, w, t, m, metric, scratch, out)


@inlined
def nearest_included(domain, w, t, m, metric, scratch, out):
    """Write into `out` the m nearest of the slots whose rough distance in `scratch` is finite, also several of one person.

    Let e be the m-th smallest rough distance. A tuple that is nearer than e by more than twice the rough error is among the
    m nearest, one that is farther by more than that is not; between them the exact distances decide.
    """
    if m == 0:
        return
    rough = scratch.distance[: (w.clock.held + STRIDE - 1) // STRIDE * STRIDE]
    edge = smallest(rough, m, scratch.guess)
    margin = 2 * rough_error(domain)
    candidates, found = scratch.undecided, 0
    for start in range(0, len(rough), STRIDE):
        close = up_to(rough, start, edge + margin)
        while close:
            candidates[found] = start + first_one(close)
            found += 1
            close &= close - np.uint64(1)
    if found == m:
        for i in range(m):
            out[i] = candidates[i]
        return
    sure, undecided = 0, 0
    for i in range(found):
        j = candidates[i]
        if rough[j] < edge - margin:
            out[sure] = j
            sure += 1
        else:
            candidates[undecided] = j
            scratch.exact[undecided] = distance(domain, w, t, j, metric)
            undecided += 1
    _closest_first(w, candidates[:undecided], scratch.exact[:undecided], m - sure)
    for i in range(m - sure):
        out[sure + i] = candidates[i]


@inlined
def smallest(values, m, guess):
    """The m-th smallest of distances: bisection over their bits, which have the same order.

    At least m distances are finite, and none of these is above 1 by more than a rounding. The last answer is a good first
    guess; then every second step interpolates between the counts on both sides.
    """
    keys = values.view(np.int32)
    low, high = _ABOVE_ONE, _ABOVE_ONE
    for j in range(len(keys)):
        low = min(low, keys[j])
    low = np.int32(low - 1)
    fewer, more = 0, len(keys)
    middle, turns = guess[0], 0
    while high - low > 1:
        if not low < middle < high:
            middle = np.int32(low + ((high - low) >> 1))
        count = 0
        for start in range(0, len(keys), STRIDE):
            count += popcount(up_to(values, start, float_of(middle)))
        if count >= m:
            high, more = middle, count
        else:
            low, fewer = middle, count
        if count == m:
            break
        turns += 1
        ahead = (high - low) * (m - fewer) // (more - fewer) if turns % 2 else (high - low) >> 1
        middle = np.int32(low + max(1, min(ahead, high - low - 1)))
    edge = np.int32(0)
    for j in range(len(keys)):
        edge = max(edge, keys[j] if keys[j] <= high else np.int32(0))
    guess[0] = edge
    return float_of(edge)


@inlined
def _closest_first(w, slots, exact, m):
    """Move the m nearest of `slots` to the front: a heap of the m best so far, the worst on top."""
    for i in range(len(slots)):
        if i < m:
            child = i
            while child > 0 and _is_closer(w, slots, exact, (child - 1) // 2, child):
                _swap(slots, exact, child, (child - 1) // 2)
                child = (child - 1) // 2
        elif _is_closer(w, slots, exact, i, 0):
            _swap(slots, exact, 0, i)
            parent = 0
            while 2 * parent + 1 < m:
                child = 2 * parent + 1
                if child + 1 < m and _is_closer(w, slots, exact, child, child + 1):
                    child += 1
                if not _is_closer(w, slots, exact, parent, child):
                    break
                _swap(slots, exact, parent, child)
                parent = child


@inlined
def _is_closer(w, slots, exact, i, j):
    return exact[i] < exact[j] or (exact[i] == exact[j] and w.arrival[slots[i]] < w.arrival[slots[j]])


@inlined
def _swap(slots, exact, i, j):
    slots[i], slots[j] = slots[j], slots[i]
    exact[i], exact[j] = exact[j], exact[i]


@inlined
def _closest_of_each_person(domain, w, t, metric, rough, scratch):
    """Make all distances infinite except that of each person's nearest tuple; all distances of the person of `t` are."""
    scratch.turn[0] += 1
    turn = scratch.turn[0]
    own = w.person[t]
    margin = 2 * rough_error(domain)
    for j in range(len(rough)):
        person = w.person[j]
        if person == own:
            rough[j] = np.inf
        elif scratch.seen[person] != turn:
            scratch.seen[person] = turn
            scratch.best[person] = j
        elif rough[j] < np.inf:
            best = scratch.best[person]
            closer = rough[j] < rough[best]
            if abs(rough[j] - rough[best]) <= margin:
                a, b = distance(domain, w, t, j, metric), distance(domain, w, t, best, metric)
                closer = a < b or (a == b and w.arrival[j] < w.arrival[best])
            rough[best if closer else j] = np.inf
            if closer:
                scratch.best[person] = j


@inlined
def count_persons(w, slots, scratch):
    """persons(S) of the tuples in `slots`."""
    scratch.turn[0] += 1
    persons = 0
    for slot in slots:
        person = w.person[slot]
        if scratch.seen[person] != scratch.turn[0]:
            scratch.seen[person] = scratch.turn[0]
            persons += 1
    return persons
