"""A probability and how far it may be from the model's own."""

from __future__ import annotations

from typing import NamedTuple


class Estimate(NamedTuple):
    """p_k-anon of the whole population, the bound on its error, and p_k-anon of each class."""

    value: float
    error: float
    classes: tuple[float, ...]

    @classmethod
    def over(cls, users: tuple[int, ...], classes: list[float], errors: list[float]) -> Estimate:
        """Classes weighed by their users.

        >>> Estimate.over((3, 1), [1.0, 0.5], [0.0, 0.4])
        Estimate(value=0.875, error=0.1, classes=(1.0, 0.5))
        """
        total = sum(users)
        value = sum(n * p for n, p in zip(users, classes, strict=True)) / total
        error = sum(n * e for n, e in zip(users, errors, strict=True)) / total
        return cls(value, error, tuple(classes))
