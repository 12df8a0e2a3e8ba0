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
        self.children: dict[str, list[str]] = {}
        self._seen: dict[str, str] = {}
        self._branch: dict[str, list[str]] = {}

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
        branch = [canonical(label) or "" for label in labels]
        if "" in branch:
            problem: str | None = f"label {branch.index('') + 1} is empty; name it or remove it"
        else:
            branch = [label for label, _ in groupby(branch)]
            problem = self._problem(branch)
        if problem:
            self.problems.append(f"{where}: {problem}")
        elif branch[0] not in self._branch:
            self._insert(branch, where)

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
        if self._branch.get(leaf, branch) != branch:
            return f"the leaf {leaf!r} has another branch in {self._seen[leaf]}; keep one"
        if self.children.get(leaf):
            return f"{leaf!r} is a leaf here but an inner node in {self._seen[leaf]}; rename one"
        return next(filter(None, (self._misfit(label, above) for label, above in pairwise(branch))), None)

    def _misfit(self, label: str, above: str) -> str | None:
        if above in self._branch:
            return f"{above!r} is an inner node here but a leaf in {self._seen[above]}; rename one"
        known = self.parent.get(label, above)
        if known != above:
            return f"{label!r} lies under {above!r} here but under {known!r} in {self._seen[label]}; give it one parent"
        return None

    def _insert(self, branch: list[str], where: str) -> None:
        self._branch[branch[0]] = branch
        for label, above in zip(branch, [*branch[1:], None], strict=True):
            if label in self.parent:
                continue
            self.parent[label] = above
            self.children.setdefault(label, [])
            self._seen[label] = where
            if above is not None:
                self.children.setdefault(above, []).append(label)
