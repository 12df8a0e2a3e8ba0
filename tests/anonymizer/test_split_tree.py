"""The split tree: similar tuples share a lane, and tuples without a value go where they have neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from shoal import Policy
from shoal.anonymizer.split_tree import learned_tree


def a_policy(match: str, lanes: int = 2) -> Policy:
    return Policy.parse(
        "{person: pid, attributes: {a: {quasi: numeric, range: [0, 100]}, b: {quasi: numeric, range: [0, 100]}}, "
        f"privacy: {{k: 10, nulls_match: {match}}}, window: {{count: 100}}, "
        f"lanes: {lanes}, algorithm: {{name: fads}}}}"
    )


def two_kinds(size: int) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Tuples of two kinds, five by five, that `a` and `b` divide in opposite ways; every fifth lacks `a`."""
    draw = np.random.default_rng(3)
    kind = np.arange(size) // 5 % 2 == 0
    low, high = draw.uniform(0, 20, (2, size)), draw.uniform(80, 100, (2, size))
    values = np.array([np.where(kind, low[0], high[0]), np.where(kind, high[1], low[1])])
    values[0, ::5] = np.nan
    return kind, values


def test_tuples_without_a_value_go_with_their_neighbours() -> None:
    kind, values = two_kinds(500)
    lanes = learned_tree(a_policy("maybe"), values).lanes(values)
    assert len(set(zip(kind.tolist(), lanes.tolist(), strict=True))) == 2
    values[1, :50:5] = np.nan
    lanes = learned_tree(a_policy("maybe"), values).lanes(values)
    there = ~np.isnan(values).all(axis=0)
    assert len(set(zip(kind[there].tolist(), lanes[there].tolist(), strict=True))) == 2


@pytest.mark.parametrize("match", ["extended", "root"])
def test_where_nulls_must_be_alike_tuples_without_a_value_stay_together(match: str) -> None:
    _, values = two_kinds(500)
    values[1, 1::5] = np.nan  # no tuple lacks both
    tree = learned_tree(a_policy(match), values)
    lacking = np.isnan(values[tree.quasi[0]])
    assert lacking.any()
    assert len(set(tree.lanes(values)[lacking].tolist())) == 1


@pytest.mark.parametrize("lanes", [2, 3, 8])
def test_lanes_are_about_as_large(lanes: int) -> None:
    _, values = two_kinds(4000)
    counts = np.bincount(learned_tree(a_policy("maybe", lanes), values[:, :1000]).lanes(values[:, 1000:]), minlength=lanes)
    assert counts.min() > 3000 / lanes / 2


def test_equal_tuples_take_one_lane() -> None:
    values = np.ones((2, 100))
    assert set(learned_tree(a_policy("maybe"), values).lanes(values).tolist()) == {0}
    nothing = np.full((2, 100), np.nan)
    assert set(learned_tree(a_policy("maybe"), nothing).lanes(nothing).tolist()) == {0}


def test_whether_a_value_is_missing_is_a_question_too() -> None:
    """Where all values are the same, tuples with a value and tuples without it take two lanes."""
    values = np.ones((2, 100))
    values[1, ::2] = np.nan
    tree = learned_tree(a_policy("extended"), values)
    assert [column.tolist() for column in tree] == [[1], [np.inf], [[-1, -2, -2]]]
