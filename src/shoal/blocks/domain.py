"""The domain: what the policy says about the quasi-identifiers, as arrays.

A numeric value stays as it is. A categorical value is the number of its leaf in depth-first order, so that a node of the
hierarchy is an interval of leaves. A value that the hierarchy lacks but the policy admits (`unknown: root`) gets the
number past the last leaf: it is a leaf of its own right below the root, and is published as the root. `blocks.state`
explains the arguments.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.compiled import inlined, popcount
from shoal.policy import Policy

MISSING = 0xFFFF
"""The code of a missing value; all other codes are lower."""
CODES = MISSING
"""The most nodes of a hierarchy whose leaves have codes."""


class Domain(NamedTuple):
    """One entry per quasi-identifier, in the policy's order; then the nodes of all hierarchies, one after the other."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    width: NDArray[np.float64]
    weight: NDArray[np.float64]
    weighed: NDArray[np.bool_]  # one cell: whether any weight is other than 1
    least: NDArray[np.float64]  # one cell: the least weight
    unit: NDArray[np.float64]  # one cell: how many units of a rough distance make a weight of 1
    scale: NDArray[np.float64]  # units per numeric value; 1 for leaves, which keep their numbers
    coded: NDArray[np.bool_]  # whether its values have codes: not if there are more leaves than codes
    categorical: NDArray[np.bool_]
    grid: NDArray[np.float64]  # 0 where there is none; this and the next two have one entry more, for the time
    grid_top: NDArray[np.float64]  # the grid as a fraction: its m-th multiple is m * grid_top / grid_bottom
    grid_bottom: NDArray[np.float64]
    node: NDArray[np.int64]  # the first node of each hierarchy; the node of leaf c is node + c
    parent: NDArray[np.int64]
    first: NDArray[np.float64]
    last: NDArray[np.float64]
    node_loss: NDArray[np.float64]
    node_units: NDArray[np.int64]  # its loss in units
    label: NDArray[np.int64]  # the index of a node's label in its hierarchy
    root: NDArray[np.int64]  # the root's label
    sets: NDArray[np.bool_]  # whether a group shows a set of values (`blocks.sets`); the next five count only there
    most: NDArray[np.int64]  # the most values of a set
    carriers: NDArray[np.int64]  # the fewest persons that have a value of a set
    leaves: NDArray[np.int64]  # how many leaves there are, which is also the number of a value that the hierarchy lacks
    admits: NDArray[np.bool_]  # whether there can be such a value
    unlike: NDArray[np.int64]  # the loss of a set of two, in units of a rough distance
    word: NDArray[np.int64]  # the first word of each set in a row of words; the last entry: how many words there are


