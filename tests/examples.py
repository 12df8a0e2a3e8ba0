"""How many examples a test draws: as many as the tier's profile in conftest.py says, times a weight of its own."""

from __future__ import annotations

from hypothesis import settings


def count(weight: float = 1.0) -> int:
    return max(1, round(weight * settings.default.max_examples))


def examples(weight: float) -> settings:
    return settings(max_examples=count(weight))
