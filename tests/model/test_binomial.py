"""Tails against whole-number arithmetic, far out and near the mean."""

from __future__ import annotations

from decimal import Decimal, localcontext
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.plain import below
from shoal.model.binomial import total_tail, upper_tail
from tests.examples import examples


def exactly(n: int, m: int, p: float) -> float:
    with localcontext(prec=60):
        q = Decimal(p)
        rest = 1 - q
        return float(sum(comb(n, j) * (q**j if j else 1) * (rest ** (n - j) if j < n else 1) for j in range(max(m, 0), n + 1)))


@given(n=st.integers(0, 120), m=st.integers(-1, 122), p=st.floats(0, 1))
def test_the_tail_of_one_binomial(n: int, m: int, p: float) -> None:
    assert upper_tail(n, m, p)[0] == pytest.approx(exactly(n, m, p), rel=1e-11, abs=1e-15)


@pytest.mark.parametrize(("n", "m", "p"), [(999, 149, 0.1129), (999, 149, 0.2), (2000, 40, 0.005), (900, 890, 0.98)])
def test_far_from_the_mean_and_near_it(n: int, m: int, p: float) -> None:
    assert upper_tail(n, m, p)[0] == pytest.approx(exactly(n, m, p), rel=1e-11)


def test_the_tails_of_many_users() -> None:
    """By symmetry, and by the two tails that make up the whole."""
    n, m = 10**9, 5 * 10**8
    assert upper_tail(n - 1, m, 0.5)[0] == pytest.approx(0.5, abs=1e-10)
    p = np.array([0.3, 0.3001, 0.29995])
    both = upper_tail(10**7, 3_000_500, p) + upper_tail(10**7, 10**7 - 3_000_500 + 1, 1 - p)
    assert both == pytest.approx(np.ones(3), abs=1e-10)


@examples(0.5)
@given(
    counts=st.lists(st.integers(0, 12), min_size=2, max_size=3),
    m=st.integers(-1, 20),
    p=st.lists(st.floats(0, 1), min_size=3, max_size=3),
)
def test_the_tail_of_a_sum(counts: list[int], m: int, p: list[float]) -> None:
    p = p[: len(counts)]
    found = total_tail(counts, m, np.array(p)[:, None])[0]
    assert found == pytest.approx(1 - below(counts, m - 1, p), abs=1e-12)


@pytest.mark.parametrize("m", [3, 149, 700])
def test_equal_parts_make_one(m: int) -> None:
    p = np.linspace(0.01, 0.99, 50)
    parts = total_tail([400, 500, 99], m, np.stack([p, p, p]))
    assert parts == pytest.approx(upper_tail(999, m, p), abs=1e-12)
