"""What the twins have in common: losses, distances, the nearest, reuse, windows."""

from __future__ import annotations

import math

import pytest

from naive import ALGORITHMS, Arrival, Categorical, Numeric, Release, Tick, simulate
from naive.samples import EDUCATION_5, GENDER, TEN, brief, people, row
from shoal.conformance.naive.common import (
    Entry,
    ReuseSet,
    cluster_loss,
    covers,
    distance,
    generalize,
    jaccard,
    loss,
    nearest,
    partitions,
    persons,
)


def test_attribute_loss_and_distance() -> None:
    assert Numeric(20.0, 60.0).loss((30.0, 40.0)) == 0.25
    assert Numeric(20.0, 60.0).distance(40.0, 30.0) == 0.25
    assert EDUCATION_5.loss("Secondary") == 0.25
    assert EDUCATION_5.loss("University") == 0.5
    assert EDUCATION_5.loss("Education") == 1.0
    assert EDUCATION_5.loss("Master") == 0.0
    assert EDUCATION_5.distance("Bachelor", "Ph.D") == 0.5
    assert EDUCATION_5.distance("Bachelor", "Mid-school") == 1.0
    assert EDUCATION_5.distance("Bachelor", "Bachelor") == 0.0


def test_domain_of_one_value_has_no_loss() -> None:
    only = Categorical({"a": ("a", "root")})
    assert only.loss("root") == 0.0
    assert only.loss("a") == 0.0
    assert only.root == "root"


def test_lowest_common_ancestor_is_below_a_node_with_a_single_child() -> None:
    tree = Categorical({"a": ("a", "ab", "mid", "root"), "b": ("b", "ab", "mid", "root"), "c": ("c", "only", "root")})
    assert tree.generalize(["a"]) == "a"
    assert tree.generalize(["b", "a"]) == "ab"
    assert tree.generalize(["a", "c"]) == "root"
    assert tree.generalize(["c", "c"]) == "c"
    assert tree.loss("mid") == tree.loss("ab") == 0.5
    assert tree.loss("only") == 0.0


def test_distance_marginalises_nulls_and_is_one_without_shared_attributes() -> None:
    attributes = [TEN, TEN, GENDER]
    assert distance(attributes, row(0, 1.0, None, "Male"), row(1, 4.0, 9.0, "Male")) == 0.15
    assert distance(attributes, row(0, 1.0, None, "Male"), row(1, None, 9.0, "Female")) == 1.0
    assert distance(attributes, row(0, 1.0, None, None), row(1, None, 9.0, "Female")) == 1.0
    assert distance(attributes, row(0, None, None, None), row(1, None, None, None)) == 1.0


def test_losses_of_tuples_and_clusters() -> None:
    attributes = [TEN, TEN]
    cluster = [row(0, 1.0, 2.0), row(1, 3.0, None), row(2, None, None)]
    assert generalize(attributes, cluster) == ((1.0, 3.0), (2.0, 2.0))
    assert loss(attributes, cluster[0], ((1.0, 3.0), (2.0, 2.0))) == 0.1
    assert loss(attributes, cluster[1], ((1.0, 3.0), (2.0, 2.0))) == 0.2
    assert loss(attributes, cluster[2], ((1.0, 3.0), (2.0, 2.0))) == 0.0
    assert cluster_loss(attributes, reversed(cluster)) == (0.0 + 0.1 + 0.2 + 0.0) / 3


def test_covers_needs_every_attribute_of_the_tuple() -> None:
    attributes = [TEN, EDUCATION_5]
    assert covers(attributes, ((1.0, 3.0), "University"), row(0, 3.0, "Master"))
    assert covers(attributes, ((1.0, 3.0), "University"), row(0, None, "Master"))
    assert covers(attributes, (None, None), row(0, None, None))
    assert not covers(attributes, ((1.0, 3.0), "Secondary"), row(0, 3.0, "Master"))
    assert not covers(attributes, ((1.0, 3.0), None), row(0, 3.0, "Master"))
    assert not covers(attributes, ((1.0, 3.0), "University"), row(0, 3.5, "Master"))


def test_nearest_takes_each_persons_closest_tuple_and_the_older_of_equals() -> None:
    t = row(0, 5.0, person="t")
    rows = [
        t,
        row(1, 5.0, person="t"),
        row(2, 9.0, person="a"),
        row(3, 7.0, person="b"),
        row(4, 3.0, person="c"),
        row(5, 5.5, person="a"),
        row(6, 5.2, person="a"),
    ]
    found = nearest(t, rows, 2, lambda t, u: distance([TEN], t, u))
    assert [u.number for u in found] == [6, 3]
    assert [u.number for u in nearest(t, rows, 9, lambda t, u: distance([TEN], t, u))] == [6, 3, 4]


def test_persons_partitions_and_jaccard() -> None:
    rows = [row(0, 1.0, None), row(1, 1.0, 2.0, person=0), row(2, 3.0, None)]
    assert persons(rows) == 2
    assert [[t.number for t in p] for p in partitions(rows)] == [[0, 2], [1]]
    assert jaccard((0, 1), (1, 2, 3)) == 0.25
    assert jaccard((), ()) == 1.0
    assert jaccard((), (1,)) == 0.0


