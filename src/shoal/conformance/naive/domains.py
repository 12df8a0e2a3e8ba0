from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Numeric:
    low: float
    high: float

    @property
    def root(self) -> tuple[float, float]:
        return (self.low, self.high)

    def generalize(self, values: Sequence[float]) -> tuple[float, float]:
        return (min(values), max(values))

    def contains(self, g: tuple[float, float], value: float) -> bool:
        return g[0] <= value <= g[1]

    def loss(self, g: tuple[float, float]) -> float:
        return (g[1] - g[0]) / (self.high - self.low)

    def distance(self, a: float, b: float) -> float:
        return abs(a - b) / (self.high - self.low)


@dataclass(frozen=True)
class Categorical:
    paths: dict[str, tuple[str, ...]]

    @property
    def root(self) -> str:
        return next(iter(self.paths.values()))[-1]

    def leaves(self, node: str) -> int:
        return sum(1 for path in self.paths.values() if node in path)

    def generalize(self, values: Sequence[str]) -> str:
        return next(node for node in self.paths[values[0]] if all(node in self.paths[value] for value in values))

    def contains(self, g: str, value: str) -> bool:
        return g in self.paths[value]

    def loss(self, g: str) -> float:
        if self.leaves(g) == 1:
            return 0.0
        return (self.leaves(g) - 1) / (self.leaves(self.root) - 1)

    def distance(self, a: str, b: str) -> float:
        return 0.0 if a == b else self.loss(self.generalize([a, b]))


@dataclass(frozen=True)
class Sets:
    """A group shows the values of its members, as a set of labels; or a node above them, as a set of one."""

    paths: dict[str, tuple[str, ...]]
    most: float = math.inf
    min_support: int = 1

    @property
    def tree(self) -> Categorical:
        return Categorical(self.paths)

    @property
    def root(self) -> frozenset[str]:
        return frozenset([self.tree.root])

    def generalize(self, values: Sequence[str]) -> frozenset[str]:
        different = frozenset(values)
        return different if len(different) <= self.most else frozenset([self.tree.generalize(values)])

    def show(self, members: Sequence[tuple[Hashable, str]]) -> frozenset[str]:
        """What persons with these values show, when each label needs enough of them."""
        shown = {next(node for node in self.paths[value] if self._is_carried(node, members)) for _, value in members}
        highest = frozenset(node for node in shown if not any(other in self._above(node) for other in shown))
        return highest if len(highest) <= self.most else frozenset([self.tree.generalize([value for _, value in members])])

    def _is_carried(self, node: str, members: Sequence[tuple[Hashable, str]]) -> bool:
        persons = {person for person, value in members if node in self.paths[value]}
        return node == self.tree.root or len(persons) >= self.min_support

    def _above(self, node: str) -> tuple[str, ...]:
        path = next(path for path in self.paths.values() if node in path)
        return path[path.index(node) + 1 :]

    def contains(self, g: frozenset[str], value: str) -> bool:
        return any(label in self.paths[value] for label in g)

    def loss(self, g: frozenset[str]) -> float:
        leaves = sum(1 for path in self.paths.values() if any(label in path for label in g))
        return (leaves - 1) / (len(self.paths) - 1) if leaves > 1 else 0.0

    def distance(self, a: str, b: str) -> float:
        return 0.0 if a == b else self.loss(self.generalize([a, b]))


Attribute = Numeric | Categorical | Sets
