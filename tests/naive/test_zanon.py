from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.zanon import Observation, Published, Zanon

SITES = {
    "news.bbc": ("news.bbc", "bbc", "news", "any"),
    "sport.bbc": ("sport.bbc", "bbc", "news", "any"),
    "lemonde": ("lemonde", "news", "any"),
    "shop": ("shop", "any"),
}


def stream(*observations: tuple) -> list[Observation]:
    return [Observation(*o) for o in observations]


def rows(found: list[Published]) -> list[int]:
    return [published.row for published in found]


def test_figure_1() -> None:
    t0, t1, t2, t3, t4, window = 0, 1, 2, 3, 10, 6
    seen = stream((t0, "u0", "a0"), (t1, "u1", "a0"), (t2, "u0", "a0"), (t3, "u2", "a0"), (t4, "u3", "a0"))
    assert Zanon(3, window).run(seen) == [Published(3, t3, "u2", 0, "a0")]


def test_the_window_is_closed_at_both_ends() -> None:
    assert rows(Zanon(2, 5).run(stream((0, "u", "a"), (5, "v", "a")))) == [1]
    assert rows(Zanon(2, 5).run(stream((0, "u", "a"), (5.001, "v", "a")))) == []


def test_withheld_is_dropped_or_blanked() -> None:
    seen = stream((0, "u", "a"), (1, "v", "a"))
    assert Zanon(2, 5).run(seen) == [Published(1, 1, "v", 0, "a")]
    assert Zanon(2, 5, withheld="blank").run(seen) == [Published(0, 0, "u", 0, None), Published(1, 1, "v", 0, "a")]


def test_equal_times_count_in_order_of_arrival() -> None:
    assert rows(Zanon(3, 5).run(stream(*((7, user, "a") for user in "uvwx")))) == [2, 3]


def test_one_user_counts_once_however_often() -> None:
    often = stream(*((t / 1000, "u", "a") for t in range(1000)))
    assert Zanon(2, 5).run(often) == []
    assert rows(Zanon(2, 5).run([*often, Observation(1, "v", "a")])) == [1000]


def test_a_user_who_comes_back_lives_longer() -> None:
    assert rows(Zanon(2, 5).run(stream((0, "u", "a"), (4, "u", "a"), (9, "v", "a")))) == [2]


def test_z_of_1_withholds_nothing() -> None:
    seen = stream((0, "u", "a"), (9, "u", "b"), (3, "u", "a"), (5, "v", "a"), (4, "v", "a"))
    assert rows(Zanon(1, 5).run(seen)) == [0, 1, 2, 3, 4]


def test_a_window_of_0_counts_one_moment() -> None:
    twin = Zanon(2, 0)
    found = twin.run(stream((1, "u", "a"), (1, "v", "a"), (2, "w", "a"), (2, "u", "a"), (1, "x", "a")))
    assert [(p.row, p.period) for p in found] == [(1, 1), (3, 2)]
    assert twin.rejected == [4]


def test_late_observations_see_only_what_was_before_them() -> None:
    seen = stream((0, "u", "a"), (4, "v", "a"), (2, "w", "a"), (2, "x", "a"))
    assert rows(Zanon(3, 5).run(seen)) == [3]


def test_a_late_observation_does_not_make_its_user_older() -> None:
    seen = stream((8, "u", "a"), (4, "u", "a"), (13, "v", "a"))
    assert rows(Zanon(2, 5).run(seen)) == [2]


def test_what_is_older_than_the_window_is_rejected() -> None:
    twin = Zanon(1, 5)
    assert rows(twin.run(stream((10, "u", "a"), (5, "v", "a"), (4, "w", "a"), (4, "w", "b")))) == [0, 1, 3]
    assert twin.rejected == [2]


def test_the_nearest_ancestor_that_is_not_private() -> None:
    seen = stream((0, "u", "news.bbc"), (1, "v", "sport.bbc"), (2, "w", "lemonde"), (3, "x", "shop"), (4, "v", "news.bbc"))
    shown = [p.item for p in Zanon(2, 10, paths=SITES, withheld="blank").run(seen)]
    assert shown == [None, "bbc", "news", "any", "news.bbc"]


def test_a_user_with_two_children_counts_once_for_the_parent() -> None:
    assert Zanon(2, 10, paths=SITES).run(stream((0, "u", "news.bbc"), (1, "u", "sport.bbc"), (2, "u", "lemonde"))) == []


def test_an_ancestor_that_is_far_ahead_is_private_to_what_is_late() -> None:
    seen = stream((0, "u", "news.bbc"), (1, "v", "news.bbc"), (20, "w", "sport.bbc"), (2, "x", "news.bbc"), (3, "y", "lemonde"))
    shown = [p.item for p in Zanon(3, 5, paths=SITES, withheld="blank").run(seen)]
    assert shown == [None, None, None, "news.bbc", None]


def test_periods_are_exact_also_where_floats_are_not() -> None:
    assert Zanon(1, 0.1).period(0.3) == 2
    assert Zanon(1, 12).period(-1) == -1


@pytest.mark.parametrize("parameters", [{"z": 0, "window": 1}, {"z": 1, "window": -1}, {"z": 1, "window": 1, "withheld": "no"}])
def test_refusals(parameters: dict) -> None:
    with pytest.raises(ValueError):
        Zanon(**parameters)


STREAMS = st.lists(st.tuples(st.integers(-3, 4), st.sampled_from("uvwxyz"), st.sampled_from(sorted(SITES))), max_size=60)


@given(steps=STREAMS, z=st.integers(1, 4), window=st.integers(0, 8))
def test_in_order_it_is_the_definition(steps: list, z: int, window: int) -> None:
    now, seen = 0, []
    for step, user, item in steps:
        now += max(step, 0)
        seen.append(Observation(now, user, item))
    shown = {p.row: p.item for p in Zanon(z, window, paths=SITES).run(seen)}
    for row, o in enumerate(seen):
        public = [
            node
            for node in SITES[o.item]
            if len({e.user for e in seen[: row + 1] if node in SITES[e.item] and e.time >= o.time - window}) >= z
        ]
        assert shown.get(row) == (public[0] if public else None)


@given(steps=STREAMS, z=st.integers(2, 4), window=st.integers(0, 8))
def test_out_of_order_nothing_leaves_that_fewer_than_z_exposed(steps: list, z: int, window: int) -> None:
    now, seen = 0, []
    for step, user, item in steps:
        now += step
        seen.append(Observation(now, user, item))
    twin = Zanon(z, window)
    for p in twin.run(seen):
        exposed = {e.user for e in seen[: p.row + 1] if e.item == p.item and p.time - window <= e.time <= p.time}
        assert len(exposed) >= z
    newest: dict[str, float] = {}
    for row, o in enumerate(seen):
        late = o.time < newest.get(o.item, -math.inf) - window
        assert (row in twin.rejected) == late
        newest[o.item] = max(newest.get(o.item, -math.inf), o.time)
