from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import ALGORITHMS, Arrival, Categorical, Numeric, Release, Tick, simulate
from naive.common import (
    Attribute,
    Entry,
    ReuseSet,
    Row,
    cluster_loss,
    covers,
    distance,
    generalize,
    jaccard,
    loss,
    nearest,
    partitions,
    persons,
    valid,
)
from naive.xband import Xband

TEN = Numeric(0.0, 10.0)
GENDER = Categorical({"Male": ("Male", "Gender"), "Female": ("Female", "Gender")})
EDUCATION_7 = Categorical(
    {leaf: (leaf, "School", "Education") for leaf in ("Primary", "Middle", "High", "Vocational")}
    | {leaf: (leaf, "University", "Education") for leaf in ("Bachelor", "Master", "Ph.D")}
)
EDUCATION_5 = Categorical(
    {leaf: (leaf, "Secondary", "Education") for leaf in ("Mid-school", "High-school")}
    | {leaf: (leaf, "University", "Education") for leaf in ("Bachelor", "Master", "Ph.D")}
)


def row(number: int, *values: Any, person: Any = None) -> Row:
    return Row(number, number, number if person is None else person, values)


def people(*values: Any) -> list[Arrival]:
    return [Arrival(n, v if isinstance(v, tuple) else (v,)) for n, v in enumerate(values)]


def brief(releases: list[Release]) -> list[tuple]:
    return [(r.row, r.how, r.cluster, r.generalization[0] if r.generalization else None, r.released) for r in releases]


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


def test_fads_by_hand() -> None:
    releases = simulate("fads", [TEN], 2, ("count", 3), people(1.0, 9.0, 2.0, 8.0, 5.0))
    assert brief(releases) == [
        (0, "cluster", 0, (1.0, 2.0), 3),
        (2, "cluster", 0, (1.0, 2.0), 3),
        (1, "cluster", 1, (8.0, 9.0), 4),
        (3, "cluster", 1, (8.0, 9.0), 4),
        (4, "suppressed", None, (0.0, 10.0), 4),
    ]


def test_fads_reuse_serves_below_the_age_and_not_at_it() -> None:
    events = people(1.0, 2.0, 1.5, 9.0, 5.0)
    young = simulate("fads", [TEN], 2, ("count", 2), events, reuse_age=3)
    assert brief(young)[2:] == [
        (2, "reuse", 0, (1.0, 2.0), 4),
        (3, "cluster", 1, (5.0, 9.0), 4),
        (4, "cluster", 1, (5.0, 9.0), 4),
    ]
    old = simulate("fads", [TEN], 2, ("count", 2), events, reuse_age=2)
    assert brief(old)[2:4] == [(2, "cluster", 1, (1.5, 9.0), 4), (3, "cluster", 1, (1.5, 9.0), 4)]
    assert simulate("fads", [TEN], 2, ("count", 2), events) == old


def test_fads_counts_persons_not_tuples() -> None:
    events = [Arrival("a", (1.0,)), Arrival("a", (1.1,)), Arrival("a", (1.2,)), Arrival("b", (9.0,))]
    releases = simulate("fads", [TEN], 2, ("count", 3), events)
    assert brief(releases) == [
        (0, "suppressed", None, (0.0, 10.0), 3),
        (1, "cluster", 0, (1.1, 9.0), 3),
        (3, "cluster", 0, (1.1, 9.0), 3),
        (2, "reuse", 0, (1.1, 9.0), 3),
    ]


@pytest.mark.parametrize(("name", "how"), [("fads", "cluster"), ("kvarp", "reuse"), ("idea", "cluster")])
def test_equally_good_cover_serves_kvarp_only(name: str, how: str) -> None:
    releases = simulate(name, [TEN], 2, ("buffer", 2), people(1.0, 2.0, 1.0, 2.0), reuse_age=9)
    assert releases[2].row == 2
    assert releases[2].how == how


FIG_3 = people((5.0, None, None), *((v, 1.0, None) for v in (1.0, 2.0, 9.0)), *((v, None, 1.0) for v in (4.0, 6.0)))


