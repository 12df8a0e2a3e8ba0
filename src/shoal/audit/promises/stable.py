"""Promises on stable attributes: what is shown of a value is its block, and bags hold enough, in no order."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from shoal.audit.bag_order import Pairs, Parts, is_ordered
from shoal.audit.bags import Leaving, bag_of, leaving
from shoal.audit.equality import is_nothing, joint, no_more
from shoal.audit.evidence import Evidence
from shoal.audit.finding import Docket, Finding, Verdict
from shoal.audit.second_output import Bag
from shoal.audit.stable import NO_BLOCK, largest_shares, unlisted_values
from shoal.audit.trace import NO_ROW
from shoal.audit.values import Ints
from shoal.audit.withheld import withheld

_BLOCKS = "of a stable attribute every row shows the block of its value, as the policy cuts it, and nothing else"
_BAGS = (
    "of a stable attribute in bags no row shows a value; each bag holds the values of at least as many tuples as `bag` says, "
    "of at least k persons, in no order"
)
_NAMED = 0.9  # from this share of its block on, a value is nearly named by it


def in_blocks(evidence: Evidence) -> Finding:
    """Compare what each row shows with the block of the value that came; without a trace, look at what is shown alone."""
    docket, policy, trace = Docket(evidence), evidence.policy, evidence.trace
    docket.fields(policy.blocks)
    names = [name for name in policy.blocks if name not in evidence.absent]
    for name in names:
        before, after = evidence.sensitive[name], evidence.shown[name]
        foreign = np.array([text == NO_BLOCK for text in after.to_pylist()], bool)
        docket.rows(np.flatnonzero(foreign), "what is shown is not a block of the policy", name)
        if trace is None:
            if not foreign.any() and not no_more(before, after):
                docket.add("the blocks are not those of the values of the input", field=name)
            continue
        old, new = joint(before, after)
        rows = np.flatnonzero(trace.row != NO_ROW)
        wrong = (old[trace.row[rows]] != new[rows]) & ~foreign[rows] & ~withheld(evidence, name)[rows]
        if policy.suppressed == "blank":
            wrong &= ~evidence.suppressed[rows]
            shown = np.flatnonzero(evidence.suppressed & ~is_nothing(after))
            docket.rows(shown, "the tuple is suppressed, but its block is shown", name)
        docket.rows(rows[wrong], "is not the block of the value that came", name)
    figures = {name: _figures(evidence, name) for name in names}
    if trace is None:
        note = "needs a trace; without one only what is shown, and how often, can be compared"
        return docket.finding("blocks", _BLOCKS, otherwise=Verdict.NOT_CHECKABLE, note=note, figures=figures)
    note = "; ".join(
        f"{name}: {each['blocks']} blocks of at least {each['least']} values" + (f", {each['gap']}" if each["gap"] else "")
        for name, each in figures.items()
    )
    return docket.finding("blocks", _BLOCKS, checked=evidence.released * len(names), note=note, figures=figures)


def _figures(evidence: Evidence, name: str) -> dict[str, Any]:
    """`gap` says that values in no block are too few to hide each other, or that a block nearly names one of its values."""
    policy, values = evidence.policy, evidence.policy.blocks[name].values
    unlisted, least = unlisted_values(policy, name, evidence.exact[name]), policy.privacy.across or 2
    shown = "null" if policy.attributes[name].unknown == "null" else "unlisted"
    shares = largest_shares(policy, name, evidence.exact[name], evidence.person)
    gaps = []
    if 0 < unlisted < least:
        gaps.append(f"{shown} stands for {unlisted} value{'' if unlisted == 1 else 's'}, fewer than {least}")
    if naming := sum(share > _NAMED for share in shares):
        gaps.append(f"{naming} of {len(values)} blocks nearly name{'s' if naming == 1 else ''} a value")
    return {
        "blocks": len(values), "least": min(map(len, values)), "unlisted": unlisted, "largest": max(shares, default=None),
        "gap": "but " + " and ".join(gaps) if gaps else "",
    }  # fmt: skip


def in_bags(evidence: Evidence) -> Finding:
    """Count each bag; with a trace, look at the tuples that it is made of."""
    docket, policy = Docket(evidence), evidence.policy
    for name in policy.bags:
        if name not in evidence.absent:
            shown = np.flatnonzero(~is_nothing(evidence.shown[name]))
            docket.rows(shown, "a value is shown in its row, though it is published in bags", name)
    if evidence.bags is None:
        note = "needs the second output, the bags"
        return docket.finding("bags", _BAGS, otherwise=Verdict.NOT_CHECKABLE, note=note)
    _look_beside(evidence, docket)
    figures: dict[str, Any] = {}
    inside: dict[str, _Inside] = {}
    for name, least in policy.bags.items():
        bags = evidence.bags.bags.get(name, [])
        for bag in bags:
            if len(bag.values) < least:
                docket.add(f"bag {bag.number} holds {len(bag.values):,} values, fewer than bag={least}", field=name)
        figures[name] = {"bags": len(bags), "values": sum(len(bag.values) for bag in bags), "persons": None}
        tuples = leaving(evidence, name)
        if tuples is not None:
            inside[name] = _Inside(bags, tuples, bag_of(evidence, bags, tuples))
            figures[name]["persons"] = _look_inside(evidence, docket, name, inside[name])
    for one, other in combinations(inside, 2):
        if _are_linked(inside[one], inside[other]):
            docket.add(f"its values stand at the places of those of '{other}' of the same tuples", field=one)
    note = "; ".join(f"{name}: {each['bags']:,} bags, {each['values']:,} values" for name, each in figures.items())
    if evidence.trace is None:
        note = f"{note}; persons and order need a trace"
        return docket.finding("bags", _BAGS, otherwise=Verdict.NOT_CHECKABLE, note=note, figures=figures)
    checked = sum(each["values"] for each in figures.values())
    return docket.finding("bags", _BAGS, checked=checked, note=note, figures=figures)


def _look_beside(evidence: Evidence, docket: Docket) -> None:
    """Look for what the second output has besides the bags."""
    assert evidence.bags is not None
    for name in evidence.bags.unlisted:
        docket.add("a field of the second output, which has attribute, bag and value alone", field=name)
    others = {name: bags for name, bags in evidence.bags.bags.items() if name not in evidence.policy.bags}
    for name, bags in others.items():
        known = name in evidence.policy.fields
        values = sum(len(bag.values) for bag in bags)
        what = f"{values:,} values stand in bags, though the policy does not publish this in bags"
        docket.add(what, field=name if known else None)


class _Inside(NamedTuple):
    """The bags of one attribute, the tuples whose values are in them, and in which bag each is."""

    bags: list[Bag]
    tuples: Leaving
    bag_of: Ints


def _look_inside(evidence: Evidence, docket: Docket, name: str, inside: _Inside) -> int | None:
    """Each bag is the values of the next tuples that left; the result is the fewest persons of a bag."""
    bags, tuples = inside.bags, inside.tuples
    k, fewest, parts = evidence.policy.privacy.k, None, (Parts(), Parts())
    persons = evidence.person_of(tuples.record)
    for number, bag in enumerate(bags):
        part = np.flatnonzero(inside.bag_of == number)
        own = [tuples.value[place] for place in part.tolist()]
        if Counter(own) != Counter(bag.values):
            docket.add(f"bag {bag.number} does not hold the values of the tuples that left", field=name)
            continue
        different = len(np.unique(persons[part]))
        fewest = different if fewest is None else min(fewest, different)
        if different < k:
            docket.add(f"bag {bag.number} is of {different} persons, fewer than k={k}", field=name)
        arrived = [own[i] for i in np.argsort(tuples.record[part], kind="stable").tolist()]
        if any(is_ordered(bag.values, other) for other in (own, arrived)):
            docket.add(f"bag {bag.number} is in the order in which its tuples arrived or left", field=name)
        for each, other in zip(parts, (own, arrived), strict=True):
            each.add(bag.values, other)
    if not docket.broken and any(each.are_ordered for each in parts):
        docket.add("its bags are shuffled within short parts of the order in which tuples arrived or left", field=name)
    return fewest


def _are_linked(one: _Inside, other: _Inside) -> bool:
    """Whether bags of the same tuples have the values of each tuple at the same place."""
    pairs = Pairs()
    for number in range(min(len(one.bags), len(other.bags))):
        first, second = (np.flatnonzero(each.bag_of == number) for each in (one, other))
        if np.array_equal(one.tuples.row[first], other.tuples.row[second]):
            own = [(one.tuples.value[i], other.tuples.value[j]) for i, j in zip(first, second, strict=True)]
            bags = one.bags[number].values, other.bags[number].values
            if all(Counter(bag) == Counter(each) for bag, each in zip(bags, zip(*own, strict=True), strict=True)):
                pairs.add(*bags, own)
    return pairs.are_linked
