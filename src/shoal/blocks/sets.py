"""Sets: what a group shows of a categorical quasi-identifier where the policy says `generalize: set`.

A set is kept as words of bits, `domain.word[q]` being the first word of quasi-identifier q in a row of words. Bit i stands for
node `domain.node[q]` + i, so that the leaves come first. `g.nodes` are the nodes that a group shows; `g.reach`, which the door
alone fills, are all leaves that lie below them. A set that has a value unknown to the hierarchy is shown as the root.
docs/stronger.md says exactly what a group shows; `blocks.state` explains the arguments.
"""

from __future__ import annotations

import numpy as np

from shoal.blocks.domain import common_ancestor
from shoal.compiled import first_one, inlined, inner, popcount

_ONE = np.uint64(1)


@inlined
def bit_of(i):
    """The bit of node or leaf i in its word."""
    return _ONE << np.uint64(i & 63)


@inlined
def unlike_loss(domain, q, a, b):
    """The loss of a set of two different leaves; of the root, if the hierarchy lacks one of them."""
    if max(a, b) == domain.leaves[q]:
        return domain.node_loss[root_of(domain, q)]
    return 1.0 / (domain.leaves[q] - 1)


@inlined
def set_loss(domain, q, values, low, high):
    """The loss of the leaves of some tuples, of which so many are different, from `low` to `high`."""
    if values > domain.most[q] or high == domain.leaves[q] or values < 2:
        return domain.node_loss[common_ancestor(domain, q, low, high)]
    return (values - 1) / (domain.leaves[q] - 1)


@inlined
def show_node(domain, g, row, q, node):
    """Let a group show a single node."""
    for word in range(domain.word[q], domain.word[q + 1]):
        g.nodes[row, word] = 0
    own = node - domain.node[q]
    g.nodes[row, domain.word[q] + (own >> 6)] = bit_of(own)
    g.low[row, q], g.high[row, q], g.loss[row, q] = domain.first[node], domain.last[node], domain.node_loss[node]


@inlined
def root_of(domain, q):
    """The root of a hierarchy: the parent of the value that it lacks."""
    return domain.parent[domain.node[q] + domain.leaves[q]]


@inner
def show_set(domain, w, g, row, q, slots, scratch):
    """Let a group show the set of its members' values, or nodes above them; `g.low` and `g.high` are their ends."""
    low, high = g.low[row, q], g.high[row, q]
    first, last = domain.word[q], domain.word[q + 1]
    for word in range(first, last):
        g.nodes[row, word] = 0
    for slot in slots:
        value = w.values[slot, q]
        if value == value:
            own = np.int64(value)
            if domain.carriers[q] > 1:
                own = _supported_node(domain, w, q, slots, own, scratch) - domain.node[q]
            g.nodes[row, first + (own >> 6)] |= bit_of(own)
    if domain.carriers[q] > 1:
        _drop_covered(domain, g, row, q)
    shown = 0
    for word in range(first, last):
        shown += popcount(g.nodes[row, word])
    if shown == 1 or shown > domain.most[q] or high == domain.leaves[q]:
        node = common_ancestor(domain, q, low, high)
        if shown == 1 and high < domain.leaves[q]:
            node = domain.node[q] + _first_node(g, row, first)
        show_node(domain, g, row, q, node)
        return
    below = 0
    for word in range(first, last):
        nodes = g.nodes[row, word]
        while nodes != 0:
            node = domain.node[q] + 64 * (word - first) + first_one(nodes)
            nodes &= nodes - _ONE
            below += np.int64(domain.last[node] - domain.first[node]) + 1
            g.low[row, q], g.high[row, q] = min(g.low[row, q], domain.first[node]), max(g.high[row, q], domain.last[node])
    g.loss[row, q] = (below - 1) / (domain.leaves[q] - 1)


@inlined
def _first_node(g, row, word):
    """The first node of a set that is not empty."""
    i = 0
    while g.nodes[row, word + i] == 0:
        i += 1
    return 64 * i + first_one(g.nodes[row, word + i])


@inlined
def _supported_node(domain, w, q, slots, leaf, scratch):
    """The lowest node at or above a leaf that enough persons of a group have; the root at last."""
    node = domain.node[q] + leaf
    while domain.parent[node] != node and not has_carriers(domain, w, q, slots, node, scratch):
        node = domain.parent[node]
    return node


@inner
def has_carriers(domain, w, q, slots, node, scratch):
    """Whether enough persons of a group have a value at or below a node."""
    scratch.turn[0] += 1
    persons = 0
    for slot in slots:
        value = w.values[slot, q]
        if domain.first[node] <= value <= domain.last[node] and scratch.seen[w.person[slot]] != scratch.turn[0]:
            scratch.seen[w.person[slot]] = scratch.turn[0]
            persons += 1
            if persons == domain.carriers[q]:
                return True
    return False


@inlined
def _drop_covered(domain, g, row, q):
    """Remove the nodes that lie below others of the set."""
    first = domain.word[q]
    for word in range(first, domain.word[q + 1]):
        nodes = g.nodes[row, word]
        while nodes != 0:
            own = 64 * (word - first) + first_one(nodes)
            nodes &= nodes - _ONE
            node = domain.node[q] + own
            while domain.parent[node] != node:
                node = domain.parent[node]
                above = node - domain.node[q]
                if g.nodes[row, first + (above >> 6)] & bit_of(above):
                    g.nodes[row, word] &= ~bit_of(own)
                    break


@inner
def fill_reach(domain, g, row):
    """Find all leaves below what a group shows; what is blanked, or too few persons have, shows the root."""
    for q in range(len(domain.sets)):
        if not domain.sets[q]:
            continue
        first = domain.word[q]
        if g.low[row, q] == -np.inf:
            show_node(domain, g, row, q, root_of(domain, q))
            g.low[row, q], g.high[row, q], g.loss[row, q] = -np.inf, np.inf, 1.0
        for word in range(first, domain.word[q + 1]):
            g.reach[row, word] = 0
        for word in range(first, domain.word[q + 1]):
            nodes = g.nodes[row, word]
            while nodes != 0:
                node = domain.node[q] + 64 * (word - first) + first_one(nodes)
                nodes &= nodes - _ONE
                for leaf in range(np.int64(domain.first[node]), np.int64(domain.last[node]) + 1):
                    g.reach[row, first + (leaf >> 6)] |= bit_of(leaf)


@inlined
def reaches(domain, g, row, w, slot):
    """Whether all values of a tuple that are shown as sets lie below what a group shows."""
    for q in range(len(domain.sets)):
        value = w.values[slot, q]
        if domain.sets[q] and value == value and g.pattern[row] >> np.uint64(q) & _ONE:
            leaf = np.int64(value)
            if not g.reach[row, domain.word[q] + (leaf >> 6)] & bit_of(leaf):
                return False
    return True


@inner
def are_carried(s, slots, row):
    """Whether enough persons of a group have each node of its sets, but for the root."""
    domain, g = s.domain, s.groups
    for q in range(len(domain.sets)):
        if not domain.sets[q] or domain.carriers[q] < 2:
            continue
        for word in range(domain.word[q], domain.word[q + 1]):
            nodes = g.nodes[row, word]
            while nodes != 0:
                node = domain.node[q] + 64 * (word - domain.word[q]) + first_one(nodes)
                nodes &= nodes - _ONE
                if domain.parent[node] != node and not has_carriers(domain, s.window, q, slots, node, s.scratch):
                    return False
    return True
