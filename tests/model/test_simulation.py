"""The model against the filter itself (appendix C), and why they differ as much as they do."""

from __future__ import annotations

import numpy as np
import pytest

from model.simulation import Filter, share, stream
from naive.zanon import Zanon
from shoal.model import Population, Publication, grid

USERS, WINDOW = 1000, 12.0
RATES = 0.2 / np.arange(1, 21)
RUNS, PERIODS = 20, 4


def test_the_short_filter_is_the_twin() -> None:
    seen = stream(np.random.default_rng(1), range(40), 0.2 / np.arange(1, 6), 0.0, 40.0)
    twin = Zanon(12, WINDOW).run(seen)
    assert [(o.time, o.user, o.item) for o in Filter(12, WINDOW).released(seen)] == [(p.time, p.user, p.item) for p in twin]
    assert 0 < len(twin) < len(seen)


def simulated(z: int) -> tuple[float, float, float]:
    """Means over windows: the share of 2-anonymous users, equation 5 with the p^Y of that window; and the first's error."""
    shares, conditional = [], []
    for seed in range(RUNS):
        seen = stream(np.random.default_rng([seed, z]), range(USERS), RATES, 0.0, WINDOW * (1 + PERIODS))
        released = list(Filter(z, WINDOW).released(seen))
        for period in range(1, 1 + PERIODS):
            there = [o for o in released if period <= o.time / WINDOW < period + 1]
            shares.append(share(range(USERS), there, 2))
            items = [item for _, item in {(o.user, o.item) for o in there}]
            published = np.bincount(items, minlength=len(RATES)) / USERS
            conditional.append(grid(Publication(USERS, published, 1), 2, 1e-4).value)
    return float(np.mean(shares)), float(np.mean(conditional)), float(np.std(shares)) / (RUNS * PERIODS) ** 0.5


@pytest.mark.parametrize("z", [150, 250])
def test_the_filter_does_what_the_model_says(z: int) -> None:
    """Equation 5 is low by up to 0.015: whether an item is public is the same for all users of a moment, not drawn for each of
    them. With each window's own p^Y, which holds that fixed, the difference is within the paper's 0.005."""
    seen, conditional, deviation = simulated(z)
    model = grid(Population(USERS, RATES).publish(z, WINDOW), 2).value
    assert abs(seen - conditional) <= 0.005
    assert -0.005 - 2 * deviation <= seen - model <= 0.015 + 2 * deviation
