"""How much the members of a class differ in a sensitive attribute."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.audit.values import Floats, Integers


@dataclass(frozen=True)
class Diversity:
    """Diversity of one sensitive attribute over all classes.

    - `distinct`: the fewest different values in a class (distinct l-diversity).
    - `entropy`: the smallest effective number of values, e to the entropy (entropy l-diversity).
    - `closeness`: the largest distance of a class's distribution from that of all classes (t-closeness); the earth mover's
      distance, with equal distances between categories, and along the order for numbers.
    - `uniform`: classes whose members all share one value, and how many records are in them.
    """

    ordered: bool
    values: int
    classes: int
    distinct: int
    distinct_mean: float
    entropy: float
    entropy_mean: float
    closeness: float
    closeness_mean: float
    uniform: int
    uniform_records: int


def diversity(classes: Integers, values: Integers, ordered: bool) -> Diversity:
    """The diversity of coded values over classes; a record whose class is negative is in none.

    Values are numbered from 0, in their order where `ordered`.

    >>> diversity(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), ordered=False)  # doctest: +ELLIPSIS
    Diversity(ordered=False, values=2, classes=2, distinct=1, distinct_mean=1.5, entropy=1.0, ... uniform=1, uniform_records=2)
    """
    inside = classes >= 0
    code, value = classes[inside].astype(np.int64), values[inside].astype(np.int64)
    if not len(code):
        return Diversity(ordered, 0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0)
    present, value = np.unique(value, return_inverse=True)
    width = len(present)
    pair, count = np.unique(code * width + value, return_counts=True)
    label, seen = pair // width, pair % width
    start = np.flatnonzero(np.diff(label, prepend=-1))
    size = np.add.reduceat(count, start)
    distinct = np.diff(start, append=len(pair))
    share = count / np.repeat(size, distinct)
    entropy = np.exp(-np.add.reduceat(share * np.log(share), start))
    overall = np.bincount(value, minlength=width) / len(value)
    distance = _ordered(share, seen, start, overall) if ordered else _equal(share, seen, start, overall)
    uniform = distinct == 1
    return Diversity(
        ordered=ordered,
        values=width,
        classes=len(start),
        distinct=int(distinct.min()),
        distinct_mean=float(distinct.mean()),
        entropy=float(entropy.min()),
        entropy_mean=float(entropy.mean()),
        closeness=float(distance.max()),
        closeness_mean=float(distance.mean()),
        uniform=int(uniform.sum()),
        uniform_records=int(size[uniform].sum()),
    )


def _equal(share: Floats, seen: Integers, start: Integers, overall: Floats) -> Floats:
    """½ Σ |q - p|; a value that a class does not have adds p."""
    p = overall[seen]
    absent = 1.0 - np.add.reduceat(p, start)
    return 0.5 * (np.add.reduceat(np.abs(share - p), start) + absent)


def _ordered(share: Floats, seen: Integers, start: Integers, overall: Floats) -> Floats:
    """Σ |Q - P| / (values - 1) over cumulative shares; Q is constant from one value of a class to its next."""
    width = len(overall)
    if width == 1:
        return np.zeros(len(start))
    below = np.cumsum(overall)
    below[-1] = 1.0
    area = np.concatenate([[0.0], np.cumsum(below)])
    total = np.cumsum(share)
    before = np.concatenate([[0.0], total])[start]
    reached = total - np.repeat(before, np.diff(start, append=len(seen)))
    following = np.append(seen[1:], width)
    following[np.append(start[1:], len(seen)) - 1] = width
    steps = _gap(reached, seen, following, below, area)
    return (np.add.reduceat(steps, start) + area[seen[start]]) / (width - 1)


def _gap(level: Floats, first: Integers, end: Integers, below: Floats, area: Floats) -> Floats:
    """Σ |level - below[v]| for v from first to end - 1."""
    turn = np.clip(np.searchsorted(below, level), first, end)
    under = level * (turn - first) - (area[turn] - area[first])
    over = (area[end] - area[turn]) - level * (end - turn)
    return under + over
