"""What an analyst gets out of the published stream, and how far it lies from the truth.

The analyst reads an interval as any of its values with the same chance, whole numbers where the attribute is one of whole
numbers, and a node as any of its leaves. A set tells more: each of its values is that of a member of the group, and the rest
are as frequent as they seem to be (`_of_sets`). Suppressed rows are left out, and counts scaled up by their share. A null
counts nowhere, a value that may be missing for less than one (`_weights`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.audit.doubt import Shown, having
from shoal.audit.evidence import Evidence
from shoal.audit.original import Category, Numeric
from shoal.audit.published import Band, Node
from shoal.audit.values import Flags, Floats, Ints
from shoal.policy import Attribute

QUERIES = 100
SEED = 20_240
_LARGEST = 2.0**40  # whole numbers whose halves are exact
_EDGES = 2048
_RARE = 0.01
_PAIRS = 24


@dataclass(frozen=True)
class NumberAnswer:
    """Errors on a numeric quasi-identifier: of mean and median as shares of its range, of range counts as shares of the count.

    Ranges reach from the value of one record to that of another, both drawn at random; a count below 1 % of the records is
    measured against that 1 %.
    """

    mean: float
    median: float
    range_median: float
    range_mean: float


@dataclass(frozen=True)
class CategoryAnswer:
    """Errors on a categorical quasi-identifier.

    How many of the `top` most frequent leaves are among as many that seem so, and how far their counts lie from the true
    ones, all together, as a share of these.
    """

    top: int
    found: int
    count: float


@dataclass(frozen=True)
class Answers:
    """Errors attribute by attribute, and of counts with conditions on two attributes at once (median and mean error)."""

    numbers: dict[str, NumberAnswer]
    categories: dict[str, CategoryAnswer]
    pairs: int
    pair_median: float
    pair_mean: float


@dataclass(frozen=True)
class Distribution:
    """How often values are there, and how often they seem to be there in what was published.

    Of a number the `edges` of bars of one width; of a category the `labels` of its most frequent leaves, and of all others
    together, if there are more.
    """

    edges: tuple[float, ...]
    labels: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]


def distributions(evidence: Evidence, bars: int = 16) -> dict[str, Distribution]:
    """The distribution of each quasi-identifier in the input, and as an analyst estimates it from the output."""
    plain = ~evidence.suppressed
    scale = len(plain) / max(1, int(plain.sum()))
    found, all_weights = {}, _weights(evidence)
    for name, attribute in evidence.policy.quasi:
        original, shown, weights = evidence.original[name], evidence.published[name], all_weights[name]
        if isinstance(original, Numeric) and isinstance(shown, Band):
            true = original.value[~np.isnan(original.value)]
            half = half_step(true)
            edges = bar_edges(attribute.low, attribute.high, half > 0, bars)
            there = plain & ~np.isnan(shown.lo)
            lo, hi = shown.lo[there] - half, shown.hi[there] + half
            after = np.diff(_below(lo, hi, weights[there], edges) * scale)
            found[name] = Distribution(_floats(edges), (), _floats(_histogram(true, edges)), _floats(after))
        elif isinstance(original, Category) and isinstance(shown, Node):
            true = np.bincount(original.leaf[original.leaf >= 0], minlength=shown.tree.leaves).astype(np.float64)
            estimate = _estimate(shown, weights, plain, scale, evidence.policy.privacy.k)
            order = np.argsort(-true, kind="stable")
            best, rest = (order[: bars - 1], order[bars - 1 :]) if len(order) > bars else (order, order[:0])
            leaves = _leaves(shown)
            labels = [*(leaves[place] for place in best), *(["all others"] if len(rest) else [])]
            counts = [[*each[best], *([each[rest].sum()] if len(rest) else [])] for each in (true, estimate)]
            found[name] = Distribution((), tuple(labels), *(_floats(np.array(each)) for each in counts))
    return found


def _leaves(shown: Node) -> list[str]:
    """The names of the leaves, in their order: nodes that none lies below."""
    depth = shown.tree.depth
    return [shown.tree.name[node] for node in np.flatnonzero(np.append(depth[1:], 0) <= depth)]


def _floats(values: Floats) -> tuple[float, ...]:
    return tuple(values.tolist())


def answers(evidence: Evidence) -> Answers:
    """The errors of the usual questions; where there is nothing to ask about, an attribute is left out."""
    draw = np.random.default_rng(SEED)
    plain = ~evidence.suppressed
    scale = len(plain) / max(1, int(plain.sum()))
    weights = _weights(evidence)
    numbers, categories = {}, {}
    for name, attribute in evidence.policy.quasi:
        original, shown = evidence.original[name], evidence.published[name]
        if isinstance(original, Numeric) and isinstance(shown, Band):
            number = _number(original, shown, weights[name], attribute, plain, scale, draw)
            if number:
                numbers[name] = number
        elif isinstance(original, Category) and isinstance(shown, Node):
            category = _category(original, shown, weights[name], plain, scale, evidence.policy.privacy.k)
            if category:
                categories[name] = category
    errors = _pairs(evidence, weights, plain, scale, draw)
    return Answers(
        numbers, categories, len(errors), float(np.median(errors)) if errors else 0.0, float(np.mean(errors)) if errors else 0.0
    )


def _number(
    original: Numeric,
    shown: Band,
    weights: Floats,
    attribute: Attribute,
    plain: Flags,
    scale: float,
    draw: np.random.Generator,
) -> NumberAnswer | None:
    true = original.value[~np.isnan(original.value)]
    there = plain & ~np.isnan(shown.lo)
    if not len(true) or not there.any():
        return None
    half = half_step(true)
    lo, hi, weight = shown.lo[there] - half, shown.hi[there] + half, weights[there]
    middle = float(np.average((lo + hi) / 2, weights=weight))
    edges = _edges(attribute, half)
    below = _below(lo, hi, weight, edges)
    median = float(np.interp(below[-1] / 2, below, edges))
    counted = np.append(0.0, np.cumsum(_histogram(true, edges)))
    errors = _range_errors(counted, below * scale, draw)
    width = attribute.high - attribute.low
    return NumberAnswer(
        mean=abs(middle - float(true.mean())) / width,
        median=abs(median - float(np.median(true))) / width,
        range_median=float(np.median(errors)),
        range_mean=float(errors.mean()),
    )


def bar_edges(low: float, high: float, whole: bool, bars: int) -> Floats:
    """The edges of at most so many bars from low to high; each bar has room for equally many whole numbers.

    >>> bar_edges(0, 19, True, 16).tolist()[:3], len(bar_edges(0, 19, True, 16))  # pairs: ten bars, not spikes in sixteen
    ([-0.5, 1.5, 3.5], 11)
    >>> bar_edges(0.0, 1.0, False, 4).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    half = 0.5 if whole else 0.0
    if whole and low == np.rint(low) and -_LARGEST < low <= high < _LARGEST:
        width = np.ceil((high - low + 1) / bars)
        return low - half + width * np.arange(np.ceil((high - low + 1) / width) + 1)
    return np.linspace(low - half, high + half, bars + 1)


