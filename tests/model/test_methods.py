"""Three ways to p_k-anon: each against the equation, and against the bound that it reports."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model import plain
from shoal.model import Population, Publication, exact, grid, tree
from shoal.model.binomial import upper_tail
from tests.examples import examples

PAPER = Population(1000, 0.2 / np.arange(1, 21))
P = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1e-12, 1e-3, 0.5, 0.999, 1.0]))


@st.composite
def publications(draw: st.DrawFn, most: int = 3) -> Publication:
    users = draw(st.lists(st.integers(1, 400), min_size=1, max_size=most))
    size = draw(st.integers(1, 7 if len(users) < 3 else 4))
    return Publication(users, [draw(st.lists(P, min_size=size, max_size=size)) for _ in users], draw(st.integers(1, 6)))


@examples(0.3)
@given(publication=publications(), k=st.integers(1, 4))
def test_exact_is_the_equation(publication: Publication, k: int) -> None:
    expected = plain.anonymous(publication.users, publication.published.tolist(), k)
    assert exact(publication, k).classes == pytest.approx(expected, abs=1e-11)


@examples(0.3)
@given(publication=publications(), k=st.integers(1, 5), tolerance=st.sampled_from([1e-2, 1e-4, 1e-6, 1e-8]))
def test_the_grid_keeps_its_bound(publication: Publication, k: int, tolerance: float) -> None:
    found = grid(publication, k, tolerance)
    assert abs(found.value - exact(publication, k).value) <= found.error + 1e-13
    if len(publication.users) == 1:
        assert found.error <= tolerance


@examples(0.5)
@given(publication=publications(), k=st.integers(1, 4), theta1=st.sampled_from([0.0, 1.0, 20.0]))
def test_the_tree_keeps_its_bound(publication: Publication, k: int, theta1: float) -> None:
    found = tree(publication, k, theta1)
    assert abs(found.value - exact(publication, k).value) <= found.error + 1e-11


@examples(0.5)
@given(p=st.lists(st.floats(0.01, 0.99), min_size=1, max_size=8), theta2=st.sampled_from([3.0, 1.0, 0.1]), k=st.integers(2, 4))
def test_the_tree_is_the_papers_walk(p: list[float], theta2: float, k: int) -> None:
    kept = np.array(plain.walked(p, theta2 / 2 ** len(p)))
    expected = float((upper_tail(49, k - 1, kept) * kept).sum())
    assert tree(Publication(50, p, 1), k, theta1=0.0, theta2=theta2).value == pytest.approx(expected, abs=1e-9)


def test_the_papers_default_case() -> None:
    publication = PAPER.publish(z=150, window=12)
    true = exact(publication, k=2).value
    assert round(true, 5) == 0.42469
    assert grid(publication, k=2).value == pytest.approx(true, abs=3e-8)
    assert grid(publication, k=2).error < 1e-6
    assert grid(publication, k=2, tolerance=1e-10).value == pytest.approx(true, abs=1e-10)


def test_equation_5_at_z_250_is_not_what_the_text_reads() -> None:
    assert exact(PAPER.publish(z=250, window=12), k=2).value == pytest.approx(0.931, abs=5e-4)


@pytest.mark.slow
def test_the_grid_keeps_its_bound_along_the_papers_figure_3() -> None:
    for z in (1, 50, 100, 200, 300, 400, 1001):
        publication = PAPER.publish(z, window=12)
        for k in (2, 3, 4, 10):
            found = grid(publication, k)
            assert abs(found.value - exact(publication, k).value) <= found.error <= 1e-6


def test_figure_7_and_8_meet_figure_3_where_classes_are_equal() -> None:
    rates = PAPER.rates[0, :12]
    one = exact(Population(1000, rates).publish(50, 12), 2).value
    two = Population([500, 500], [rates, rates]).publish(50, 12)
    assert exact(two, 2).classes == pytest.approx([one, one], abs=1e-12)
    apart = exact(Population([500, 500], [rates * 1.8, rates * 0.2]).publish(50, 12), 2)
    assert apart.classes[0] < one < apart.value < apart.classes[1]
    odd = np.arange(12) % 2 == 0
    interest = [np.where(odd, 0.2, 1.8) * rates, np.where(odd, 1.8, 0.2) * rates]
    assert min(exact(Population([500, 500], interest).publish(50, 12), 2).classes) > one


def binomial_catalogue(users: int, p: float, size: int, k: int) -> float:
    """Attributes that are all published alike: the number of those published tells p_y."""
    total = 0.0
    for j in range(size + 1):
        log_p = j * math.log(p) + (size - j) * math.log1p(-p)
        ways = math.lgamma(size + 1) - math.lgamma(j + 1) - math.lgamma(size - j + 1)
        total += math.exp(ways + log_p) * float(upper_tail(users - 1, k - 1, math.exp(log_p))[0])
    return total


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(
    ("users", "p", "size"), [(10**6, 2e-6, 100_000), (10**5, 0.01, 300), (10**4, 0.4, 30), (500, 0.3, 200)]
)
def test_many_attributes_against_a_closed_form(users: int, p: float, size: int, k: int) -> None:
    found = grid(Publication(users, np.full(size, p), 1), k)
    assert abs(found.value - binomial_catalogue(users, p, size, k)) <= found.error <= 1e-6


@pytest.mark.parametrize("classes", [1, 2])
def test_together_or_one_by_one(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    p = rng.uniform(0.001, 0.03, (classes, 120 if classes == 1 else 70))
    publication = Publication([3000] * classes, p, 1)
    together = grid(publication, 2)
    monkeypatch.setattr(sys.modules["shoal.model.grid"], "MANY", 10**9)
    apart = grid(publication, 2)
    assert together != apart
    assert abs(together.value - apart.value) <= together.error + apart.error


@pytest.mark.parametrize("tolerance", [0.3, 0.03, 1e-3])
def test_a_coarse_grid_keeps_its_bound_too(tolerance: float) -> None:
    for users, p, size in ((10**5, 0.02, 300), (10**6, 1e-3, 5000), (2000, 0.08, 100)):
        found = grid(Publication(users, np.full(size, p), 1), 2, tolerance)
        assert abs(found.value - binomial_catalogue(users, p, size, 2)) <= found.error <= tolerance


def test_a_class_of_one_and_a_class_that_publishes_nothing() -> None:
    publication = Publication([1, 50, 50], [[0.5, 0.9], [0.5, 0.9], [0.0, 0.0]], 1)
    found, true = grid(publication, 2), exact(publication, 2)
    assert found.classes == pytest.approx(true.classes, abs=1e-4)


def test_nothing_published_hides_everyone_and_a_single_user_is_alone() -> None:
    for method in (exact, grid, tree):
        assert method(Publication(5, [0.0, 0.0], 1), 5).value == pytest.approx(1.0, abs=1e-6)
        assert method(Publication(1, [0.5, 0.5], 1), 2).value == pytest.approx(0.0, abs=1e-6)
