"""A wave: the tuples that are to leave together, as whole numbers, and the arrays in which they are partitioned.

Every number that decides is a whole number, so that no sum depends on its order. A range or a hierarchy is 65,536 units wide,
less where the policy gives it less weight: a numeric value becomes its place on that scale, and the loss of a node is given
in these units. A tuple weighs 4,096 shares, divided by the number of quasi-identifiers that it has. The cost of a tuple in a
box is its weight times the sum of the box's losses over the quasi-identifiers that it has; the cost of a group is the sum
over its members. Costs are in float64, where such numbers are exact. Unless nulls match any value, a box loses all of a
quasi-identifier that one of its members lacks.

In this folder `v` is a `Wave`; t, u and j are indices of tuples in it, from 0, in order of arrival; `group` and `candidate` are
indices too. `blocks.state` explains all other arguments.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.blocks import STRIDE, Domain, common_ancestor, even
from shoal.compiled import inlined, inner, popcount

UNITS, SHARES = 65_536, 4096
LARGEST = 8192  # tuples of a wave, where more than twice as many are held
MISSING = np.int32(-1)  # below every place and every leaf
NOWHERE = np.int32(2**29)  # the low end of an empty box, above every place; its high end is MISSING

WORK = np.dtype([
    ("stage", np.int64), ("next", np.int64), ("done", np.int64),  # stage, next index, rounds of repair done
    ("tuples", np.int64), ("persons", np.int64),  # in the wave
    ("free", np.int64),  # persons with a tuple that is in no group yet
    ("seeds", np.int64), ("groups", np.int64), ("oldest", np.int64), ("changes", np.int64), ("turn", np.int64),
    ("seeds_each", np.int64), ("rounds", np.int64),  # seeds for every k tuples, and rounds of repair: what `effort` says
    ("strict", np.int64),  # 1: a quasi-identifier that one member lacks is lost for all
])  # fmt: skip


class Wave(NamedTuple):
    slot: NDArray[np.int64]  # of the window
    place: NDArray[np.int32]  # one row per quasi-identifier, one column per tuple; leaves keep their numbers
    weight: NDArray[np.float64]
    person: NDArray[np.int64]
    cover: NDArray[np.int64]  # the number of the group that covers the tuple best; -1: none
    cover_cost: NDArray[np.float64]  # what the tuple costs when it leaves by its cover; infinite if there is none
    group: NDArray[np.int64]  # -1: in none
    busy: NDArray[np.int32]  # 1: the tuple cannot join the candidate that grows
    newer: NDArray[np.int64]  # the members of a group, as a doubly linked list
    older: NDArray[np.int64]
    tuples: NDArray[np.int64]  # by person: how many of its tuples are in no group
    seen: NDArray[np.int64]  # by person: the last turn that saw the person
    scale: NDArray[np.int32]  # by quasi-identifier: how many units it is wide
    unit: NDArray[np.int32]  # by node of the hierarchies: its loss
    key: NDArray[np.int32]  # what a tuple would add to the box of the candidate that grows
    shortlist: NDArray[np.int64]  # of the candidate that grows, in order of arrival; -1: removed
    list_place: NDArray[np.int32]  # by quasi-identifier and entry of the shortlist: place, weight, the box's loss with it
    list_weight: NDArray[np.float64]
    list_loss: NDArray[np.float64]
    list_cost: NDArray[np.float64]
    member: NDArray[np.int64]  # one row per candidate
    price: NDArray[np.float64]  # by candidate
    box_low: NDArray[np.int32]  # of the candidate that grows
    box_high: NDArray[np.int32]
    box_weight: NDArray[np.float64]
    box_lacks: NDArray[np.int32]  # how many members lack the quasi-identifier; only if `strict`
    low: NDArray[np.int32]  # by quasi-identifier and group: the smallest place, the second smallest; so for the largest
    low_next: NDArray[np.int32]
    high: NDArray[np.int32]
    high_next: NDArray[np.int32]
    group_weight: NDArray[np.float64]  # the weight of the members that have the quasi-identifier
    lacks: NDArray[np.int32]  # how many members lack the quasi-identifier; only if `strict`
    loss: NDArray[np.float64]
    cost: NDArray[np.float64]  # by group
    size: NDArray[np.int64]
    persons: NDArray[np.int64]
    first: NDArray[np.int64]  # the member at the head of the list; -1: the group is dissolved
    added: NDArray[np.float64]  # by group: by how much the current tuple would raise its cost
    lost: NDArray[np.int32]
    work: np.record


def wave(domain: Domain, k: int, seeds_each: int, rounds: int, strict: bool, tuples: int) -> Wave:
    """Arrays for a wave of `tuples` tuples."""
    quasi, row, short = len(domain.width), even(tuples), even(2 * k)
    if row * 4 % 4096 == 0:
        row += STRIDE  # as in the window
    groups, candidates = even(tuples // k + 1), seeds_each * tuples // k + 1
    place, key, busy = np.zeros((quasi, row), np.int32), np.zeros(row, np.int32), np.ones(row, np.int32)
    slot, person, cover, group, newer, older, tuples_of, seen, shortlist = (np.zeros(row, np.int64) for _ in range(9))
    low, low_next, high, high_next = (np.zeros((quasi, groups), np.int32) for _ in range(4))
    size, persons, first = (np.zeros(groups, np.int64) for _ in range(3))
    work = np.zeros(1, WORK).view(np.recarray)[0]
    work.seeds_each, work.rounds, work.strict = seeds_each, rounds, strict
    scale = np.floor(UNITS * (domain.weight / domain.weight.max()) + 0.5).astype(np.int32)
    sizes = np.diff(np.append(domain.node, len(domain.node_loss)))
    unit = np.floor(domain.node_loss * np.repeat(scale, sizes) + 0.5).astype(np.int32)
    return Wave(
        slot=slot, place=place, weight=np.zeros(row), person=person, cover=cover, cover_cost=np.zeros(row), group=group,
        busy=busy, newer=newer, older=older, tuples=tuples_of, seen=seen, scale=scale, unit=unit,
        key=key, shortlist=shortlist, list_place=np.zeros((quasi, short), np.int32), list_weight=np.zeros((quasi, short)),
        list_loss=np.zeros((quasi, short)), list_cost=np.zeros(short), member=np.zeros((candidates, k), np.int64),
        price=np.zeros(candidates), box_low=np.zeros(quasi, np.int32), box_high=np.zeros(quasi, np.int32),
        box_weight=np.zeros(quasi), box_lacks=np.zeros(quasi, np.int32), low=low, low_next=low_next, high=high,
        high_next=high_next, group_weight=np.zeros((quasi, groups)), lacks=np.zeros((quasi, groups), np.int32),
        loss=np.zeros((quasi, groups)), cost=np.zeros(groups), size=size, persons=persons, first=first, added=np.zeros(groups),
        lost=np.zeros(groups, np.int32), work=work,
    )  # fmt: skip


@inner
def fill_wave(domain, w, v, scratch, tuples):
    """Copy the oldest tuples of the window into the wave: their places, weights and persons, in order of arrival."""
    scratch.turn[0] += 1
    v.work.tuples = tuples
    v.work.persons = 0
    slot = w.clock.oldest
    for j in range(tuples):
        for q in range(len(domain.width)):
            value = w.values[slot, q]
            v.place[q, j] = MISSING
            if value == value:
                place = value if domain.categorical[q] else rounded(v, q, (value - domain.low[q]) / domain.width[q])
                v.place[q, j] = np.int32(place)
        valid = _valid(domain, w.pattern[slot])
        v.weight[j] = np.floor(SHARES / valid + 0.5) if valid > 0 else 0.0
        person = w.person[slot]
        if scratch.seen[person] != scratch.turn[0]:
            scratch.seen[person] = scratch.turn[0]
            scratch.best[person] = j  # in the wave, the index of a person is that of its oldest tuple
            v.tuples[j] = 0
            v.work.persons += 1
        v.person[j] = scratch.best[person]
        v.tuples[v.person[j]] += 1
        v.slot[j] = slot
        v.group[j] = -1
        v.busy[j] = 0
        v.seen[j] = 0
        slot = w.newer[slot]
    for j in range(tuples, len(v.busy)):
        v.busy[j] = 1
    v.work.free = v.work.persons
    v.work.turn = v.work.groups = v.work.oldest = v.work.done = v.work.changes = 0


@inlined
def _valid(domain, pattern):
    """The sum of the weights of the quasi-identifiers that a tuple has; the largest weight counts as 1."""
    if not domain.weighed[0]:
        return np.float64(popcount(pattern))
    heaviest, total = 0.0, 0.0
    for q in range(len(domain.weight)):
        heaviest = max(heaviest, domain.weight[q])
    for q in range(len(domain.weight)):
        total += domain.weight[q] / heaviest if pattern >> np.uint64(q) & np.uint64(1) else 0.0
    return total


@inlined
def rounded(v, q, share):
    """A share of a range or a hierarchy, rounded to whole units."""
    return np.floor(share * v.scale[q] + 0.5)


@inlined
def units(domain, v, q, low, high, lacks):
    """The loss of the smallest interval, or the lowest node, from `low` to `high`; all of it if a member lacks it."""
    if lacks > 0:
        return v.scale[q]
    if low > high:
        return np.int32(0)
    if domain.categorical[q]:
        return v.unit[common_ancestor(domain, q, low, high)]
    return np.int32(high - low)
