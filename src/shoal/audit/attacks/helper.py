"""The attack on helpers: members that a group took in because their sensitive values were needed.

To be as diverse as l or t asks, a group may take in tuples from far away. The attacker knows who is in a group, with all its
quasi-identifiers, sees the values that the group shows, and says of the member that lies apart: it has a value other than the
usual one, which is the most frequent of all. Three attackers choose that member: the one farthest from all others on average,
the one farthest from the oldest member, and the one farthest from the medoid. The best of the three counts. The control looks
at nobody's quasi-identifiers: it says it of anyone at all, or of a member of these groups drawn at random, whichever is right
more often.

Only groups that show the usual value and another one are attacked: of these, if there are any, those that have more than k
members, since a group grows when it takes in others. They are drawn at random if there are many.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.audit.attacks.attack import Attack
from shoal.audit.attacks.groups import Groups
from shoal.audit.evidence import Evidence
from shoal.audit.original import Category, Numeric, Tree
from shoal.audit.values import Flags, Floats, Integers

MOST = 2_000  # groups
_LEAVES = 512  # in a tree with more, two different leaves are all equally far apart
GUESSES = ("farthest from the others", "farthest from the oldest", "farthest from the medoid")


def helper_of(name: str) -> Attack:
    """The attack on one sensitive attribute."""
    return Attack(
        f"helper: {name}",
        "who is in a group, with all quasi-identifiers, and the values that the group shows",
        "the member that lies apart has another value than the usual one; baseline: anyone has, or a member drawn at random",
    )


class Outcome(NamedTuple):
    """How often each guess was right, and what the share of its members was that it is right of, as means over the groups."""

    right: Floats  # by guess
    share: float


def helper(evidence: Evidence, groups: Groups, name: str, codes: Integers, draw: np.random.Generator) -> Attack:
    """Attack the groups of a trace; `codes` numbers the values that the output's rows show, 0 being null."""
    attack = helper_of(name)
    value = codes[groups.row]
    if not (value > 0).any():
        return attack.hindered("not applicable: no group shows a value")
    unusual = (value > 0) & (value != np.bincount(value[value > 0]).argmax())
    number = np.add.reduceat(unusual.astype(np.int64), groups.start)
    shown = np.add.reduceat((value > 0).astype(np.int64), groups.start)
    mixed = (number > 0) & (number < shown)
    grown = mixed & (groups.size > evidence.policy.privacy.k)
    attacked = np.flatnonzero(grown if grown.any() else mixed)
    if not len(attacked):
        return attack.hindered("not applicable: no group shows the usual value and another")
    found = outcome(evidence, groups, unusual, np.sort(draw.permutation(attacked)[:MOST]))
    best, everywhere = int(found.right.argmax()), float(unusual.sum() / (value > 0).sum())
    which = f"groups of more than {evidence.policy.privacy.k} members" if grown.any() else "groups"
    shares = f"{100 * found.share:.1f} % of their members, {100 * everywhere:.1f} % of all have one"
    detail = f"{GUESSES[best]}, in {which} with several values; {shares}"
    return attack.run(min(MOST, len(attacked)), float(found.right[best]), max(found.share, everywhere), detail)


def outcome(evidence: Evidence, groups: Groups, unusual: Flags, attacked: Integers) -> Outcome:
    """Try every guess in each of these groups."""
    spread = [_Tree.of(each.tree) if isinstance(each, Category) else None for each in evidence.original.values()]
    right, share = np.zeros(len(GUESSES)), 0.0
    for group in attacked:
        members = slice(int(groups.start[group]), int(groups.start[group] + groups.size[group]))
        record, has = groups.record[members], unusual[members]
        apart = _apart(evidence, spread, record)
        mean = apart.mean(axis=1)
        guesses = (mean.argmax(), apart[int(record.argmin())].argmax(), apart[int(mean.argmin())].argmax())
        right += has[np.array(guesses)]
        share += float(has.mean())
    return Outcome(right / len(attacked), share / len(attacked))


def _apart(evidence: Evidence, trees: list[_Tree | None], record: Integers) -> Floats:
    """How far these records are apart: the mean over the quasi-identifiers that both have; 1 where they share none."""
    total, shared = np.zeros((len(record), len(record))), np.zeros((len(record), len(record)))
    for (name, attribute), tree in zip(evidence.policy.quasi, trees, strict=True):
        original = evidence.original[name]
        if isinstance(original, Numeric):
            value = original.value[record]
            there = ~np.isnan(value)
            far = np.abs(value[:, None] - value) / (attribute.high - attribute.low)
        else:
            assert tree is not None
            leaf = original.leaf[record]
            there = leaf >= 0
            far = tree.apart(np.maximum(leaf, 0))
        both = there[:, None] & there
        total += np.where(both, far, 0.0)
        shared += both
    found: Floats = np.where(shared > 0, total / np.maximum(shared, 1), 1.0)
    np.fill_diagonal(found, 0.0)
    return found


class _Tree(NamedTuple):
    """How far the leaves of a tree are apart, if there are not too many."""

    between: Floats | None

    @classmethod
    def of(cls, tree: Tree) -> _Tree:
        """The distance of two leaves is the loss of the lowest node above both.

        >>> from shoal.policy import Hierarchy
        >>> lines = [["Paris", "France", "Europe"], ["Lyon", "France", "Europe"], ["Oslo", "Europe"]]
        >>> _Tree.of(Tree.of(Hierarchy.of(lines))).between.tolist()
        [[0.0, 0.5, 1.0], [0.5, 0.0, 1.0], [1.0, 1.0, 0.0]]
        """
        if tree.leaves > _LEAVES:
            return cls(None)
        between = np.zeros((tree.leaves, tree.leaves))
        for first, last in zip(tree.first.tolist(), tree.last.tolist(), strict=True):  # parents before children
            between[first : last + 1, first : last + 1] = (last - first) / max(1, tree.leaves - 1)
        return cls(between)

    def apart(self, leaf: Integers) -> Floats:
        """The distances of these leaves from each other."""
        if self.between is None:
            return (leaf[:, None] != leaf).astype(np.float64)
        return self.between[leaf[:, None], leaf]