def test_kvarp_merges_the_partition_with_more_tuples_within_the_radius() -> None:
    releases = simulate("kvarp", [TEN, TEN, TEN], 3, ("count", 6), FIG_3)
    assert [r.row for r in releases if r.cluster == 0] == [0, 4, 5]
    assert releases[0].generalization == ((4.0, 6.0), None, None)
    assert releases[1].generalization == ((4.0, 6.0), None, (1.0, 1.0))
    assert simulate("kvarp", [TEN, TEN, TEN], 3, ("count", 6), FIG_3, radius=0.1) == releases
    narrow = simulate("kvarp", [TEN, TEN, TEN], 3, ("count", 6), FIG_3, radius=0.05)
    assert [r.row for r in narrow if r.cluster == 0] == [0, 1, 2]


def test_iot_merges_the_biggest_partition_and_imputes() -> None:
    releases = simulate("iot", [TEN, TEN, TEN], 3, ("count", 6), FIG_3)
    assert [r.row for r in releases if r.cluster == 0] == [0, 1, 2]
    assert {r.generalization for r in releases[:3]} == {(((1.0, 5.0), 3, 3), ((1.0, 1.0), 3, 2), None)}


@pytest.mark.parametrize("name", ["kvarp", "iot"])
def test_merging_prefers_similar_attributes_to_likeness_and_size(name: str) -> None:
    events = people((5.0, 5.0, None), (5.0, None, None), (5.0, None, None), (9.0, 9.0, 9.0))
    releases = simulate(name, [TEN, TEN, TEN], 2, ("count", 4), events)
    assert [r.row for r in releases if r.cluster == 0] == [0, 3]


@pytest.mark.parametrize("name", ["kvarp", "iot"])
def test_merging_prefers_the_bigger_and_then_the_older_partition(name: str) -> None:
    older, newer = (5.0, None, 5.0), (5.0, 5.0, None)
    bigger = simulate(name, [TEN, TEN, TEN], 2, ("count", 4), people((5.0, None, None), older, newer, (9.0, 9.0, None)))
    assert [r.row for r in bigger if r.cluster == 0] == [0, 2]
    equal = simulate(name, [TEN, TEN, TEN], 2, ("count", 4), people((5.0, None, None), older, newer))
    assert [r.row for r in equal if r.cluster == 0] == [0, 1]


def test_kvarp_merged_cluster_is_reused_at_once_by_a_covered_tuple_in_need_of_merging() -> None:
    events = people((1.0, None), (2.0, 3.0), (1.5, None), (9.0, 9.0))
    kvarp = simulate("kvarp", [TEN, TEN], 2, ("buffer", 2), events, reuse_age=9)
    assert [(r.row, r.how, r.cluster) for r in kvarp] == [
        (0, "cluster", 0),
        (1, "cluster", 0),
        (2, "reuse", 0),
        (3, "suppressed", None),
    ]
    iot = simulate("iot", [TEN, TEN], 2, ("buffer", 2), events, reuse_age=9)
    assert [(r.row, r.how, r.cluster) for r in iot] == [
        (0, "cluster", 0),
        (1, "cluster", 0),
        (2, "cluster", 1),
        (3, "cluster", 1),
    ]


def test_iot_reuses_only_for_exactly_the_same_attributes() -> None:
    events = people((1.0, 1.0), (2.0, 2.0), (1.5, None), (1.5, 1.5))
    releases = simulate("iot", [TEN, TEN], 2, ("count", 2), events, reuse_age=9)
    assert [(r.row, r.how) for r in releases] == [(0, "cluster"), (1, "cluster"), (2, "cluster"), (3, "cluster")]
    assert releases[2].generalization == (((1.5, 1.5), 2, 2), ((1.5, 1.5), 2, 1))
    alone = simulate("iot", [TEN, TEN], 2, ("count", 2), [*events[:2], events[3]], reuse_age=9)
    assert alone[2][1:4] == ("reuse", 0, ((1.0, 2.0), (1.0, 2.0)))
    assert simulate("iot", [TEN, TEN], 2, ("count", 2), events[:3], reuse_age=9)[2].how == "suppressed"
    assert simulate("kvarp", [TEN, TEN], 2, ("count", 2), events[:3], reuse_age=9)[2].how == "reuse"


def test_idea_adds_all_partitions_at_the_smallest_distance_kvarp_one() -> None:
    events = people((5.0, None, None), (5.1, 1.0, None), (9.0, 1.0, None), (5.2, None, 1.0), (1.0, None, 1.0))
    idea = simulate("idea", [TEN, TEN, TEN], 3, ("count", 5), events)
    assert [r.row for r in idea if r.cluster == 0] == [0, 1, 3]
    kvarp = simulate("kvarp", [TEN, TEN, TEN], 3, ("count", 5), events)
    assert [r.row for r in kvarp if r.cluster == 0] == [0, 1, 2]


