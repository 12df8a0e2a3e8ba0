"""The equations of the paper, written out: slow, and without shoal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import comb, log, prod


def mass(n: int, j: int, p: float) -> float:
    return comb(n, j) * p**j * (1 - p) ** (n - j) if 0 <= j <= n else 0.0


def below(counts: Sequence[int], limit: int, p: Sequence[float]) -> float:
    """The sum over C-tuples of section 6: at most `limit` in all."""
    tuples = product(*(range(min(n, limit) + 1) for n in counts)) if limit >= 0 else []
    return sum(prod(mass(n, j, q) for n, j, q in zip(counts, js, p, strict=True)) for js in tuples if sum(js) <= limit)


def others(users: Sequence[int], c: int) -> list[int]:
    return [n - (i == c) for i, n in enumerate(users)]


def released(users: Sequence[int], exposed: Sequence[Sequence[float]], z: int) -> list[list[float]]:
    """Equation 3, and its version for classes."""
    return [
        [1 - below(others(users, c), z - 2, [row[a] for row in exposed]) for a in range(len(exposed[0]))]
        for c in range(len(users))
    ]


def chance(published: Sequence[float], y: Sequence[int]) -> float:
    """Equation 4."""
    return prod(p if shown else 1 - p for p, shown in zip(published, y, strict=True))


def anonymous(users: Sequence[int], published: Sequence[Sequence[float]], k: int) -> list[float]:
    """Equation 5, and its version for classes."""
    found = []
    for c in range(len(users)):
        total = 0.0
        for y in product((0, 1), repeat=len(published[0])):
            p = [chance(row, y) for row in published]
            total += (1 - below(others(users, c), k - 2, p)) * p[c]
        found.append(total)
    return found


def entropy(published: Sequence[float]) -> float:
    """Equation 6."""
    found = (chance(published, y) for y in product((0, 1), repeat=len(published)))
    return -sum(p * log(p) for p in found if p > 0)


def walked(published: Sequence[float], threshold: float) -> list[float]:
    """Appendix B: the realizations that a depth-first walk reaches, with its two ways to prune."""
    order = sorted(range(len(published)), key=lambda a: abs(published[a] - 0.5))
    found: list[float] = []

    def visit(y: list[int], start: int) -> bool:
        p = chance(published, y)
        if p < threshold:
            return False
        found.append(p)
        for i in range(start, len(order)):
            child = list(y)
            child[order[i]] = 1 - child[order[i]]
            if not visit(child, i + 1):
                break
        return True

    visit([int(p >= 0.5) for p in published], 0)
    return found