def half_step(values: Floats) -> float:
    """Half the distance of neighbouring values: ½ for whole numbers, 0 for others.

    >>> half_step(np.array([1.0, 4.0])), half_step(np.array([1.0, 4.5]))
    (0.5, 0.0)
    """
    return 0.5 if bool((values == np.rint(values)).all()) else 0.0


def _weights(evidence: Evidence) -> dict[str, Floats]:
    """How many values each row stands for: less than one where some of its group were imputed, and where it is in doubt."""
    found, plain, counts = {}, ~evidence.suppressed, {}
    for name, shown in evidence.published.items():
        weight = np.ones(evidence.released)
        if shown.of is not None and shown.had is not None:
            imputed = shown.of > 0
            weight[imputed] = shown.had[imputed] / shown.of[imputed]
        found[name] = weight
        in_doubt, missing = int(shown.doubt[plain].sum()), int(shown.null[plain].sum())
        counts[name] = Shown(int(plain.sum()) - in_doubt - missing, in_doubt, missing)
    if any(each.doubtful for each in counts.values()):
        for name, share in having(counts, evidence.policy.privacy.k).items():
            found[name][evidence.published[name].doubt] = share
    return found


def _edges(attribute: Attribute, half: float) -> Floats:
    low, high = attribute.low - half, attribute.high + half
    whole = half > 0 and high - low <= _EDGES and low + half == round(low + half)
    told_apart = (high - low) / np.spacing(max(abs(low), abs(high)))  # doubles in the range, if it is short and far from 0
    return np.linspace(low, high, 1 + max(1, min(round(high - low) if whole else _EDGES, int(told_apart / 8))))