def test_idea_keeps_only_tight_clusters_and_only_the_newest() -> None:
    wide = people(0.0, 5.0, 3.0)
    assert simulate("idea", [TEN], 2, ("buffer", 2), wide)[2].how == "suppressed"
    assert simulate("idea", [TEN], 2, ("buffer", 2), wide, reuse_loss=0.6)[2].how == "reuse"
    two = people(0.0, 1.0, 8.0, 9.0, 0.5)
    assert simulate("idea", [TEN], 2, ("buffer", 2), two)[4].cluster == 0
    assert simulate("idea", [TEN], 2, ("buffer", 2), two, reuse_limit=1)[4].how == "suppressed"


def test_xband_publishes_the_tightest_of_the_band_and_pockets_the_older() -> None:
    events = people(0.0, 5.0, 5.5, 2.0, 6.0)
    releases = simulate("xband", [TEN], 2, ("count", 4), events, band=2)
    assert brief(releases) == [
        (1, "cluster", 0, (5.0, 5.5), 4),
        (2, "cluster", 0, (5.0, 5.5), 4),
        (0, "cluster", 1, (0.0, 2.0), 4),
        (3, "cluster", 1, (0.0, 2.0), 4),
        (4, "suppressed", None, (0.0, 10.0), 4),
    ]


def test_xband_band_shrinks_with_the_buffer() -> None:
    events = people(0.0, 5.0, 5.5, 2.0, 6.0)
    assert simulate("xband", [TEN], 2, ("count", 4), events) == simulate(
        "xband", [TEN], 2, ("count", 4), events, band=2
    )
    one = simulate("xband", [TEN], 2, ("count", 4), events, band=1)
    assert [r.row for r in one if r.cluster == 0] == [0, 3]


def test_xband_finds_the_missing_person_in_the_pocket() -> None:
    events = [*people(0.0, 5.0, 5.5), Arrival("d", (2.0,)), Arrival("d", (6.0,))]
    releases = simulate("xband", [TEN], 2, ("count", 4), events, band=2)
    assert brief(releases)[2:] == [
        (0, "cluster", 1, (0.0, 2.0), 4),
        (3, "cluster", 1, (0.0, 2.0), 4),
        (4, "suppressed", None, (0.0, 10.0), 4),
    ]


def test_xband_leaves_younger_band_tuples_in_the_buffer() -> None:
    releases = simulate("xband", [TEN], 2, ("count", 4), people(0.0, 9.0, 0.5, 5.0, 8.5, 4.0), band=2)
    assert brief(releases)[:4] == [
        (0, "cluster", 0, (0.0, 0.5), 4),
        (2, "cluster", 0, (0.0, 0.5), 4),
        (1, "cluster", 1, (8.5, 9.0), 5),
        (4, "cluster", 1, (8.5, 9.0), 5),
    ]


def test_xband_pocket_is_checked_after_each_publication() -> None:
    releases = simulate("xband", [TEN], 2, ("count", 4), people(0.0, 5.0, 5.5, 2.0, 6.0), band=2, reuse_age=0)
    assert [(r.row, r.how, r.released) for r in releases] == [
        (1, "cluster", 4),
        (2, "cluster", 4),
        (0, "suppressed", 4),
        (3, "cluster", 4),
        (4, "cluster", 4),
    ]


def test_xband_pocket_expires_by_its_own_stay_ahead_of_the_window() -> None:
    events = people(0.0, 5.0, 5.5, 1.0, 9.0, 8.0, 7.0, 7.2)
    releases = simulate("xband", [TEN], 2, ("count", 4), events, band=2, reuse_age=3)
    assert brief(releases) == [
        (1, "cluster", 0, (5.0, 5.5), 4),
        (2, "cluster", 0, (5.0, 5.5), 4),
        (0, "suppressed", None, (0.0, 10.0), 7),
        (4, "cluster", 1, (8.0, 9.0), 7),
        (5, "cluster", 1, (8.0, 9.0), 7),
        (6, "cluster", 2, (7.0, 7.2), 7),
        (7, "cluster", 2, (7.0, 7.2), 7),
        (3, "suppressed", None, (0.0, 10.0), 7),
    ]
    longer = simulate("xband", [TEN], 2, ("count", 4), events, band=2, reuse_age=4)
    assert brief(longer)[2:4] == [(0, "cluster", 1, (0.0, 1.0), 7), (3, "cluster", 1, (0.0, 1.0), 7)]


