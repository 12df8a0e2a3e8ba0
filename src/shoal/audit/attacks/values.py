"""Inferring a sensitive value without finding the person.

- *Homogeneity*: all rows that look alike show one sensitive value; whoever knows that a person is among them knows it. Success
  is the share of the rows in such classes. Chance is the same share after the values were shuffled among the rows, which says
  nothing about anybody. A row without a value says nothing, and is not counted; a class needs two rows with one.
- *Intersection of values*: a person who comes back is in several groups, and the sensitive value that does not change is in
  each of them. The attacker knows which rows are about one person, keeps the values that every one of these groups shows, and
  takes one at random. The control does it with as many groups of another person: it never saw the one it guesses. Targets
  are persons with at least two unsuppressed rows that show one and the same value.
"""

from __future__ import annotations

import numpy as np

from shoal.audit.attacks.attack import Attack
from shoal.audit.attacks.view import View
from shoal.audit.values import Integers

_MOST = 20  # groups of a person


def homogeneity_of(name: str) -> Attack:
    """The attack on one sensitive attribute."""
    return Attack(
        f"homogeneity of {name}",
        "that a person is behind one of the rows that look alike",
        "all of them show one sensitive value; baseline: after the values were shuffled among the rows",
    )


def intersection_of(name: str) -> Attack:
    """The attack on one sensitive attribute."""
    return Attack(
        f"intersection of values of {name}",
        "which rows are about the same person, whose value does not change",
        "a value taken at random among those that all these groups show is the person's; baseline: those of another person",
    )


def homogeneity(name: str, classes: Integers, code: Integers, draw: np.random.Generator) -> Attack:
    """The share of rows whose class shows one value; `classes` are negative for suppressed rows, `code` is 0 for null.

    >>> classes, code = np.array([0, 0, 0, 1, 1, -1]), np.array([5, 5, 0, 5, 6, 5])
    >>> found = homogeneity("ill", classes, code, np.random.default_rng(0))
    >>> found.tried, found.success
    (4, 0.5)
    """
    rows = np.flatnonzero((classes >= 0) & (code > 0))
    if not len(rows):
        return homogeneity_of(name).hindered("not applicable: no row in a class shows a value")
    group, values = classes[rows], code[rows]
    found = _uniform(group, values)
    shuffled = _uniform(group, draw.permutation(values))
    detail = f"{int(found.sum()):,} rows are in classes that show one value"
    return homogeneity_of(name).run(len(rows), float(found.mean()), float(shuffled.mean()), detail)


def _uniform(group: Integers, values: Integers) -> Integers:
    """Which rows are in a group of two or more that shows one value.

    >>> _uniform(np.array([0, 0, 1, 1, 2]), np.array([5, 5, 5, 6, 7])).tolist()
    [True, True, False, False, False]
    """
    size = int(group.max()) + 1
    least, most = np.full(size, np.iinfo(np.int64).max), np.full(size, np.iinfo(np.int64).min)
    np.minimum.at(least, group, values)
    np.maximum.at(most, group, values)
    return ((least == most) & (np.bincount(group, minlength=size) >= 2))[group]


def intersection_of_values(view: View, name: str, code: Integers, targets: int, draw: np.random.Generator) -> Attack:
    """Try persons who came back and whose value did not change."""
    plan, trace = intersection_of(name), view.trace
    grouped = np.flatnonzero((trace.cluster >= 0) & (view.person >= 0))
    if not len(grouped):
        return plan.hindered("not applicable: no group was published")
    stable = _stable(view.person[grouped], code[grouped])
    if len(stable) < 2:
        return plan.hindered("not applicable: no person with one value was released twice")
    order = grouped[np.argsort(trace.cluster[grouped], kind="stable")]
    cluster = trace.cluster[order]

    def shared(person: int, most: int) -> tuple[Integers, int]:
        """The values that all of a person's groups show, and how many groups these are."""
        own = view.own(person)
        groups = np.unique(trace.cluster[own[trace.cluster[own] >= 0]])[:most]
        values: Integers | None = None
        for each in groups.tolist():
            first, last = np.searchsorted(cluster, [each, each + 1])
            there = np.unique(code[order[first:last]])
            values = there if values is None else np.intersect1d(values, there, assume_unique=True)
        assert values is not None
        return values, len(groups)

    chosen = draw.permutation(stable)[:targets]
    others = np.roll(stable, int(draw.integers(1, len(stable))))[np.searchsorted(stable, chosen)]
    hits, control, certain = [], [], 0
    for person, other in zip(chosen.tolist(), others.tolist(), strict=True):
        value = code[view.own(person)[0]]
        values, groups = shared(person, _MOST)
        hits.append((value in values) / max(1, len(values)))
        certain += len(values) == 1
        values, _ = shared(other, groups)
        control.append((value in values) / max(1, len(values)))
    detail = f"one value is left for {certain:,} of {len(hits):,} persons who came back"
    return plan.run(len(hits), float(np.mean(hits)), float(np.mean(control)), detail)


def _stable(person: Integers, code: Integers) -> Integers:
    """The persons with two rows or more that all show one value, in order.

    >>> _stable(np.array([3, 3, 1, 1, 2]), np.array([5, 5, 5, 6, 7])).tolist()
    [3]
    """
    size = int(person.max()) + 1
    least, most = np.full(size, np.iinfo(np.int64).max), np.full(size, np.iinfo(np.int64).min)
    np.minimum.at(least, person, code)
    np.maximum.at(most, person, code)
    return np.flatnonzero((np.bincount(person, minlength=size) >= 2) & (least == most))
