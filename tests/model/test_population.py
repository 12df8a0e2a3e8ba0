"""Equations 1, 3 and 6, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model import plain
from shoal.errors import ModelError
from shoal.model import Population, Publication, exact, grid, plan, tree
from tests.examples import examples

ZIPF = 0.2 / np.arange(1, 21)


def test_exposed_is_equation_1() -> None:
    assert Population(10, [0.0, 0.5]).expose(2.0) == pytest.approx(np.array([[0.0, 1 - np.exp(-1)]]))


@examples(0.3)
@given(data=st.data(), z=st.integers(1, 12))
def test_released_is_equation_3(data: st.DataObject, z: int) -> None:
    users = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    exposed = [data.draw(st.lists(st.floats(0, 1), min_size=4, max_size=4)) for _ in users]
    publication = Publication(users, exposed, z)
    assert publication.released == pytest.approx(np.array(plain.released(users, exposed, z)), abs=1e-12)
    assert publication.published == pytest.approx(publication.exposed * publication.released)


def test_each_class_counts_with_its_own_probability() -> None:
    """Section 6 prints p^X of the user's own class for the others too; then this would be 0."""
    assert Publication([1, 5], [[0.0], [1.0]], z=6).released[0, 0] == 1.0


def test_figure_2_falls_below_a_millionth_at_rank_37_not_13() -> None:
    publication = Population(1000, 0.2 / np.arange(1, 1001)).publish(z=100, window=12)
    exposed, published = publication.exposed[0], publication.published[0]
    assert np.flatnonzero(published < 1e-6)[0] + 1 == 37
    assert (round(published[12], 3), round(exposed[12], 3), round(exposed[36], 3)) == (0.169, 0.169, 0.063)
    assert (np.diff(published) <= 0).all()


def test_z_of_1_publishes_everything() -> None:
    publication = Population(1000, ZIPF).publish(z=1, window=12)
    assert (publication.published == publication.exposed).all()


@examples(0.3)
@given(p=st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_entropy_is_equation_6(p: list[float]) -> None:
    publication = Publication(5, p, z=1)
    assert publication.entropy == pytest.approx(plain.entropy(p), abs=1e-12)
    assert publication.silent == pytest.approx(plain.chance(p, [0] * len(p)), abs=1e-12)


def test_entropy_of_classes_is_their_mean() -> None:
    publication = Publication([3, 1], [[0.5], [0.0]], z=1)
    assert publication.entropies == pytest.approx([np.log(2), 0.0])
    assert publication.entropy == pytest.approx(0.75 * np.log(2))


SMALL = Publication(5, [0.5], z=1)
REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: Population(0, [0.5]), "users: a class has none; give each at least one, or leave it out"),
    (lambda: Population([5, 5], [0.5]), "rates: has 1 rows for 2 classes; give one row a class"),
    (lambda: Population(5, [-0.5]), "rates: one lies outside 0 to inf; correct it"),
    (lambda: Publication(5, [1.5], 2), "exposed: one lies outside 0 to 1; correct it"),
    (lambda: Publication(5, [0.5], 0), "z: is below 1; 1 publishes everything, larger numbers publish less"),
    (
        lambda: Population(5, [0.5]).publish(2, -1.0),
        "window: is below 0; give the Δt of the counting, in the unit of the rates",
    ),
    (lambda: exact(SMALL, 0), "k: is below 1; 2 is the least that hides anyone"),
    (lambda: grid(SMALL, 0), "k: is below 1; 2 is the least that hides anyone"),
    (lambda: tree(SMALL, 0), "k: is below 1; 2 is the least that hides anyone"),
    (lambda: grid(SMALL, 2, 1.0), "tolerance: lies outside 0 to 1; 1e-6 is the default"),
    (
        lambda: exact(Publication(5, [0.5] * 25, 1), 2),
        "attributes: 25 that may be published have too many realizations; use the grid, or at most 24",
    ),
    (
        lambda: tree(Publication(10**6, [0.3] * 40, 1), 2),
        "theta2: the tree grows beyond 4,194,304 realizations; use a larger one, or the grid",
    ),
    (lambda: plan([1.0], [1], [1], k=1), "k: is below 2; 2 is the least that hides anyone"),
    (lambda: plan([1.0], [1], [1], confidence=1.0), "confidence: lies outside 0 to 1; 0.95 is a usual choice"),
    (lambda: plan([], [], []), "the sample has no observations; a plan needs some"),
    (lambda: plan([1.0], [1, 2], [1]), "time, user, item: differ in length; give one of each for every observation"),
    (lambda: plan([np.nan], [1], [1]), "time: one is not finite; leave such observations out"),
    (
        lambda: plan([0.0, 9.0], [1, 1], [1, 1]),
        "the sample spans 9 s, which fills no usual window three times; name windows, or give a longer one",
    ),
    (
        lambda: plan([0.0, 9.0], [1, 1], [1, 1], windows=[10.0]),
        "window: 10 s lies outside 0 to 9 s, the time that the sample spans; choose one within",
    ),
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[message.split(";")[0] for _, message in REFUSED])
def test_what_cannot_be_is_refused_with_bound_and_remedy(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ModelError) as refused:
        call()
    assert str(refused.value) == message
