from __future__ import annotations

import math

import pytest

from naive import Arrival, Categorical, Numeric, simulate
from naive.tide import Partition, Units
from shoal.conformance.naive.common import Entry, Row

TEN = Numeric(0.0, 10.0)
TREE = Categorical({"a": ("a", "ab", "any"), "b": ("b", "ab", "any"), "c": ("c", "any"), "d": ("d", "any")})
ONE = 4096  # the weight of a tuple with one value


def row(number: int, *values: float | str | None, person: int | None = None) -> Row:
    return Row(number, number, number if person is None else person, values)


def partition(k: int, *groups: list[Row], alone: dict[Row, float] | None = None) -> Partition:
    wave = sorted((t for group in groups for t in group), key=lambda t: t.number)
    made = Partition(Units([TEN]), k, wave, {t: math.inf for t in wave} | (alone or {}))
    made.groups = [list(group) for group in groups]
    return made


def numbers(made: Partition) -> list[list[int]]:
    return [sorted(t.number for t in group) for group in made.groups]


def people(*values: float) -> list[Arrival]:
    return [Arrival(person, (value,)) for person, value in enumerate(values)]


def test_two_waves_by_hand() -> None:
    """The fifth came too late for the wave, and is covered at the end."""
    releases = simulate("tide", [Numeric(0.0, 100.0)], 2, ("count", 4), people(30.0, 60.0, 34.0, 61.0, 31.0))
    assert [(r.row, r.how, r.cluster, r.generalization, r.released) for r in releases] == [
        (0, "cluster", 0, ((30.0, 34.0),), 4),
        (2, "cluster", 0, ((30.0, 34.0),), 4),
        (1, "cluster", 1, ((60.0, 61.0),), 4),
        (3, "cluster", 1, ((60.0, 61.0),), 4),
        (4, "reuse", 0, ((30.0, 34.0),), 4),
    ]


@pytest.mark.parametrize(
    ("group", "cost"),
    [
        ([row(0, 0.0, None), row(1, 5.0, None)], 2 * ONE * 32768),
        ([row(0, 0.0, "a"), row(1, 5.0, None)], 2048 * 32768 + ONE * 32768),
        ([row(0, 0.0, "a"), row(1, None, "b")], ONE * 21845 + 2048 * 21845),
        ([row(0, 0.0, None), row(1, 1.0, None)], 2 * ONE * 6554),
        ([row(0, None, None), row(1, None, None)], 0),
    ],
)
def test_cost_counts_each_loss_once_for_every_member_that_has_it(group: list[Row], cost: int) -> None:
    assert Units([TEN, TREE]).cost(group) == cost


def test_weights_are_rounded() -> None:
    assert Units([TEN] * 6).cost([row(0, *[0.0] * 6), row(1, *[10.0] * 6)]) == 2 * 683 * 6 * 65536


def test_cost_of_a_cover() -> None:
    cover = Entry(((0.0, 2.5), "any"), 0, 0.0, 0)
    assert Units([TEN, TREE]).cover(row(0, 1.0, "c"), cover) == 2048 * (16384 + 65536)
    assert Units([TEN, TREE]).cover(row(0, 1.0, None), cover) == ONE * 16384
    assert Units([TEN, TREE]).cover(row(0, None, None), cover) == 0
    assert Units([TEN, TREE]).cover(row(0, 1.0, "c"), None) == math.inf


@pytest.mark.parametrize(
    ("n", "k", "each", "seeds"),
    [(10, 4, 2, [1, 3, 5, 7, 9]), (7, 5, 2, [1, 3, 5]), (3, 1, 8, [0, 1, 2]), (5, 5, 2, [1, 3])],
)
def test_seeds(n: int, k: int, each: int, seeds: list[int]) -> None:
    assert [t.number for t in partition(k, [row(i, 0.0) for i in range(n)]).seeds(each)] == seeds


def test_growth_takes_one_tuple_a_person_and_counts_what_all_members_lose() -> None:
    rows = [row(0, 5.0), row(1, 5.1, person=0), row(2, 6.0), row(3, 6.5, person=2), row(4, 3.0), row(5, 9.0)]
    made = partition(3, rows)
    made.groups = []
    assert [t.number for t in made.grown([rows[0]])] == [0, 2, 4]


def test_an_emptied_shortlist_is_drawn_again() -> None:
    """The four nearest are of one person; struck off together they leave nobody."""
    rows = [row(0, 0.0), *(row(i, 0.1, person=1) for i in range(1, 7)), row(7, 9.0), row(8, 8.0)]
    made = partition(3, rows)
    made.groups = []
    assert [t.number for t in made.grown([rows[0]])] == [0, 1, 8]


def test_what_is_left_joins_the_group_that_it_costs_least_or_stays_alone() -> None:
    late = row(4, 3.0)
    for alone, groups in ((math.inf, [[0, 1, 4], [2, 3]]), (3 * ONE * 13107, [[0, 1, 4], [2, 3]]), (1.0, [[0, 1], [2, 3]])):
        made = partition(2, [row(0, 1.0), row(1, 1.0)], [row(2, 6.0), row(3, 6.0)], alone={late: alone})
        made.settle(late, made.groups)
        assert numbers(made) == groups


def test_a_group_is_dissolved_where_its_members_cost_less_elsewhere() -> None:
    near = [row(0, 1.0), row(1, 1.0)], [row(2, 9.0), row(3, 9.0)]
    made = partition(2, *near, [row(4, 1.0), row(5, 9.0)])
    assert made.dissolve(2)
    assert numbers(made) == [[0, 1, 4], [2, 3, 5]]
    made = partition(2, *near, [row(4, 4.0), row(5, 5.0)])
    assert not made.dissolve(2)
    assert numbers(made) == [[0, 1], [2, 3], [4, 5]]


def test_a_group_stays_where_its_members_cost_less_one_by_one_but_not_together() -> None:
    made = partition(1, [row(0, None)], [row(1, 0.0), row(2, 10.0)])
    assert [made.raised(made.groups[0], t) for t in made.groups[1]] == [0, 0]
    assert not made.dissolve(1)
    assert numbers(made) == [[0], [1, 2]]


def test_a_spare_member_goes_where_it_costs_less() -> None:
    far, first, second = row(4, 8.0), [row(0, 1.0), row(1, 1.0)], [row(2, 9.0), row(3, 9.0)]
    for alone, groups in ((math.inf, [[0, 1], [2, 3, 4]]), (1.0, [[0, 1], [2, 3]])):
        made = partition(2, [*first, far], second, alone={far: alone})
        assert made.exchange(far)
        assert numbers(made) == groups


def test_a_member_that_cannot_be_spared_changes_places() -> None:
    made = partition(2, [row(0, 0.0), row(1, 9.0)], [row(2, 1.0), row(3, 10.0)])
    assert made.exchange(made.wave[0])
    assert numbers(made) == [[1, 3], [0, 2]]
    made = partition(2, [row(0, 0.0), row(1, 9.0)], [row(2, 1.0, person=0), row(3, 10.0)])
    assert not made.exchange(made.wave[0])


@pytest.mark.parametrize(("kind", "leaves"), [("count", 64), ("buffer", 63)])
def test_a_wave_is_closed_a_32nd_before_it_leaves(kind: str, leaves: int) -> None:
    releases = simulate("tide", [TEN], 2, (kind, 64), people(*[1.0] * 66))
    assert {r.row: r.released for r in releases} == {i: leaves if i < 62 else 65 for i in range(66)}
