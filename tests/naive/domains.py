from __future__ import annotations

from collections.abc import Sequence
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


Attribute = Numeric | Categorical