def _below(lo: Floats, hi: Floats, weight: Floats, edges: Floats) -> Floats:
    """How much lies below each edge, if every row is spread evenly from lo to hi: the sum of clip((e-lo)/(hi-lo), 0, 1)."""
    step = edges[1] - edges[0]
    width = hi - lo
    flat = width <= 0
    slope = np.divide(weight, width, out=np.zeros_like(width), where=~flat)

    def first_at(place: Floats) -> Ints:
        return np.clip(np.ceil((place - edges[0]) / step), 0, len(edges)).astype(np.int64)

    def summed(place: Ints, amount: Floats) -> Floats:
        return np.cumsum(np.bincount(place, amount, len(edges) + 1), dtype=np.float64)[: len(edges)]

    rise, fall = first_at(lo), first_at(hi)
    rising = summed(rise, slope) * edges - summed(rise, slope * lo)
    falling = summed(fall, slope) * edges - summed(fall, slope * hi)
    jumps = summed(rise, np.where(flat, weight, 0.0)) if flat.any() else 0.0
    return np.maximum.accumulate(rising - falling + jumps)


def _histogram(values: Floats, edges: Floats) -> Floats:
    place = np.clip((values - edges[0]) / (edges[1] - edges[0]), 0, len(edges) - 2).astype(np.int64)
    return np.bincount(place, minlength=len(edges) - 1).astype(np.float64)


def _range_errors(counted: Floats, below: Floats, draw: np.random.Generator) -> Floats:
    """Relative errors of counts between two edges, the edges drawn by how many values lie there."""
    ends = np.searchsorted(counted, draw.uniform(0, counted[-1], (QUERIES, 2)), side="right")
    ends.sort(axis=1)
    first, last = np.maximum(ends[:, 0] - 1, 0), np.minimum(ends[:, 1], len(counted) - 1)
    true = counted[last] - counted[first]
    estimate = below[last] - below[first]
    return np.abs(estimate - true) / np.maximum(true, _RARE * counted[-1])


def _category(original: Category, shown: Node, weights: Floats, plain: Flags, scale: float, k: int) -> CategoryAnswer | None:
    tree = shown.tree
    there = plain & (shown.node >= 0)
    true = np.bincount(original.leaf[original.leaf >= 0], minlength=tree.leaves).astype(np.float64)
    top = min(10, int((true > 0).sum()))
    if not top or not there.any():
        return None
    estimate = _estimate(shown, weights, plain, scale, k)
    best = np.argsort(-true, kind="stable")[:top]
    guessed = np.argsort(-estimate, kind="stable")[:top]
    error = float(np.abs(estimate[best] - true[best]).sum() / true[best].sum())
    return CategoryAnswer(top, len(np.intersect1d(best, guessed)), error)


def _estimate(shown: Node, weights: Floats, plain: Flags, scale: float, k: int) -> Floats:
    """How often each leaf seems to be there."""
    there = plain & (shown.node >= 0)
    amount: Floats = np.bincount(shown.node[there], weights[there], len(shown.sizes)).astype(np.float64) * scale
    found: Floats = _of_nodes(shown, amount) + amount[len(shown.tree.first) :] @ _of_sets(shown, amount, k)
    return found


def _of_nodes(shown: Node, amount: Floats) -> Floats:
    """How often each leaf is shown by nodes, all leaves of a node alike; `amount` says how often each node and set is shown."""
    tree = shown.tree
    share = amount[: len(tree.first)] / shown.sizes[: len(tree.first)]
    found = np.zeros(tree.leaves + 1)
    np.add.at(found, tree.first, share)
    np.add.at(found, tree.last + 1, -share)
    return np.cumsum(found)[:-1]