def test_xband_needs_k_tuples_in_the_buffer_whatever_the_pocket_holds() -> None:
    events = people(0.0, 5.0, 5.5, 9.0)
    releases = simulate("xband", [TEN], 2, ("buffer", 4), events, band=2)
    assert [(r.row, r.how) for r in releases] == [(1, "cluster"), (2, "cluster"), (3, "suppressed"), (0, "suppressed")]


def test_xband_weighs_missing_attributes() -> None:
    t, u = row(0, 1.0, None), row(1, 3.0, 4.0)
    algorithm = Xband([TEN, TEN], 2, ("count", 2), alpha=0.75)
    assert algorithm.distance(t, u) == 0.75 * 0.2 + 0.25 * 0.5


def test_castle_by_hand() -> None:
    releases = simulate("castle", [TEN], 2, ("count", 3), people(0.0, 1.0, 8.0, 0.0), clusters=2)
    assert brief(releases) == [
        (0, "cluster", 0, (0.0, 8.0), 3),
        (1, "cluster", 0, (0.0, 8.0), 3),
        (2, "cluster", 0, (0.0, 8.0), 3),
        (3, "reuse", 0, (0.0, 8.0), 3),
    ]


@pytest.mark.parametrize(
    ("values", "k", "clusters", "members"),
    [
        ((0.0, 0.0, 10.0, 5.0), 2, 2, [0, 1]),
        ((0.0, 10.0, 5.0), 2, 2, [0, 2]),
        ((0.0, 9.0, 4.0, 5.0), 3, 2, [0, 2, 3]),
        ((5.0, 0.0, 0.0, 10.0), 2, 3, [0, 3]),
        ((5.0, 0.0, 10.0), 2, 3, [0, 1]),
        ((5.0, 2.0, 8.5, 0.0), 3, 4, [0, 1, 3]),
    ],
    ids=[
        "joins the smaller of equals",
        "joins the earlier of equals",
        "joins the least enlargement, not the least loss",
        "merges the smaller of equals",
        "merges the earlier of equals",
        "merges into what has been merged",
    ],
)
def test_castle_choices(values: tuple, k: int, clusters: int, members: list[int]) -> None:
    releases = simulate("castle", [TEN], k, ("count", 4), people(*values), clusters=clusters)
    assert [r.row for r in releases if r.cluster == 0] == members


def test_castle_reuse_does_not_age() -> None:
    events = [*people(0.0, 8.0), *(Arrival("x", (v,)) for v in (3.0, 9.0, 9.0))]
    releases = simulate("castle", [TEN], 2, ("count", 2), events, clusters=1)
    assert brief(releases)[2] == (2, "reuse", 0, (0.0, 8.0), 4)
    assert simulate("castle", [TEN], 2, ("count", 2), events, clusters=1, reuse_age=2)[2].how == "suppressed"


def test_castle_suppresses_where_more_than_half_of_the_clusters_are_larger() -> None:
    larger = simulate("castle", [TEN], 3, ("count", 5), people(0.0, 5.0, 5.0, 9.0, 9.0, 2.0))
    assert larger[0][:3] == (0, "suppressed", None)
    half = simulate("castle", [TEN], 3, ("count", 5), people(0.0, 5.0, 5.0, 9.0, 9.0, 2.0), clusters=2)
    assert brief(half)[:3] == [(n, "cluster", 0, (0.0, 9.0), 5) for n in range(3)]


def test_castle_splits_from_the_oldest() -> None:
    releases = simulate("castle", [TEN], 2, ("count", 4), people(0.0, 9.0, 1.0, 7.0), clusters=1)
    assert brief(releases) == [
        (0, "cluster", 0, (0.0, 1.0), 3),
        (2, "cluster", 0, (0.0, 1.0), 3),
        (1, "cluster", 1, (7.0, 9.0), 3),
        (3, "cluster", 1, (7.0, 9.0), 3),
    ]


