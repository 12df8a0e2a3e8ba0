"""How much a test does: as much as the tier's profile in conftest.py says, times a weight or a number of its own."""

from __future__ import annotations

from hypothesis import settings


def count(weight: float = 1.0) -> int:
    return max(1, round(weight * settings.default.max_examples))


def examples(weight: float) -> settings:
    return settings(max_examples=count(weight))


def times(number: int) -> int:
    """How often a long test does something that it does so many times in `make test-long`."""
    share = settings.default.max_examples / settings.get_profile("long").max_examples
    return max(2, round(number * min(1.0, share)))
