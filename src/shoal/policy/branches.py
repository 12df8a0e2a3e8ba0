"""Branches, each from a leaf to the root, that must make one tree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise

from shoal.errors import PolicyError
from shoal.policy.text import canonical

MOST = 10


class Branches:
    """Collects branches and everything that keeps them from being a tree."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.parent: dict[str, str | None] = {}
        self.children: dict[str, list[str]] = {}  # of inner nodes
        self._seen: dict[str, str] = {}
        self._above: dict[str, tuple[str, ...]] = {}  # of each leaf, up to the root
        self._tails: dict[tuple[object, ...], tuple[str, ...]] = {}  # as they came, and as they are

    @property
    def root(self) -> str:
        """The label that every branch ends with."""
        return next(label for label, above in self.parent.items() if above is None)

    @property
    def full(self) -> bool:
        """Whether enough problems are known to stop looking."""
        return len(self.problems) >= MOST

    def add(self, labels: Sequence[object], where: str) -> None:
        """Takes one branch, leaf first; a branch that does not fit becomes a problem instead."""
        tail = self._tails.get(tuple(labels[1:]))
        leaf = canonical(labels[0]) if tail and labels else None
        if tail and leaf and leaf not in self.parent:
            self._hang(leaf, tail, where)
            return
        branch = [canonical(label) or "" for label in labels]
        if "" in branch:
            problem: str | None = f"label {branch.index('') + 1} is empty; name it or remove it"
        else:
            branch = [label for label, _ in groupby(branch)]
            problem = self._problem(branch)
        if problem:
            self.problems.append(f"{where}: {problem}")
        elif branch[0] not in self._above:
            self._insert(branch, where)
            if len(branch) > 1 and canonical(labels[1]) != branch[0]:
                self._tails[tuple(labels[1:])] = self._above[branch[0]]

    def check(self, source: str = "") -> None:
        """Raises what was found wrong, prefixed with the source."""
        if not self.problems and not self.parent:
            self.problems.append("has no leaves; write one line a leaf")
        if self.problems:
            more = ["further problems, if any, are not listed"] if self.full else []
            raise PolicyError([source + problem for problem in [*self.problems, *more]])

    def _problem(self, branch: list[str]) -> str | None:
        if len(set(branch)) < len(branch):
            twice = next(label for label in branch if branch.count(label) > 1)
            return f"{twice!r} appears twice in one branch; rename one"
        leaf, root = branch[0], branch[-1]
        if self.parent and root != self.root:
            return f"the root is {root!r} here but {self.root!r} in {self._seen[self.root]}; use one root"
        if self._above.get(leaf, tuple(branch[1:])) != tuple(branch[1:]):
            return f"the leaf {leaf!r} has another branch in {self._seen[leaf]}; keep one"
        if self.children.get(leaf):
            return f"{leaf!r} is a leaf here but an inner node in {self._seen[leaf]}; rename one"
        return next(filter(None, (self._misfit(label, above) for label, above in pairwise(branch))), None)

    def _misfit(self, label: str, above: str) -> str | None:
        if above in self._above:
            return f"{above!r} is an inner node here but a leaf in {self._seen[above]}; rename one"
        known = self.parent.get(label, above)
        if known != above:
            return f"{label!r} lies under {above!r} here but under {known!r} in {self._seen[label]}; give it one parent"
        return None

    def _insert(self, branch: list[str], where: str) -> None:
        for label, above in zip(branch[1:], [*branch[2:], None], strict=False):
            if label not in self.parent:
                self._put(label, above, where)
        self._hang(branch[0], tuple(branch[1:]), where)

    def _hang(self, leaf: str, tail: tuple[str, ...], where: str) -> None:
        self._above[leaf] = tail
        self._put(leaf, tail[0] if tail else None, where)

    def _put(self, label: str, above: str | None, where: str) -> None:
        self.parent[label] = above
        self._seen[label] = where
        if above is not None:
            self.children.setdefault(above, []).append(label)