def test_castle_reuses_only_groups_no_worse_than_the_recent_mean() -> None:
    first = people(0.0, 1.0, 6.0, 9.0)
    covered_by_second = simulate("castle", [TEN], 2, ("count", 4), [*first, Arrival("x", (7.0,))], clusters=1)
    assert covered_by_second[4].how == "suppressed"
    short = simulate("castle", [TEN], 2, ("count", 4), [*first, Arrival("x", (7.0,))], clusters=1, recent=1)
    assert short[4][1:4] == ("reuse", 1, ((6.0, 9.0),))


def test_fast_by_hand() -> None:
    events = people(0.0, 9.0, 1.0, 8.0, 5.0)
    releases = simulate("fast", [TEN], 2, ("count", 6), events, round=3)
    assert brief(releases) == [
        (0, "cluster", 0, (0.0, 1.0), 2),
        (2, "cluster", 0, (0.0, 1.0), 2),
        (1, "cluster", 1, (8.0, 9.0), 4),
        (3, "cluster", 1, (8.0, 9.0), 4),
        (4, "suppressed", None, (0.0, 10.0), 4),
    ]
    hurried = simulate("fast", [TEN], 2, ("count", 6), events, round=3, deadline=5)
    assert brief(hurried)[2] == (1, "suppressed", None, (0.0, 10.0), 2)


def test_fast_suppresses_what_has_no_time_left_without_trying_a_cover() -> None:
    events = [Arrival("a", (0.0,)), Arrival("a", (0.2,)), Arrival("c", (0.5,))]
    releases = simulate("fast", [TEN], 2, ("count", 5), events, round=3)
    assert brief(releases) == [
        (0, "cluster", 0, (0.0, 0.5), 2),
        (2, "cluster", 0, (0.0, 0.5), 2),
        (1, "suppressed", None, (0.0, 10.0), 2),
    ]


def test_fast_keeps_the_longest_round_as_its_estimate() -> None:
    releases = simulate("fast", [TEN], 2, ("count", 8), people(0.0, 9.0, 5.0, 1.0, 8.5, 3.0), round=4)
    assert brief(releases) == [
        (0, "cluster", 0, (0.0, 1.0), 3),
        (3, "cluster", 0, (0.0, 1.0), 3),
        (1, "cluster", 1, (8.5, 9.0), 5),
        (4, "cluster", 1, (8.5, 9.0), 5),
        (2, "suppressed", None, (0.0, 10.0), 5),
        (5, "suppressed", None, (0.0, 10.0), 5),
    ]


def test_fast_round_is_the_smaller_of_6_k_and_the_deadline() -> None:
    events = people(*[1.0] * 20)
    assert simulate("fast", [TEN], 2, ("count", 30), events)[0].released == 11
    assert simulate("fast", [TEN], 2, ("count", 9), events)[0].released == 8
    for parameters in ({"round": 1}, {"round": 31}, {"round": 8, "deadline": 7}):
        with pytest.raises(ValueError):
            simulate("fast", [TEN], 2, ("count", 30), events, **parameters)


def test_fast_time_never_runs_backwards() -> None:
    events = [Arrival("a", (1.0,), 10.0), Tick(12.0), Arrival("b", (2.0,), 11.0), Arrival("c", (3.0,), 9.0)]
    releases = simulate("fast", [TEN], 2, ("time", 60.0), events, round=3, reuse_age=60.0)
    assert {r.row: r.arrived for r in releases} == {0: 10.0, 1: 12.0, 2: 12.0}


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


def test_fast_renews_a_reused_entry() -> None:
    events = people(0.0, 1.0, 0.5, 9.0, 0.5, 0.5, 9.0)
    releases = {
        r.row: (r.how, r.cluster) for r in simulate("fast", [TEN], 2, ("count", 9), events, round=2, reuse_age=4)
    }
    assert releases[2] == ("reuse", 0)
    assert releases[3] == releases[4] == ("cluster", 1)
    assert releases[5] == ("reuse", 0)


