"""A wave: the tuples that are to leave together, as whole numbers, and the arrays in which they are partitioned.

Every number that decides is a whole number, so that no sum depends on its order. A range or a hierarchy is 65,536 units wide,
less where the policy gives it less weight: a numeric value becomes its place on that scale, and the loss of a node is given
in these units. A tuple weighs 4,096 shares, divided by the number of quasi-identifiers that it has. The cost of a tuple in a
box is its weight times the sum of the box's losses over the quasi-identifiers that it has; the cost of a group is the sum
over its members. Costs are in float64, where such numbers are exact. Under `extended` and `root` a box loses all of a
quasi-identifier that one of its members lacks. Under `blurred` each member pays for each quasi-identifier in doubt, which some
members have and some lack.

In this folder `v` is a `Wave`; t, u and j are indices of tuples in it, from 0, in order of arrival; `group` and `candidate` are
indices too. `blocks.state` explains all other arguments.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.algorithms.tide.vectors import COLUMNS
from shoal.blocks import STRIDE, Domain, bit_of, common_ancestor, even
from shoal.compiled import inlined, inner, popcount

UNITS, SHARES = 65_536, 4096
DOUBT = 32  # a quasi-identifier in doubt costs as much as a box that is wider by this part of the range
LARGEST = 8192  # tuples of a wave, where more than twice as many are held
WHOLE, PART = 2000, 200  # a part of a wave is cut again if it has more tuples than WHOLE and than PART times k
MISSING = np.int32(-1)  # below every place and every leaf
NOWHERE = np.int32(2**29)  # the low end of an empty box, above every place; its high end is MISSING
FAR = np.uint16(65_535)  # above every key, and the coarse place of a missing value
LEAVES = 65_535  # of a hierarchy whose leaves are numbered in 16 bits

WORK = np.dtype([
    ("stage", np.int64), ("next", np.int64), ("done", np.int64),  # stage, next index, rounds of repair done
    ("tuples", np.int64), ("persons", np.int64),  # in the wave
    ("most", np.int64), ("parts", np.int64),  # tuples of a part, where it can be cut; how many parts have been cut off
    ("start", np.int64), ("stop", np.int64), ("members", np.int64),  # the current part: its tuples in `order`; its persons
    ("first", np.int64),  # the first group of the part
    ("free", np.int64),  # persons of the part with a tuple that is in no group yet
    ("entries", np.int64), ("taken", np.int64),  # columns for the shortlist; how many of them are of tuples in groups
    ("seeds", np.int64), ("groups", np.int64), ("oldest", np.int64), ("changes", np.int64),
    ("seeds_each", np.int64), ("rounds", np.int64),  # seeds for every k tuples, and rounds of repair: what `effort` says
    ("strict", np.int64),  # 1: a quasi-identifier that one member lacks is lost for all
    ("blurred", np.int64),  # 1: it is in doubt for all
    ("single", np.int64),  # 1: a group holds at most one tuple of a person
    ("shift", np.int64),  # keys of the shortlist are counted in 2^shift units
])  # fmt: skip


class Tuples(NamedTuple):
    """One entry per tuple of the wave."""

    slot: NDArray[np.int64]  # of the window
    place: NDArray[np.int32]  # one row per tuple, one column per quasi-identifier, filled up to whole vectors; leaves keep
    # their numbers
    pattern: NDArray[np.uint64]
    weight: NDArray[np.float64]
    person: NDArray[np.int64]  # of the window
    kin: NDArray[np.int64]  # the next tuple of the same person in the part; the last one names the first. Before a part
    # begins: the next older one in the wave, or -1
    cover: NDArray[np.int64]  # the number of the group that covers the tuple best; -1: none
    cover_cost: NDArray[np.float64]  # what the tuple costs when it leaves by its cover; infinite if there is none
    group: NDArray[np.int64]  # -1: in none
    newer: NDArray[np.int64]  # the members of a group, as a doubly linked list
    older: NDArray[np.int64]


class Scale(NamedTuple):
    """How values are counted in units."""

    width: NDArray[np.int32]  # by quasi-identifier: how many units it is wide
    unit: NDArray[np.int32]  # by node of the hierarchies: its loss
    set_unit: NDArray[np.int32]  # the loss of a set, by how many values it has, one quasi-identifier after the other
    set_at: NDArray[np.int64]  # where those of a quasi-identifier begin
    doubt: NDArray[np.float64]  # by quasi-identifier: what it costs each member if it is in doubt; 0 unless `blurred`
    doubt_units: NDArray[np.int32]  # the same in units, for a tuple that has all quasi-identifiers
    wide: NDArray[np.bool_]  # whether a hierarchy has too many leaves for 16 bits


class Growth(NamedTuple):
    """The candidates, and work arrays for the one that grows."""

    member: NDArray[np.int64]  # one row per candidate
    price: NDArray[np.float64]  # by candidate
    near: NDArray[np.uint16]  # coarse places, or leaves: one row per quasi-identifier, one column per tuple in no group
    tuple_of: NDArray[np.int64]  # by column
    column: NDArray[np.int64]  # by tuple
    busy: NDArray[np.uint16]  # by column: FAR if the tuple cannot join the candidate, or else 0
    key: NDArray[np.uint16]  # by column: what the tuple would add to the box, in coarse units
    low: NDArray[np.int32]  # the box, by quasi-identifier, filled up to whole vectors, as `weight`
    high: NDArray[np.int32]
    weight: NDArray[np.float64]  # of the members that have it
    lacks: NDArray[np.int32]  # 1: a member lacks it
    has: NDArray[np.uint64]  # the sets of the members' values, as words (`blocks.sets`); how many values there are
    different: NDArray[np.int32]
    rest: NDArray[np.uint64]  # a work array: the sets of another box
    listed: NDArray[np.int64]  # the shortlist: tuples in order of arrival
    heft: NDArray[np.float64]  # by entry of the shortlist: its weight
    place: NDArray[np.int32]  # by quasi-identifier and entry: its place, and the box's loss with it
    loss: NDArray[np.float64]
    wider: NDArray[np.float64]  # by entry: the loss of another box with it, in one quasi-identifier
    lost: NDArray[np.float64]  # by entry: the sum of `loss`
    doubts: NDArray[np.float64]  # by entry: the sum of `doubt` over what is in doubt with it
    cost: NDArray[np.float64]  # by entry: of the candidate with it; infinite: removed


class Boxes(NamedTuple):
    """The groups: by quasi-identifier and group, or by group."""

    low: NDArray[np.int32]  # the smallest place, the second smallest; so for the largest
    low_next: NDArray[np.int32]
    high: NDArray[np.int32]
    high_next: NDArray[np.int32]
    loss: NDArray[np.int32]
    weight: NDArray[np.float64]  # the weight of the members that have the quasi-identifier
    rough_weight: NDArray[np.float32]
    lacks: NDArray[np.int32]  # how many members lack the quasi-identifier
    has: NDArray[np.uint64]  # by word and group: the sets of the values that a member has, and that two members have
    twice: NDArray[np.uint64]
    different: NDArray[np.int32]  # how many values a set has
    more: NDArray[np.int32]  # the loss with one value more; -1: that depends on the value
    all_have: NDArray[np.uint64]  # by group: the pattern of what all members have, and of what any has
    any_has: NDArray[np.uint64]
    lost: NDArray[np.float32]  # by group: the sum of `loss`
    cost: NDArray[np.float64]
    doubts: NDArray[np.float64]  # by group: the sum of `doubt` over what is in doubt
    size: NDArray[np.int64]
    persons: NDArray[np.int64]
    first: NDArray[np.int64]  # the member at the head of the list; -1: the group is dissolved
    closed: NDArray[np.float32]  # 0, or infinite: the group is dissolved, or none
    rise: NDArray[np.float32]  # work arrays: roughly by how much the current tuple would raise its cost
    wider: NDArray[np.int32]


class Wave(NamedTuple):
    tuples: Tuples
    scale: Scale
    growth: Growth
    boxes: Boxes
    order: NDArray[np.int64]  # the tuples, those of a part together, in order of arrival
    ends: NDArray[np.int64]  # where the parts end, the next part last
    moved: NDArray[np.int64]  # tuples that are moved: the members of a group that is dissolved, or one side of a cut
    work: np.record


def wave(domain: Domain, k: int, seeds_each: int, rounds: int, strict: bool, blurred: bool, single: bool, tuples: int) -> Wave:
    """Arrays for a wave of `tuples` tuples."""
    quasi, row, short = len(domain.width), even(tuples), even(2 * k)
    columns = -(-quasi // COLUMNS) * COLUMNS
    if row * 2 % 4096 == 0:
        row += STRIDE  # as in the window
    groups, candidates = even(tuples // k + 1 + STRIDE), seeds_each * tuples // k + 1
    work = np.zeros(1, WORK).view(np.recarray)[0]
    work.seeds_each, work.rounds, work.strict, work.blurred, work.single = seeds_each, rounds, strict, blurred, single
    work.most = max(WHOLE, PART * k)
    scale = _scale(domain, blurred)
    while (scale.width >> work.shift).sum() + (scale.doubt_units >> work.shift).sum() >= FAR:
        work.shift += 1
    slot, person, kin, cover, group, newer, older = (np.zeros(row, np.int64) for _ in range(7))
    order, ends, moved, tuple_of, column = (np.zeros(row, np.int64) for _ in range(5))
    low, low_next, high, high_next, loss, lacks, different, more = (np.zeros((quasi, groups), np.int32) for _ in range(8))
    words = int(domain.word[-1])
    has, twice = (np.zeros((words, groups), np.uint64) for _ in range(2))
    size, persons, first = (np.zeros(groups, np.int64) for _ in range(3))
    heft, lost, wider, doubts, cost = (np.zeros(short) for _ in range(5))
    return Wave(
        Tuples(slot=slot, place=np.full((row, columns), MISSING), pattern=np.zeros(row, np.uint64), weight=np.zeros(row),
               person=person, kin=kin, cover=cover, cover_cost=np.zeros(row), group=group, newer=newer, older=older),
        scale,
        Growth(member=np.zeros((candidates, k), np.int64), price=np.zeros(even(candidates)),
               near=np.zeros((quasi, row), np.uint16), tuple_of=tuple_of, column=column, busy=np.zeros(row, np.uint16),
               key=np.zeros(row, np.uint16),
               low=np.full(columns, NOWHERE), high=np.full(columns, MISSING), weight=np.zeros(columns),
               lacks=np.zeros(quasi, np.int32), has=np.zeros(words, np.uint64), different=np.zeros(quasi, np.int32),
               rest=np.zeros(words, np.uint64), listed=np.zeros(short, np.int64), place=np.zeros((quasi, short), np.int32),
               heft=heft, loss=np.zeros((quasi, short)), wider=wider, lost=lost, doubts=doubts, cost=cost),
        Boxes(low=low, low_next=low_next, high=high, high_next=high_next, loss=loss, weight=np.zeros((quasi, groups)),
              rough_weight=np.zeros((quasi, groups), np.float32), lacks=lacks,
              has=has, twice=twice, different=different, more=more, all_have=np.zeros(groups, np.uint64),
              any_has=np.zeros(groups, np.uint64), lost=np.zeros(groups, np.float32), cost=np.zeros(groups),
              doubts=np.zeros(groups), size=size, persons=persons, first=first, closed=np.zeros(groups, np.float32),
              rise=np.zeros(groups, np.float32), wider=np.zeros(groups, np.int32)),
        order=order, ends=ends, moved=moved, work=work,
    )  # fmt: skip


def _scale(domain: Domain, blurred: bool) -> Scale:
    shares = domain.weight / domain.weight.max()
    width = np.floor(UNITS * shares + 0.5).astype(np.int32)
    doubt_units = np.floor(width / DOUBT + 0.5).astype(np.int32) * np.int32(blurred)
    doubt = doubt_units * np.floor(SHARES / sum(shares.tolist()) + 0.5)
    sizes = np.diff(np.append(domain.node, len(domain.node_loss)))
    unit = np.floor(domain.node_loss * np.repeat(width, sizes) + 0.5).astype(np.int32)
    last = np.array([domain.last[node : node + size].max(initial=0.0) for node, size in zip(domain.node, sizes, strict=True)])
    sets = [_set_units(leaves, int(units)) for leaves, units in zip(domain.leaves * domain.sets, width, strict=True)]
    return Scale(
        width=width, unit=unit, set_unit=np.concatenate(sets), set_at=np.cumsum([0, *map(len, sets)])[:-1],
        doubt=doubt, doubt_units=doubt_units, wide=domain.categorical & (last >= LEAVES),
    )  # fmt: skip


def _set_units(leaves: int, width: int) -> NDArray[np.int32]:
    """The loss of a set by how many of so many leaves it has, from none on."""
    return np.floor(np.arange(-1, leaves) / max(leaves - 1, 1) * width + 0.5).clip(0).astype(np.int32)


@inner
def fill_wave(domain, w, v, scratch, tuples):
    """Copy the oldest tuples of the window into the wave, in order of arrival; `kin` is the next older of the person, or -1."""
    p, work = v.tuples, v.work
    scratch.turn[0] += 1
    work.tuples = tuples
    work.persons = 0
    slot = w.clock.oldest
    for t in range(tuples):
        for q in range(len(domain.width)):
            value = w.values[slot, q]
            p.place[t, q] = MISSING
            if value == value:
                place = value if domain.categorical[q] else rounded(v, q, (value - domain.low[q]) / domain.width[q])
                p.place[t, q] = np.int32(place)
        valid = _valid(domain, w.pattern[slot])
        p.weight[t] = np.floor(SHARES / valid + 0.5) if valid > 0 else 0.0
        p.pattern[t] = w.pattern[slot]
        p.person[t] = w.person[slot]
        p.kin[t] = -1
        if is_new(scratch, p.person[t]):
            work.persons += 1
        else:
            p.kin[t] = scratch.best[p.person[t]]
        scratch.best[p.person[t]] = t
        p.slot[t] = slot
        p.group[t] = -1
        v.order[t] = t
        slot = w.newer[slot]
    v.ends[0] = tuples
    work.parts = 1
    work.groups = work.stop = 0


@inlined
def is_new(scratch, person):
    """Whether this turn has not seen the person yet; now it has."""
    new = scratch.seen[person] != scratch.turn[0]
    scratch.seen[person] = scratch.turn[0]
    return new


@inlined
def link_persons(v, scratch):
    """Chain the tuples of each person in the current part, and count the persons."""
    p, work = v.tuples, v.work
    scratch.turn[0] += 1
    work.members = 0
    for j in range(work.start, work.stop):
        t = v.order[j]
        p.kin[t] = t
        if is_new(scratch, p.person[t]):
            work.members += 1
        else:
            last = scratch.best[p.person[t]]
            p.kin[t], p.kin[last] = p.kin[last], t
        scratch.best[p.person[t]] = t
    work.free = work.members


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
    return np.floor(share * v.scale.width[q] + 0.5)


@inlined
def units(domain, v, q, low, high, count, lacks):
    """The loss of the smallest interval, the lowest node or the set of `count` values from `low` to `high`; all of it if it is
    lost for all."""
    if lacks > 0 and v.work.strict:
        return v.scale.width[q]
    if low > high:
        return np.int32(0)
    if domain.sets[q] and count <= domain.most[q] and high < domain.leaves[q]:
        return v.scale.set_unit[v.scale.set_at[q] + count]
    if domain.categorical[q]:
        return v.scale.unit[common_ancestor(domain, q, low, high)]
    return np.int32(high - low)


@inlined
def with_one_more(domain, v, q, low, high, count):
    """The loss of a set with one value more that the hierarchy knows; -1 if it depends on the value."""
    if high == domain.leaves[q] or low > high:
        return units(domain, v, q, low, high, count, 0)
    return v.scale.set_unit[v.scale.set_at[q] + count + 1] if count < min(domain.most[q], domain.leaves[q]) else np.int32(-1)


@inlined
def has_value(domain, sets, group, q, leaf):
    """Whether the set of a group has a leaf."""
    return sets[domain.word[q] + (leaf >> 6), group] & bit_of(leaf) != 0


@inlined
def is_only(domain, b, group, q, leaf):
    """Whether one member alone has this leaf of the group's set."""
    return domain.sets[q] and not has_value(domain, b.twice, group, q, leaf)


@inlined
def is_mixed(low, high, lacks):
    """Whether some members have a quasi-identifier and some lack it."""
    return lacks > 0 and low <= high


@inlined
def has_kin_in(p, t, group):
    """Whether another tuple of the same person is in the group."""
    u = p.kin[t]
    while u != t:
        if p.group[u] == group:
            return True
        u = p.kin[u]
    return False
