"""Figures of z-anonymity that are no verdict: what left, which pseudonyms are alike, attacks.

The attacks link the pseudonym of a user with the next one, across the boundary of two periods. The attacker sees the output
alone. For a pseudonym of one period the attacker guesses which pseudonym of the next period is the same user: the one whose
features are most alike, rare ones weighing more (the cosine of sets, weighted by log((1 + n) / m), where m of the period's n
pseudonyms have the feature). Of several that are equally alike one is taken at random. Targets are users who publish in two
periods that follow each other, drawn at random; the trace tells whether a guess is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shoal.audit.attacks.attack import NO_TRACE, SEED, TARGETS, Attack
from shoal.audit.observations.evidence import Observed
from shoal.audit.observations.promises import counted
from shoal.audit.published import mixed
from shoal.audit.risk import Histogram, by_doubling
from shoal.audit.values import Flags, Floats, Ints, codes

EDGE = 5
_SAME = "is the same user; baseline: any of the next period"
_KNOWS = "all that is published"
ITEMS = Attack("rotation, by items", _KNOWS, f"the pseudonym of the next period with the most similar items {_SAME}")
SESSION = Attack(
    "rotation, by sessions",
    f"{_KNOWS}, with its times",
    f"the pseudonym whose first {EDGE} observations are most like the last {EDGE}, of several the soonest, {_SAME}",
)
KEPT = Attack("rotation, by kept values", _KNOWS, f"the pseudonym of the next period with the most similar kept values {_SAME}")
_NO_BOUNDARY = "not applicable: no user publishes in two periods that follow each other"


def rotation(evidence: Observed, targets: int = TARGETS) -> tuple[Attack, ...]:
    """Every attack, on the same targets."""
    kept = [name for name in evidence.shown if name != evidence.time_field and name not in evidence.absent]
    plans = [ITEMS, SESSION, *([KEPT] if kept else [])]
    if evidence.trace is None:
        return tuple(plan.hindered(NO_TRACE) for plan in plans)
    sight = _Sight(evidence)
    drawn = sight.targets(targets)
    if not len(drawn):
        return tuple(plan.hindered(_NO_BOUNDARY) for plan in plans)
    values = {name: codes(evidence.shown[name]).code[sight.rows] for name in kept}
    views = [sight.features({"item": sight.node}), sight.features({"item": sight.node}, EDGE), sight.features(values)]
    found = []
    for plan, view in zip(plans, views, strict=False):
        chances = [sight.guess(view, source, target, plan is SESSION) for source, target in drawn]
        choice = [sight.choice(target) for _, target in drawn]
        detail = f"{round(float(np.median(choice))):,} pseudonyms to choose from in the median"
        found.append(plan.run(len(drawn), float(np.mean(chances)), float(np.mean([1 / each for each in choice])), detail))
    return tuple(found)


class _Sight:
    """What is published under each pseudonym of each period; `rows` are the rows of the output behind it."""

    def __init__(self, evidence: Observed) -> None:
        shown = evidence.linked[(evidence.nodes.shown[evidence.linked] >= 0) & evidence.formed[evidence.linked]]
        record = evidence.traced.row[shown]
        order = np.lexsort((np.arange(len(shown)), evidence.time[record], evidence.pseudonym[shown], evidence.period[record]))
        self.rows, record = shown[order], record[order]
        self.node = evidence.nodes.shown[self.rows].astype(np.int64)
        self._time, window = evidence.time[record], evidence.rule.window
        period, name = evidence.period[record], evidence.pseudonym[self.rows]
        new = np.append(True, (period[1:] != period[:-1]) | (name[1:] != name[:-1]))[: len(name)]
        self._first = np.flatnonzero(new)
        self._last = np.append(self._first[1:], len(name)) - 1
        self._pseudonym = np.cumsum(new) - 1  # the number of the pseudonym, period by period
        self._user = evidence.user[record][self._first]
        self._period = period[self._first]
        start = np.floor_divide(self._time[self._first], window) if window else np.full(len(self._first), np.nan)
        self._begin = np.searchsorted(self._period, self._period, side="left")
        self._end = np.searchsorted(self._period, self._period, side="right")
        self._next = np.append(start, np.nan)[self._end] == start + 1 if len(start) else np.zeros(0, bool)

    def targets(self, most: int) -> list[tuple[int, int]]:
        """Pseudonyms of users who publish in the next period too, each with the one that is to be found."""
        key = self._period * (int(self._user.max(initial=0)) + 1) + self._user
        order = np.argsort(key, kind="stable")
        wanted = key + int(self._user.max(initial=0)) + 1
        place = np.minimum(np.searchsorted(key[order], wanted), max(len(key) - 1, 0))
        found = np.flatnonzero(self._next & (key[order][place] == wanted)) if len(key) else np.zeros(0, np.int64)
        drawn = np.sort(np.random.default_rng(SEED).permutation(found)[:most])
        return [(int(each), int(order[place[each]])) for each in drawn]

    def choice(self, target: int) -> int:
        """How many pseudonyms the period of this one has."""
        return int(self._end[target] - self._begin[target])

    def features(self, columns: Mapping[str, Ints], edge: int | None = None) -> tuple[_Features, _Features]:
        """The features of pseudonyms at the end of a period and at its start; of all their rows where there is no edge."""
        place = np.arange(len(self._pseudonym))
        head = place - self._first[self._pseudonym] < (edge or len(place))
        tail = self._last[self._pseudonym] - place < (edge or len(place))
        return _Features(self._pseudonym, columns, tail, self._period), _Features(self._pseudonym, columns, head, self._period)

    def guess(self, view: tuple[_Features, _Features], source: int, target: int, soonest: bool) -> float:
        """The chance of guessing the target for the source."""
        begin, end = int(self._begin[target]), int(self._end[target])
        score = view[1].likeness(view[0].of(source), begin, end)
        best = score >= score.max() - 1e-12
        if soonest:
            gap = np.where(best, self._time[self._first[begin:end]] - self._time[self._last[source]], np.inf)
            best &= gap == gap.min()
        return float(best[target - begin]) / int(best.sum())


class _Features:
    """Which features each pseudonym has, each feature once."""

    def __init__(self, pseudonym: Ints, columns: Mapping[str, Ints], chosen: Flags, period: Ints) -> None:
        parts, offset = [], 0
        for column in columns.values():
            parts.append(column + offset)
            offset += int(column.max(initial=0)) + 1
        owner = np.concatenate([pseudonym[chosen]] * len(parts)) if parts else np.zeros(0, np.int64)
        feature = np.concatenate([part[chosen] for part in parts]) if parts else owner
        pair = np.unique(owner * (offset + 1) + feature)
        self._owner, self._feature = pair // (offset + 1), pair % (offset + 1)
        key = period[self._owner] * (offset + 1) + self._feature
        _, place, often = np.unique(key, return_inverse=True, return_counts=True)
        size = np.bincount(period, minlength=1)[period[self._owner]]
        self._weight = np.log((1 + size) / often[place])
        self._norm = np.sqrt(np.bincount(self._owner, self._weight**2, minlength=len(period)))

    def of(self, pseudonym: int) -> Ints:
        """The features of one."""
        first, last = np.searchsorted(self._owner, [pseudonym, pseudonym + 1])
        return self._feature[first:last]

    def likeness(self, wanted: Ints, begin: int, end: int) -> Floats:
        """How alike each of these pseudonyms is to one with the wanted features; their own weights count."""
        first, last = np.searchsorted(self._owner, [begin, end])
        hit = np.isin(self._feature[first:last], wanted)
        shared = np.bincount(self._owner[first:last][hit] - begin, self._weight[first:last][hit] ** 2, minlength=end - begin)
        return shared / np.maximum(self._norm[begin:end], 1e-12)


@dataclass(frozen=True)
class Crowds:
    """How many pseudonyms publish the same items in the same period; pseudonyms that publish none are left out."""

    pseudonyms: int
    alone: int  # pseudonyms with a set of items that no other has
    sizes: Histogram  # of sets, how many pseudonyms have them


@dataclass(frozen=True)
class Transactions:
    """What an audit of z-anonymity measures besides the promises."""

    shown: int  # rows with an item
    generalized: int | None  # rows that show an ancestor; this and the next need a trace
    users: Histogram | None  # of releases, how many users the item had by then
    items: int  # different items of the input
    published: int  # different items and ancestors of the output
    crowds: Crowds
    attacks: tuple[Attack, ...]


def transactions(evidence: Observed) -> Transactions:
    """Measure."""
    shown = evidence.nodes.shown[evidence.nodes.shown >= 0]
    traced = evidence.trace is not None
    return Transactions(
        shown=len(shown),
        generalized=int((evidence.level > 0).sum()) if traced else None,
        users=by_doubling(counted(evidence)[1]) if traced else None,
        items=len(np.unique(evidence.nodes.path[:, 0])),
        published=len(np.unique(shown)),
        crowds=_crowds(evidence),
        attacks=rotation(evidence),
    )


def _crowds(evidence: Observed) -> Crowds:
    """Sets are compared by sums of 64-bit keys."""
    rows = np.flatnonzero((evidence.nodes.shown >= 0) & (evidence.pseudonym >= 0) & ~np.isnan(evidence.shown_time))
    period, shown = evidence.periods(evidence.shown_time[rows]), evidence.nodes.shown[rows].astype(np.int64)
    spans, owner = np.unique(evidence.pseudonym[rows] * (int(period.max(initial=0)) + 1) + period, return_inverse=True)
    width = int(shown.max(initial=0)) + 1
    pair = np.unique(owner.ravel() * width + shown)
    total = np.zeros(len(spans), np.uint64)
    np.add.at(total, pair // width, mixed((pair % width + 1).astype(np.uint64)))
    when = (spans % (int(period.max(initial=0)) + 1)).astype(np.uint64)
    sizes = np.unique(mixed(total + mixed(when + np.uint64(1))), return_counts=True)[1]
    return Crowds(len(spans), int((sizes == 1).sum()), by_doubling(sizes))