def test_fast_first_round_is_timed_from_its_first_tuple() -> None:
    values = (0.0, 9.0, 1.0, 8.0, 4.0)
    events = [
        Arrival(n, (v,), time) for n, (v, time) in enumerate(zip(values, (10.0, 11.0, 12.0, 13.0, 17.0), strict=True))
    ]
    releases = simulate("fast", [TEN], 2, ("time", 6.0), events, round=3, reuse_age=60.0)
    assert [(r.row, r.how, r.arrived, r.released) for r in releases] == [
        (0, "cluster", 10.0, 12.0),
        (2, "cluster", 12.0, 12.0),
        (1, "cluster", 11.0, 17.0),
        (3, "cluster", 13.0, 17.0),
        (4, "suppressed", 17.0, 17.0),
    ]
    tight = simulate("fast", [TEN], 2, ("time", 3.0), events, round=3, reuse_age=60.0)
    assert tight[2][:2] == (1, "suppressed")
    with pytest.raises(ValueError):
        simulate("fast", [TEN], 2, ("time", 6.0), events, round=3)


def test_kvarp_table_1_loss_is_0_458_where_the_paper_prints_0_489() -> None:
    attributes = [Numeric(0.0, 100.0), GENDER, EDUCATION_7]
    t1 = row(0, 20.0, "Male", "Bachelor")
    assert loss(attributes, t1, ((20.0, 24.0), "Gender", "University")) == (0.04 + 1.0 + 2 / 6) / 3


def test_kvarp_table_2_distance_is_0_459_where_the_paper_prints_0_49() -> None:
    attributes = [Numeric(8.0, 100.0), GENDER, EDUCATION_7, Numeric(120.0, 200.0), Numeric(30.0, 120.0)]
    t1, t2 = row(0, 24.0, "Male", "Ph.D", None, 85.0), row(1, 20.0, "Female", "Bachelor", 162.0, None)
    assert distance(attributes, t1, t2) == (4 / 92 + 1.0 + 2 / 6) / 3


TABLE_3_ATTRIBUTES: list[Attribute] = [Numeric(8.0, 100.0), GENDER, Numeric(120.0, 200.0), Numeric(30.0, 120.0)]
TABLE_3 = people((18.0, "Male", 168.0, 80.0), (20.0, "Male", 175.0, None), (19.0, None, 170.0, 74.0))


def test_kvarp_table_4_iot_imputes_with_pairs_also_where_the_paper_omits_a_full_one() -> None:
    releases = simulate("iot", TABLE_3_ATTRIBUTES, 3, ("count", 3), TABLE_3)
    every = (((18.0, 20.0), 3, 3), ("Male", 3, 2), ((168.0, 175.0), 3, 3), ((74.0, 80.0), 3, 2))
    assert [(r.row, r.generalization) for r in releases] == [(0, every), (1, every), (2, every)]


def test_kvarp_table_5_keeps_the_nulls() -> None:
    releases = simulate("kvarp", TABLE_3_ATTRIBUTES, 3, ("count", 3), TABLE_3)
    assert [r.generalization for r in releases] == [
        ((18.0, 20.0), "Male", (168.0, 175.0), (74.0, 80.0)),
        ((18.0, 20.0), "Male", (168.0, 175.0), None),
        ((18.0, 20.0), None, (168.0, 175.0), (74.0, 80.0)),
    ]


IDEA_ATTRIBUTES: list[Attribute] = [Numeric(0.0, 100.0), Numeric(0.0, 100.0), GENDER, EDUCATION_5]
IDEA_STREAM = people(
    (None, None, "Male", "Mid-school"),
    (30.0, 40.0, "Male", "Bachelor"),
    (None, None, "Female", "High-school"),
    (None, None, "Male", "High-school"),
    (None, None, "Female", "Bachelor"),
    (80.0, 10.0, None, "Mid-school"),
    (31.0, 40.0, None, "Bachelor"),
    (35.0, 40.0, "Male", "Bachelor"),
)


def test_idea_examples_1_and_2_partitions_and_attribute_distance() -> None:
    found = partitions([row(n, *t.values) for n, t in enumerate(IDEA_STREAM)])
    assert [[t.number for t in p] for p in found] == [[0, 2, 3, 4], [1, 7], [5, 6]]
    p1, p3, p2 = (valid(p[0].values) for p in found)
    assert 1 - jaccard(p3, p1) == 0.5
    assert 1 - jaccard(p3, p2) == 0.25


def test_idea_example_3_distance_is_0_625_where_the_paper_prints_0_7() -> None:
    t1, t3 = row(0, *IDEA_STREAM[0].values), row(2, *IDEA_STREAM[2].values)
    assert distance(IDEA_ATTRIBUTES, t1, t3) == 0.625


