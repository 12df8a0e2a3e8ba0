"""Each twin on streams that can be followed by hand."""

from __future__ import annotations

import pytest

from naive import Arrival, Tick, simulate
from naive.samples import TEN, brief, people, row
from naive.xband import Xband


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
    assert simulate("xband", [TEN], 2, ("count", 4), events) == simulate("xband", [TEN], 2, ("count", 4), events, band=2)
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


def test_fast_renews_a_reused_entry() -> None:
    events = people(0.0, 1.0, 0.5, 9.0, 0.5, 0.5, 9.0)
    releases = {r.row: (r.how, r.cluster) for r in simulate("fast", [TEN], 2, ("count", 9), events, round=2, reuse_age=4)}
    assert releases[2] == ("reuse", 0)
    assert releases[3] == releases[4] == ("cluster", 1)
    assert releases[5] == ("reuse", 0)


def test_fast_first_round_is_timed_from_its_first_tuple() -> None:
    values = (0.0, 9.0, 1.0, 8.0, 4.0)
    events = [Arrival(n, (v,), time) for n, (v, time) in enumerate(zip(values, (10.0, 11.0, 12.0, 13.0, 17.0), strict=True))]
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