def test_reuse_set_age_limit_and_loss() -> None:
    reuse = ReuseSet([TEN], 5, 2, 0.5)
    reuse.add(Entry(((0.0, 4.0),), 0, 0.4, 10))
    assert reuse.best(row(9, 5.0), 11) is None
    assert reuse.best(row(9, 1.0), 14).group == 0
    assert reuse.best(row(9, 1.0), 15) is None
    reuse.add(Entry(((0.0, 4.0),), 1, 0.4, 16))
    reuse.add(Entry(((1.0, 5.0),), 2, 0.4, 16))
    assert reuse.best(row(9, 2.0), 16).group == 1
    reuse.add(Entry(((0.0, 5.0),), 3, 0.5, 16))
    assert len(reuse.entries) == 2
    reuse.add(Entry(((2.0, 3.0),), 4, 0.1, 17))
    assert [e.group for e in reuse.entries] == [2, 4]
    assert reuse.best(row(9, 2.0), 17).group == 4


def test_reuse_age_of_zero_disables_reuse_and_infinity_never_ends() -> None:
    never, always = ReuseSet([TEN], 0, 9, math.inf), ReuseSet([TEN], math.inf, 9, math.inf)
    for reuse in (never, always):
        reuse.add(Entry(((0.0, 10.0),), 0, 1.0, 3))
    assert never.best(row(0, 1.0), 3) is None
    assert always.best(row(0, 1.0), 10**9) is not None


def test_count_window_publishes_before_the_arrival_that_makes_it_wait_n() -> None:
    releases = simulate("fads", [TEN], 1, ("count", 3), people(1.0, 2.0, 3.0, 4.0, 5.0))
    assert [(r.row, r.arrived, r.released) for r in releases] == [(0, 0, 3), (1, 1, 4), (2, 2, 4), (3, 3, 4), (4, 4, 4)]


def test_count_window_publishes_without_the_new_arrival() -> None:
    releases = simulate("fads", [TEN], 2, ("count", 2), people(1.0, 9.0, 1.1))
    assert brief(releases)[:2] == [(0, "cluster", 0, (1.0, 9.0), 2), (1, "cluster", 0, (1.0, 9.0), 2)]


def test_buffer_window_publishes_after_the_arrival_that_fills_it() -> None:
    releases = simulate("fads", [TEN], 2, ("buffer", 3), people(1.0, 9.0, 1.5, 8.0, 2.0))
    assert brief(releases) == [
        (0, "cluster", 0, (1.0, 1.5), 2),
        (2, "cluster", 0, (1.0, 1.5), 2),
        (1, "cluster", 1, (8.0, 9.0), 4),
        (3, "cluster", 1, (8.0, 9.0), 4),
        (4, "suppressed", None, (0.0, 10.0), 4),
    ]


def test_time_window_expires_at_exactly_d_by_arrivals_and_ticks() -> None:
    events = [
        Arrival("a", (1.0,), 10.0),
        Tick(14.5),
        Arrival("b", (2.0,), 13.0),
        Tick(15.0),
        Tick(3.0),
        Arrival("c", (3.0,), 19.5),
        Tick(21.0),
    ]
    releases = simulate("fads", [TEN], 1, ("time", 5.0), events)
    assert [(r.row, r.arrived, r.released) for r in releases] == [(0, 10.0, 15.0), (1, 14.5, 19.5), (2, 19.5, 21.0)]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_count_and_buffer_below_k_are_refused(name: str) -> None:
    for window in (("count", 2), ("buffer", 2)):
        with pytest.raises(ValueError):
            simulate(name, [TEN], 3, window, [])


def test_suppressed_tuple_publishes_every_root_and_others_keep_their_nulls() -> None:
    attributes = [TEN, GENDER]
    releases = simulate("fads", attributes, 2, ("count", 2), [Arrival("a", (1.0, None))])
    assert releases == [Release(0, "suppressed", None, ((0.0, 10.0), "Gender"), 0, 0)]
    releases = simulate("fads", attributes, 2, ("count", 2), people((1.0, None), (2.0, "Male")))
    assert [r.generalization for r in releases] == [((1.0, 2.0), None), ((1.0, 2.0), "Male")]


@pytest.mark.parametrize(
    ("name", "age", "limit", "most"),
    [
        ("fads", 7, 1000, math.inf),
        ("iot", 7, 1000, math.inf),
        ("kvarp", 7, 1000, math.inf),
        ("idea", math.inf, 200, 0.5),
        ("xband", 7, 1000, math.inf),
        ("castle", math.inf, 200, math.inf),
        ("fast", 140, 1000, math.inf),
    ],
)
def test_reuse_defaults(name: str, age: float, limit: float, most: float) -> None:
    reuse = ALGORITHMS[name]([TEN], 2, ("count", 7)).reuse
    assert (reuse.age, reuse.limit, reuse.max_loss) == (age, limit, most)