def test_idea_examples_2_and_3_as_a_stream() -> None:
    releases = simulate("idea", IDEA_ATTRIBUTES, 3, ("buffer", 8), IDEA_STREAM)
    assert [(r.row, r.how, r.cluster) for r in releases] == [
        (0, "cluster", 0),
        (2, "cluster", 0),
        (3, "cluster", 0),
        (1, "cluster", 1),
        (6, "cluster", 1),
        (7, "cluster", 1),
        (4, "suppressed", None),
        (5, "suppressed", None),
    ]
    assert releases[0].generalization == (None, None, "Gender", "Secondary")
    assert releases[3].generalization == ((30.0, 35.0), (40.0, 40.0), "Male", "Bachelor")
    assert releases[4].generalization == ((30.0, 35.0), (40.0, 40.0), None, "Bachelor")


STREAM_ATTRIBUTES: list[Attribute] = [TEN, EDUCATION_5, Numeric(-1.0, 1.0)]
ROWS = st.lists(
    st.tuples(
        st.integers(0, 6),
        st.none() | st.integers(0, 10).map(float),
        st.none() | st.sampled_from(sorted(EDUCATION_5.paths)),
        st.none() | st.sampled_from([-1.0, -0.3, 0.0, 0.7]),
    ),
    max_size=40,
)


@pytest.mark.parametrize("kind", ["count", "buffer"])
@pytest.mark.parametrize("name", ALGORITHMS)
@settings(max_examples=40, deadline=None)
@given(rows=ROWS, k=st.integers(1, 4), length=st.integers(4, 12))
def test_every_tuple_leaves_once_in_time_and_in_company(name: str, kind: str, rows: list, k: int, length: int) -> None:
    releases = simulate(name, STREAM_ATTRIBUTES, k, (kind, length), [Arrival(r[0], tuple(r[1:])) for r in rows])
    assert sorted(r.row for r in releases) == list(range(len(rows)))
    groups, generalizations = defaultdict(set), {}
    for r in releases:
        assert r.arrived == r.row
        if kind == "count":
            assert 0 <= r.released - r.arrived <= (2 * length if name == "xband" else length)
        values = rows[r.row][1:]
        if r.how == "suppressed":
            assert r.cluster is None
            assert r.generalization == tuple(a.root for a in STREAM_ATTRIBUTES)
            continue
        imputed = name == "iot" and any(g is not None and len(g) == 3 for g in r.generalization)
        for q, (a, v, g) in enumerate(zip(STREAM_ATTRIBUTES, values, r.generalization, strict=True)):
            if g is not None and imputed:
                assert g[1] >= k
                assert g[2] >= 1
                g = g[0]
            assert (v is None) == (g is None) or imputed
            assert v is None or a.contains(g, v)
            assert g is None or generalizations.setdefault((r.cluster, q), g) == g
        if r.how == "cluster":
            groups[r.cluster].add(rows[r.row][0])
        else:
            assert r.how == "reuse"
            assert r.cluster in groups
    assert sorted(groups) == list(range(len(groups)))
    assert all(len(members) >= k for members in groups.values())


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name != "fast"])
@settings(max_examples=40, deadline=None)
@given(rows=ROWS, steps=st.lists(st.integers(-2, 5), min_size=80, max_size=80), k=st.integers(1, 4))
def test_time_window_never_passes_over_a_due_tuple(name: str, rows: list, steps: list[int], k: int) -> None:
    events, clocks, arrived, own, now = [], [], [], 0.0, 0.0
    for n, r in enumerate(rows):
        for tick, step in ((False, steps[2 * n]), (True, steps[2 * n + 1])):
            own += step
            now = max(now, own) if clocks else own
            clocks.append(now)
            events.append(Tick(own) if tick else Arrival(r[0], tuple(r[1:]), own))
            if not tick:
                arrived.append(now)
    releases = simulate(name, STREAM_ATTRIBUTES, k, ("time", 6.0), events)
    assert {r.row: r.arrived for r in releases} == dict(enumerate(arrived))
    for r in releases:
        latest = r.arrived
        for wait in (6.0, 6.0) if name == "xband" else (6.0,):
            latest = min((c for c in clocks if c >= latest + wait), default=clocks[-1])
        assert r.released <= latest