def _of_sets(shown: Node, amount: Floats, k: int) -> Floats:
    """How likely a row that shows a set has each leaf: one row per set.

    Of k rows that show a set, one has each of its leaves. The others have them in proportion to how often the rows that show
    several would show them, if each were any of its leaves with the same chance. (Rows that show a single leaf say little about
    the others: a frequent leaf has groups of its own.)
    """
    nodes, member = len(shown.tree.first), shown.member.astype(np.float64)
    if not len(member):
        return member
    size = shown.sizes[nodes:, None]
    sure = np.minimum(1 / k, 1 / size)
    seen = _of_nodes(shown, np.where(shown.sizes > 1, amount, 0.0)) + (amount[nodes:] / size[:, 0]) @ member
    likely = member * np.maximum(seen, 1e-12)
    return sure * member + (1 - sure * size) * likely / likely.sum(axis=1, keepdims=True)


def _pairs(
    evidence: Evidence, weights: dict[str, Floats], plain: Flags, scale: float, draw: np.random.Generator
) -> list[float]:
    """Errors of counts with conditions on two attributes: a range between two records' values, a leaf of a record."""
    names = [name for name, _ in evidence.policy.quasi]
    records = len(evidence.line)
    if len(names) < 2 or not records or not plain.any():
        return []
    errors = []
    halves: dict[str, float] = {}
    chances: dict[str, Floats] = {}
    for _ in range(_PAIRS):
        true = np.ones(records, dtype=bool)
        estimate: Floats = plain.astype(np.float64)
        for name in (names[place] for place in draw.choice(len(names), 2, replace=False)):
            original, shown = evidence.original[name], evidence.published[name]
            estimate *= weights[name]
            if isinstance(original, Numeric) and isinstance(shown, Band):
                a, b = _two(original.value, draw)
                if name not in halves:
                    halves[name] = half_step(original.value[~np.isnan(original.value)])
                true &= (original.value >= a) & (original.value <= b)
                estimate *= _overlap(shown, a, b, halves[name])
            elif isinstance(original, Category) and isinstance(shown, Node):
                leaf = _one(original.leaf, draw)
                true &= original.leaf == leaf
                if name not in chances:
                    there = plain & (shown.node >= 0)
                    amount = np.bincount(shown.node[there], weights[name][there], len(shown.sizes)).astype(np.float64)
                    chances[name] = _of_sets(shown, amount, evidence.policy.privacy.k)
                tree = shown.tree
                inside = (tree.first <= leaf) & (leaf <= tree.last)
                chance = np.concatenate([inside / (tree.last - tree.first + 1), chances[name][:, leaf], [0.0]])
                estimate *= chance[np.maximum(shown.node, -1)]
        count = float(true.sum())
        errors.append(abs(float(estimate.sum()) * scale - count) / max(count, _RARE * records))
    return errors


def _overlap(shown: Band, a: float, b: float, half: float) -> Floats:
    lo, hi = shown.lo - half, shown.hi + half
    width = hi - lo
    if half == 0:
        flat = width <= 0
        width[flat] = 1.0
    inside = np.minimum(hi, b + half) - np.maximum(lo, a - half)
    inside = np.clip(inside, 0, None) / width
    if half == 0 and flat.any():
        inside[flat] = (shown.lo[flat] >= a) & (shown.lo[flat] <= b)
    return np.nan_to_num(inside, copy=False)


def _two(values: Floats, draw: np.random.Generator) -> tuple[float, float]:
    there = values[draw.integers(0, len(values), 64)]
    there = there[~np.isnan(there)][:2]
    return (float(there.min()), float(there.max())) if len(there) else (0.0, 0.0)


def _one(leaves: NDArray[np.int32], draw: np.random.Generator) -> int:
    there = leaves[draw.integers(0, len(leaves), 64)]
    there = there[there >= 0]
    return int(there[0]) if len(there) else 0