def domain(policy: Policy) -> Domain:
    """The arrays of a policy."""
    size = len(policy.quasi)
    low, high, grid = np.zeros(size), np.ones(size), np.zeros(size + 1)
    top, bottom = np.ones(size + 1), np.ones(size + 1)
    if policy.time_grid is not None:
        grid[size] = policy.time_grid
        top[size], bottom[size] = Fraction(str(policy.time_grid)).as_integer_ratio()
    categorical, node, top_label = np.zeros(size, bool), np.zeros(size, np.int64), np.zeros(size, np.int64)
    weight = np.array([policy.weights.get(name, 1.0) for name, _ in policy.quasi])
    parent: list[int] = []
    first: list[float] = []
    last: list[float] = []
    node_loss: list[float] = []
    label: list[int] = []
    sets, admits, words = np.zeros(size, bool), np.zeros(size, bool), np.zeros(size + 1, np.int64)
    most, carriers, tops = np.zeros(size, np.int64), np.ones(size, np.int64), np.zeros(size, np.int64)
    for q, (_, attribute) in enumerate(policy.quasi):
        tree = attribute.hierarchy
        node[q] = len(parent)
        if tree is None:
            low[q], high[q] = attribute.low, attribute.high
            if attribute.grid is not None:
                grid[q] = attribute.grid
                top[q], bottom[q] = Fraction(str(attribute.grid)).as_integer_ratio()
            continue
        categorical[q] = True
        leaves, root = tree.leaves, tree.root
        top_label[q], tops[q] = root, leaves
        if attribute.sets:
            sets[q], words[q + 1] = True, len(tree.labels) // 64 + 1  # a bit for each node, and for an unknown value
            admits[q] = attribute.unknown == "root"
            most[q], carriers[q] = min(attribute.sets.most or leaves, leaves), attribute.sets.min_support
        place = [n if n < leaves else n + 1 for n in range(len(tree.labels))]
        unknown = leaves
        up = {place[n]: place[p] if p >= 0 else place[root] for n, p in enumerate(tree.parent.tolist())}
        up[unknown] = place[root]
        span = {place[n]: (a, b) for n, (a, b) in enumerate(zip(tree.first.tolist(), tree.last.tolist(), strict=True))}
        span[unknown] = (unknown, -1)
        span[place[root]] = (0, unknown)
        loss = {p: (b - a) / (leaves - 1) if leaves > 1 else 0.0 for p, (a, b) in span.items()}
        loss[place[root]] = loss[unknown] = 1.0 if leaves > 1 else 0.0
        for p in range(len(up)):
            parent.append(int(node[q]) + up[p])
            first.append(span[p][0])
            last.append(span[p][1])
            node_loss.append(loss[p])
            label.append(root if p == unknown else p - (p > unknown))
    unit = (MISSING - size) / weight.sum()  # so that the sum of all rounded losses stays below MISSING
    nodes = np.diff([*node, len(parent)])
    coded = nodes <= CODES
    scale = np.where(categorical, coded, weight * unit / (high - low))
    node_units = np.floor(np.array(node_loss) * np.repeat(weight * unit, nodes) + 0.5).astype(np.int64)
    unlike = np.floor(weight * unit / np.maximum(tops - 1, 1) + 0.5).astype(np.int64)
    return Domain(
        low=low, high=high, width=high - low, weight=weight, weighed=np.array([(weight != 1.0).any()]),
        least=weight.min(keepdims=True), unit=np.array([unit]), scale=scale, coded=coded, categorical=categorical,
        grid=grid, grid_top=top, grid_bottom=bottom, node=node, parent=np.array(parent, np.int64),
        first=np.array(first, np.float64), last=np.array(last, np.float64), node_loss=np.array(node_loss, np.float64),
        node_units=node_units, label=np.array(label, np.int64), root=top_label,
        sets=sets, most=most, carriers=carriers, leaves=tops, admits=admits, unlike=unlike, word=np.cumsum(words),
    )  # fmt: skip


@inlined
def weight_of(domain, pattern):
    """The sum of the weights of the quasi-identifiers in a pattern."""
    if not domain.weighed[0]:
        return np.float64(popcount(pattern))
    total = 0.0
    for q in range(len(domain.weight)):
        total += domain.weight[q] if pattern >> np.uint64(q) & np.uint64(1) else 0.0
    return total


@inlined
def common_ancestor(domain, q, low, high):
    """The lowest node over the leaves `low` and `high`."""
    node = domain.node[q] + np.int64(low)
    while domain.last[node] < high:
        node = domain.parent[node]
    return node


@inlined
def multiple_below(domain, q, value):
    """The largest multiple of the grid that is not above `value`."""
    m = np.floor(value / domain.grid[q]) + 1
    while m * domain.grid_top[q] / domain.grid_bottom[q] > value:
        m -= 1
    return m * domain.grid_top[q] / domain.grid_bottom[q]


@inlined
def multiple_above(domain, q, value):
    """The smallest multiple of the grid that is not below `value`."""
    m = np.ceil(value / domain.grid[q]) - 1
    while m * domain.grid_top[q] / domain.grid_bottom[q] < value:
        m += 1
    return m * domain.grid_top[q] / domain.grid_bottom[q]
