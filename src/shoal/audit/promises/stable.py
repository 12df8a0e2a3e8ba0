"""Promises on stable attributes: what is shown of a value is its block, and bags hold enough, in no order."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from shoal.audit.bags import Bag, Leaving, leaving
from shoal.audit.equality import is_nothing, joint, no_more
from shoal.audit.evidence import Evidence
from shoal.audit.finding import Docket, Finding, Verdict
from shoal.audit.stable import NO_BLOCK, unlisted_values
from shoal.audit.trace import NO_ROW
from shoal.audit.withheld import withheld

_BLOCKS = "of a stable attribute every row shows the block of its value, as the policy cuts it, and nothing else"
_BAGS = (
    "of a stable attribute in bags no row shows a value; each bag holds the values of at least as many tuples as `bag` says, "
    "of at least k persons, in no order"
)
_STRIKING = 6.0  # standard deviations by which the order of a bag may look like another order
_CERTAIN = 1e-6  # below this chance, a bag that has exactly another order was not shuffled


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
    """`gap` says that values in no block are too few to hide each other."""
    policy, values = evidence.policy, evidence.policy.blocks[name].values
    unlisted, least = unlisted_values(policy, name, evidence.exact[name]), policy.privacy.across or 2
    shown = "null" if policy.attributes[name].unknown == "null" else "unlisted"
    gap = (
        f"but {shown} stands for {unlisted} value{'' if unlisted == 1 else 's'}, fewer than {least}"
        if 0 < unlisted < least
        else ""
    )
    return {"blocks": len(values), "least": min(map(len, values)), "unlisted": unlisted, "gap": gap}


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
    figures: dict[str, Any] = {}
    for name, least in policy.bags.items():
        bags = evidence.bags.get(name, [])
        for bag in bags:
            if len(bag.values) < least:
                docket.add(f"bag {bag.number} holds {len(bag.values):,} values, fewer than bag={least}", field=name)
        figures[name] = {"bags": len(bags), "values": sum(len(bag.values) for bag in bags), "persons": None}
        tuples = leaving(evidence, name)
        if tuples is not None:
            figures[name]["persons"] = _look_inside(evidence, docket, name, bags, tuples)
    note = "; ".join(f"{name}: {each['bags']:,} bags, {each['values']:,} values" for name, each in figures.items())
    if evidence.trace is None:
        note = f"{note}; persons and order need a trace"
        return docket.finding("bags", _BAGS, otherwise=Verdict.NOT_CHECKABLE, note=note, figures=figures)
    checked = sum(each["values"] for each in figures.values())
    return docket.finding("bags", _BAGS, checked=checked, note=note, figures=figures)


def _look_inside(evidence: Evidence, docket: Docket, name: str, bags: list[Bag], tuples: Leaving) -> int | None:
    """Each bag is the values of the next tuples that left; the result is the fewest persons of a bag."""
    k, start, fewest = evidence.policy.privacy.k, 0, None
    persons = evidence.person_of(tuples.record)
    for bag in bags:
        part = slice(start, start + len(bag.values))
        start = part.stop
        own = tuples.value[part]
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
    return fewest


def is_ordered(values: list[str | None], other: list[str]) -> bool:
    """Whether values stand where they stand in another order far more often than after a shuffle.

    >>> is_ordered([*"abcdefghijkl"], [*"abcdefghijkl"]), is_ordered([*"abcdefghijkl"], [*"lkjihgfedcba"])
    (True, False)
    >>> is_ordered([*"aaaa"], [*"aaaa"])
    False
    """
    size, counts = len(values), Counter(other)
    same = sum(a == b for a, b in zip(values, other, strict=True))
    share = sum(count * count for count in counts.values()) / max(1, size * size)
    spread = math.sqrt(size * share * (1 - share))
    if same == size:
        orders = math.lgamma(size + 1) - sum(math.lgamma(count + 1) for count in counts.values())
        return orders > -math.log(_CERTAIN)
    return spread > 1 and (same - size * share) / spread > _STRIKING
