"""Inferring the value of a person who comes back, from all groups that the person was in.

*Values across releases*: the attacker knows which rows are about one person, whose value does not change, sees which values
each of their groups shows and how often, and knows how frequent each value is among all persons. Two ways are tried, and the
better one counts:

- *Intersection*: of the values that every group shows, the most frequent one.
- *Naive Bayes*: the value v with the largest p(v) · ∏ n_G(b) / (n_G · q(b)) over the groups G, where p(v) is its share among
  the persons, b is v itself or the block that stands for it, n_G(b) of the n_G values that G shows are b, and q(b) is the share
  of b in all rows. The own value is in each of the groups, so its share there is above q.

For an attribute in bags a group is the bag that holds the person's value.

The control knows the shares p(v) alone and takes the most frequent value; where blocks are published, the most frequent one of
the person's block, since the block is what the promise allows to be learnt. Targets are persons with one value and at least two
releases, drawn at random.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from shoal.audit.attacks.attack import NO_TRACE, SEED, Attack
from shoal.audit.bags import bag_of, leaving
from shoal.audit.equality import NOTHING, joint
from shoal.audit.evidence import Evidence
from shoal.audit.trace import Trace
from shoal.audit.values import Floats, Ints, codes_of_meaning

STEPS = (1, 2, 5, 10, 20, 50)
"""After how many releases the attacker guesses."""

_MOST = 50  # groups of a person
_VALUES = 2_000
_LITTLE = 1e-3  # a value that a group does not show counts as that much of one
_NONE = -1
_FEW = 10  # of fewer persons, a share says little


def across_of(name: str) -> Attack:
    """The attack on one sensitive attribute."""
    return Attack(
        f"values across releases of {name}",
        "which rows are about the same person, the groups they are in, and how frequent each value is",
        "the value that fits all these groups best is the person's; baseline: the most frequent value of all",
    )


class Releases(NamedTuple):
    """The releases of all persons: of each its group, what its group shows, and the truth."""

    person: Ints
    group: Ints  # numbered from 0
    value: Ints  # what came, numbered from 0; -1 where nothing did
    counts: Floats  # by group and symbol: how often a group shows it
    symbol: Ints  # by value: what stands for it in the groups; -1 if nothing does


def across_releases(evidence: Evidence, name: str, targets: int) -> Attack:
    """Try persons who came back and whose value did not change."""
    plan, trace = across_of(name), evidence.trace
    if trace is None:
        return plan.hindered(NO_TRACE)
    found = _of_bags(evidence, name) if name in evidence.policy.bags else _of_rows(evidence, trace, name)
    if isinstance(found, str):
        return plan.hindered(found)
    return attacked(plan, found, targets, name in evidence.policy.blocks)


def attacked(plan: Attack, found: Releases, targets: int, on_blocks: bool) -> Attack:
    """Attack some persons, after every number of releases."""
    own = _persons(found)
    if not own:
        return plan.hindered("not applicable: no person with one value was released twice")
    values = np.array([found.value[rows[0]] for rows in own])
    prior = np.bincount(values, minlength=len(found.symbol)) / len(values)
    draw = np.random.default_rng(SEED)
    chosen = np.sort(draw.permutation(len(own))[:targets])
    attacker = _Attacker(found, prior)
    steps: list[tuple[int, int, float]] = []
    for most in STEPS:
        some = [place for place in chosen.tolist() if len(own[place]) >= most]
        if len(some) < _FEW and steps:
            break
        guesses = np.array([attacker.guesses(own[place][:most]) for place in some])
        shares = (guesses == values[some][:, None]).mean(axis=0)
        steps.append((most, len(some), float(shares.max())))
    guesses = np.array([attacker.guesses(own[place][:_MOST]) for place in chosen.tolist()])
    truth = values[chosen]
    shares = (guesses == truth[:, None]).mean(axis=0)
    best = max(zip(shares.tolist(), ("intersection", "naive Bayes"), strict=True))
    baseline = float((truth == int(prior.argmax())).mean())
    control = float(np.mean(attacker.usual(found.symbol[truth]) == truth)) if on_blocks else baseline
    error = 1.96 * float(np.sqrt(max(control * (1 - control), 1e-12) / len(truth)))
    after = ", ".join(f"{share:.0%} after {most}" for most, _, share in steps)
    known = (
        f"the most frequent value of the person's block {control:.0%}"
        if on_blocks
        else f"the most frequent value {control:.0%}"
    )
    detail = f"by {best[1]}; {after}; {known}, ± {error:.0%} for {len(truth):,} persons"
    return replace(plan.run(len(truth), best[0], baseline, detail), control=control, by_releases=tuple(steps))


class _Attacker:
    def __init__(self, found: Releases, prior: Floats) -> None:
        self._found, self._prior = found, prior
        total = found.counts.sum(axis=0)
        self._share = np.maximum(total / max(1.0, total.sum()), 1e-12)
        self._sizes = found.counts.sum(axis=1)
        self._candidate = (found.symbol >= 0) & (prior > 0)
        with np.errstate(divide="ignore"):
            self._log_prior = np.where(self._candidate, np.log(prior), -np.inf)

    def guesses(self, rows: Ints) -> tuple[int, int]:
        """The value by intersection, and by naive Bayes."""
        found = self._found
        groups = np.unique(found.group[rows])
        groups = groups[self._sizes[groups] > 0]
        counts, sizes = found.counts[groups], self._sizes[groups]
        left = self._candidate & (counts > 0).all(axis=0)[found.symbol]
        by_intersection = int(np.where(left, self._prior, -1.0).argmax())
        fit = np.log(np.maximum(counts, _LITTLE) / sizes[:, None] / self._share).sum(axis=0)
        return by_intersection, int((self._log_prior + fit[found.symbol]).argmax())

    def usual(self, symbols: Ints) -> Ints:
        """The most frequent value among those for which a symbol stands."""
        best = np.zeros(int(self._found.symbol.max(initial=0)) + 1, np.int64)
        for value in np.argsort(self._prior, kind="stable").tolist():
            if self._found.symbol[value] >= 0:
                best[self._found.symbol[value]] = value
        return best[symbols]


def _persons(found: Releases) -> list[Ints]:
    """The releases of each person with one value in at least two releases, in the order in which they left.

    A release without a value, such as one beyond the budget, is none: the value of the person is not among those of its group.
    """
    there = np.flatnonzero((found.person >= 0) & (found.group >= 0) & (found.value >= 0))
    there = there[np.argsort(found.person[there], kind="stable")]
    parts = np.split(there, np.flatnonzero(np.diff(found.person[there])) + 1) if len(there) else []
    return [rows for rows in parts if len(rows) > 1 and len(np.unique(found.value[rows])) == 1]


def _coded(column: pa.ChunkedArray, nulls: tuple[str, ...]) -> Ints:
    """A number for each different value, -1 for what is missing."""
    code: Ints = codes_of_meaning(column, nulls).code - 1
    return code


def _of_rows(evidence: Evidence, trace: Trace, name: str) -> Releases | str:
    exact = evidence.exact.get(name, evidence.sensitive[name])
    record = np.where(trace.row >= 0, trace.row, 0)
    value = _coded(exact, evidence.policy.nulls_of(name))
    before, after = joint(evidence.sensitive[name], evidence.shown[name])
    symbols = int(max(before.max(initial=0), after.max(initial=0))) + 1
    if max(symbols, int(value.max(initial=0))) > _VALUES:
        return f"not applicable: more than {_VALUES:,} different values"
    symbol = np.full(int(value.max(initial=0)) + 1, _NONE)
    has = (value >= 0) & (before != NOTHING)
    symbol[value[has]] = before[has]
    grouped = np.flatnonzero((trace.cluster >= 0) & (trace.row >= 0))
    if not len(grouped):
        return "not applicable: no group was published"
    number = np.full(len(trace.cluster), _NONE)
    number[grouped] = np.unique(trace.cluster[grouped], return_inverse=True)[1]
    person = np.where(number >= 0, np.append(evidence.person, _NONE)[trace.row], _NONE).astype(np.int64)
    person, number = _sampled(person, number)
    counts = np.zeros((int(number.max(initial=-1)) + 1, symbols))
    inside = np.flatnonzero(number >= 0)
    shown = inside[after[inside] != NOTHING]
    np.add.at(counts, (number[shown], after[shown]), 1.0)
    return Releases(person, number, value[record], counts, symbol)


def _sampled(person: Ints, number: Ints) -> tuple[Ints, Ints]:
    """Persons and groups; of very many groups only those of some persons stay, numbered anew."""
    groups = int(number.max(initial=-1)) + 1
    if groups <= 50_000:
        return person, number
    some = np.random.default_rng(SEED).permutation(np.unique(person[person >= 0]))[:2_000]
    person = np.where(np.isin(person, some), person, _NONE)
    used = np.full(groups + 1, _NONE)
    own = np.unique(number[person >= 0])
    used[own] = np.arange(len(own))
    return person, used[number]


def _of_bags(evidence: Evidence, name: str) -> Releases | str:
    tuples = leaving(evidence, name)
    if evidence.bags is None or tuples is None:
        return "not checkable: it needs the bags and the trace"
    bags = evidence.bags.bags.get(name, [])
    numbers = {text: number for number, text in enumerate(dict.fromkeys(tuples.value))}
    if not bags or len(numbers) > _VALUES:
        return "not applicable: no bag was written" if not bags else f"not applicable: more than {_VALUES:,} different values"
    counts = np.zeros((len(bags), len(numbers)))
    for place, bag in enumerate(bags):
        for text in bag.values:
            if text in numbers:
                counts[place, numbers[text]] += 1
    value = np.array([numbers[text] for text in tuples.value], np.int64)
    group = bag_of(evidence, bags, tuples)
    return Releases(evidence.person_of(tuples.record), group, value, counts, np.arange(len(numbers)))
