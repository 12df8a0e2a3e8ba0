"""Stronger promises, piece by piece, on examples that were computed by hand."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest

from naive import Arrival, Categorical, Demand, Numeric, Release, Tick, simulate
from naive.fads import Fads
from naive.tide import Tide, Units
from naive.xband import Xband
from shoal.conformance.naive.common import Entry, Row, cluster_loss, covers, distance, generalize, loss
from shoal.conformance.naive.kin import gather, without_one
from shoal.conformance.naive.measures import ROOT, Reading, distance_under, wear
from shoal.conformance.naive.promises import Promises, entropy

TEN = Numeric(0.0, 10.0)
FLAT = Categorical({leaf: (leaf, "any") for leaf in "abc"})
ONE = Categorical({"a": ("a", "any")})
EXTENDED, AS_ROOT, SUPPORTED = Reading("extended"), Reading("root"), Reading("maybe", min_support=2)
DISTINCT = Demand(0, "distinct", (2,))
NOBODY: Counter = Counter()


def row(number: int, *values: Any, person: Any = None, shows: str | None = None) -> Row:
    return Row(number, number, number if person is None else person, values, (shows,))


def people(*shown: tuple[float | None, str | None]) -> list[Arrival]:
    return [Arrival(n, (value,), None, (shows,)) for n, (value, shows) in enumerate(shown)]


def brief(releases: list[Release]) -> list[tuple]:
    return [(r.row, r.how, r.cluster, (r.generalization or (None,))[0]) for r in releases]


def held(rows: list[Row]) -> Fads:
    made = Fads([TEN], 2, ("count", 9))
    made.buffer = rows
    return made


class TestReading:
    MIXED = (row(0, 1.0, 2.0), row(1, 3.0, None), row(2, 2.0, 7.0))

    def test_a_group_shows_what_all_have(self) -> None:
        assert generalize([TEN, TEN], self.MIXED, EXTENDED) == ((1.0, 3.0), None)
        assert generalize([TEN, TEN], self.MIXED, AS_ROOT) == ((1.0, 3.0), None)
        assert generalize([TEN, TEN], self.MIXED) == ((1.0, 3.0), (2.0, 7.0))

    def test_all_members_wear_the_same(self) -> None:
        shown = ((1.0, 3.0), None)
        assert [wear([TEN, TEN], shown, t, EXTENDED) for t in self.MIXED] == [((1.0, 3.0), None)] * 3
        assert [wear([TEN, TEN], shown, t, AS_ROOT) for t in self.MIXED] == [((1.0, 3.0), (0.0, 10.0))] * 3

    def test_what_is_blanked_is_lost_to_those_who_had_it(self) -> None:
        shown = ((1.0, 3.0), None)
        assert [loss([TEN, TEN], t, shown, EXTENDED) for t in self.MIXED] == [0.6, 0.2, 0.6]
        assert cluster_loss([TEN, TEN], self.MIXED, EXTENDED) == (0.6 + 0.2 + 0.6) / 3

    def test_what_is_blanked_costs_all_even_where_there_is_only_one_value(self) -> None:
        assert loss([ONE], row(0, "a"), (None,), EXTENDED) == 1.0
        assert loss([ONE], row(0, "a"), (ROOT,), SUPPORTED) == 1.0

    @pytest.mark.parametrize(
        ("values", "covered"),
        [((2.0, None), True), ((2.0, 9.0), True), ((None, None), False), ((None, 9.0), False), ((4.0, None), False)],
    )
    def test_a_cover_shows_nothing_that_the_tuple_has_not(self, values: tuple, covered: bool) -> None:
        for reading in (EXTENDED, AS_ROOT):
            assert covers([TEN, TEN], ((1.0, 3.0), None), row(9, *values), reading) is covered

    def test_a_cover_that_shows_nothing_covers_all(self) -> None:
        assert covers([TEN], (None,), row(0, None), EXTENDED) and covers([TEN], (None,), row(0, 1.0), EXTENDED)

    def test_what_too_few_persons_have_is_the_root(self) -> None:
        rows = [row(0, 1.0, 4.0), row(1, 3.0, None), row(2, None, 5.0, person=0)]
        shown = generalize([TEN, TEN], rows, SUPPORTED)
        assert shown == ((1.0, 3.0), ROOT)
        assert [wear([TEN, TEN], shown, t, SUPPORTED) for t in rows] == [
            ((1.0, 3.0), (0.0, 10.0)), ((1.0, 3.0), None), (None, (0.0, 10.0)),
        ]  # fmt: skip
        assert [loss([TEN, TEN], t, shown, SUPPORTED) for t in rows] == [0.6, 0.2, 1.0]
        assert covers([TEN, TEN], shown, row(3, 2.0, 9.0), SUPPORTED)

    def test_weights(self) -> None:
        weighty = Reading(weights=(3.0, 1.0, 0.5))
        t, u = row(0, 1.0, 5.0, None), row(1, 3.0, 9.0, 4.0)
        assert loss([TEN] * 3, t, ((1.0, 3.0), (5.0, 9.0), (4.0, 4.0)), weighty) == (3.0 * 0.2 + 0.4) / 4.0
        assert distance([TEN] * 3, t, u, weighty) == (3.0 * 0.2 + 0.4) / 4.0

    def test_distance_under_what_is_shown(self) -> None:
        weighty = Reading("extended", weights=(3.0, 1.0, 0.5))
        t, u = row(0, 1.0, 5.0, None), row(1, 3.0, None, 4.0)
        assert distance_under((0, 1), [TEN] * 3, t, u, weighty) == (3.0 * 0.2 + 1.0 + 0.5) / 4.5
        assert distance_under((0,), [TEN] * 3, t, u, weighty) == (3.0 * 0.2 + 0.5) / 3.5
        assert distance_under((), [TEN] * 3, t, u, weighty) == 1.0
        assert distance_under((), [TEN], row(0, None), row(1, None), weighty) == 1.0

    def test_xband_weighs_it(self) -> None:
        xband = Xband([TEN, TEN], 2, ("count", 2), alpha=0.75, match="extended")
        t, u = row(0, 1.0, 5.0), row(1, 3.0, None)
        assert xband.distance_under((0,), t, u) == 0.75 * 0.2 + 0.25 * 0.5

    def test_only_blurred_and_maybe_ask_for_support(self) -> None:
        with pytest.raises(ValueError, match="min_support is for blurred and maybe"):
            Reading("root", min_support=2)


class TestGathering:
    def gathered(self, k: int, *rows: Row) -> list[int]:
        fads = Fads([TEN, TEN], k, ("count", 9), match="extended")
        return [t.number for t in gather(rows[0], rows, k, fads.distance_under, fads.cluster_loss)]

    def test_the_like_come_before_the_near(self) -> None:
        """The third loses 0.2 on both; with the second it would be 0.5 and 0."""
        assert self.gathered(2, row(0, 1.0, 1.0), row(1, 1.0, None), row(2, 3.0, 3.0)) == [0, 2]

    def test_something_is_blanked_where_that_loses_less(self) -> None:
        """Now it would lose 0.3."""
        assert self.gathered(2, row(0, 1.0, 1.0), row(1, 1.0, None), row(2, 4.0, 4.0)) == [0, 1]

    def test_who_has_more_is_farther(self) -> None:
        assert self.gathered(2, row(0, 1.0, None), row(1, 1.0, 1.0), row(2, 4.0, None)) == [0, 2]
        assert self.gathered(2, row(0, 1.0, None), row(1, 1.0, 1.0), row(2, None, 1.0)) == [0, 1]

    def test_too_few_have_it(self) -> None:
        assert self.gathered(3, row(0, 1.0, 1.0), row(1, 2.0, None), row(2, 2.0, 2.0), row(3, 9.0, None)) == [0, 1, 2]

    def test_own_tuples_do_not_count(self) -> None:
        rows = [row(0, 1.0, None), row(1, 1.0, None, person=0), row(2, 5.0, 5.0)]
        assert self.gathered(2, *rows) == [0, 2]

    def test_it_stops_where_blanking_more_does_not_pay(self) -> None:
        """Without the second quasi-identifier the loss rises; that without the first it would be none is not seen."""
        t, like = row(0, 0.0, 0.0, 0.0), row(1, 2.0, 0.0, 0.0)
        others = [row(2, 2.0, None, 0.0), row(3, 2.0, None, 0.0), row(4, None, 0.0, 0.0)]
        fads = Fads([TEN] * 3, 2, ("count", 9), match="extended")
        tried = []

        def tells(cluster: list[Row]) -> float:
            tried.append([u.number for u in cluster])
            return fads.cluster_loss(cluster)

        assert gather(t, [t, like, *others], 2, fads.distance_under, tells) == [t, like]
        assert [0, 4] not in tried

    @pytest.mark.parametrize(
        ("others", "rest"),
        [
            ([(1.0, None, 1.0)], (0, 2)),
            ([(1.0, None, None), (None, 1.0, None), (1.0, 1.0, None)], (0, 1)),
            ([(1.0, None, None), (1.0, None, None), (None, 1.0, 1.0)], (1, 2)),
            ([(1.0, None, None), (None, None, 1.0)], (0, 2)),
            ([(None, 1.0, 1.0), (1.0, 1.0, None)], (1, 2)),
            ([(1.0, 1.0, 1.0)], None),
            ([], None),
        ],
    )
    def test_what_is_dropped(self, others: list[tuple], rest: tuple[int, ...] | None) -> None:
        assert without_one((0, 1, 2), [row(i, *values) for i, values in enumerate(others)]) == rest

    def test_what_is_not_wanted_is_not_dropped(self) -> None:
        assert without_one((1,), [row(0, None, 1.0)]) is None
        assert without_one((), [row(0, None, None)]) is None


class TestDemands:
    @pytest.mark.parametrize(
        ("demand", "shown", "holds"),
        [
            (Demand(0, "distinct", (2,)), "xy", True),
            (Demand(0, "distinct", (2,)), "xx", False),
            (Demand(0, "distinct", (1,)), "", False),
            (Demand(0, "entropy", (2,)), "xy", True),
            (Demand(0, "entropy", (3,)), "xyzxyz", True),
            (Demand(0, "entropy", (2,)), "xxy", False),
            (Demand(0, "entropy", (1.8,)), "xxy", True),
            (Demand(0, "entropy", (1,)), "", False),
            (Demand(0, "recursive", (2.0, 2)), "xxyx", False),
            (Demand(0, "recursive", (2.0, 2)), "xxxyy", True),
            (Demand(0, "recursive", (2.0, 2)), "xxyy", True),
            (Demand(0, "recursive", (1.0, 2)), "xxyy", False),
            (Demand(0, "recursive", (3.0, 3)), "xxxyyzw", True),
            (Demand(0, "recursive", (3.0, 3)), "xxxyyz", False),
            (Demand(0, "recursive", (1.0, 1)), "", False),
            (Demand(0, "t", (0.25,), {"x": 0.5, "y": 0.5}), "xxxy", True),
            (Demand(0, "t", (0.2,), {"x": 0.5, "y": 0.5}), "xxxy", False),
            (Demand(0, "t", (0.5,), {"x": 0.5, "y": 0.5}), "xz", True),
            (Demand(0, "t", (0.1,), {"x": 0.5, "y": 0.5}), "", True),
            (Demand(0, "t", (0.4,)), "xy", True),
            (Demand(0, "t", (0.39,)), "xy", False),
        ],
    )
    def test_what_holds(self, demand: Demand, shown: str, holds: bool) -> None:
        """Where no distribution is given, 8 of 10 who came had x."""
        assert demand.holds(Counter(shown), Counter("xxxxxxxxyz")) is holds

    def test_entropy(self) -> None:
        assert math.isclose(entropy(Counter("xxy")), math.log(3) - 2 / 3 * math.log(2))
        assert entropy(NOBODY) < 0

    @pytest.mark.parametrize(
        ("demand", "shown", "helpful"),
        [
            (Demand(0, "distinct", (3,)), "xy", "z"),
            (Demand(0, "entropy", (3,)), "xxy", "yz"),
            (Demand(0, "entropy", (3,)), "xy", "z"),
            (Demand(0, "entropy", (2,)), "", "xyz"),
            (Demand(0, "recursive", (1.0, 2)), "xx", "yz"),
            (Demand(0, "recursive", (1.0, 2)), "xxyy", "z"),
            (Demand(0, "recursive", (1.0, 2)), "xxxyy", "yz"),
            (Demand(0, "recursive", (0.5, 3)), "xxyy", "z"),
            (Demand(0, "recursive", (0.5, 3)), "xxyyz", "z"),
            (Demand(0, "t", (0.1,), {"x": 0.5, "y": 0.5}), "xxx", "y"),
            (Demand(0, "t", (0.1,), {"x": 0.5, "z": 0.5}), "xxxy", "z"),
        ],
    )
    def test_what_helps(self, demand: Demand, shown: str, helpful: str) -> None:
        assert "".join(v for v in "xyz" if demand.helps([v], Counter(shown), NOBODY)) == helpful
        assert not demand.helps([None], Counter(shown), NOBODY)

    @pytest.mark.parametrize(
        ("demand", "shown", "cell", "helps"),
        [
            (Demand(0, "distinct", (3,)), "xy", "xxz", True),
            (Demand(0, "distinct", (3,)), "xy", "xxy", False),
            (Demand(0, "entropy", (2,)), "xxy", "xxy", False),
            (Demand(0, "entropy", (2,)), "xxy", "xyy", True),
            (Demand(0, "entropy", (2,)), "xxy", "xxxxy", False),
            (Demand(0, "recursive", (1.0, 2)), "xx", "xxxy", True),
            (Demand(0, "recursive", (1.0, 2)), "xxy", "xxy", False),
            (Demand(0, "recursive", (1.0, 2)), "xxy", "xyy", True),
            (Demand(0, "t", (0.1,), {"x": 0.5, "y": 0.5}), "xxx", "xxy", True),
            (Demand(0, "t", (0.1,), {"x": 0.5, "y": 0.5}), "xxy", "xxxxy", False),
        ],
    )
    def test_which_cell_helps(self, demand: Demand, shown: str, cell: str, helps: bool) -> None:
        assert demand.helps(cell, Counter(shown), NOBODY) is helps

    def test_a_newcomer_is_added_to_all_that_was_shown(self) -> None:
        promises = Promises([Demand(0, "recursive", (2.0, 2))])
        entry = Entry((None,), 0, 0.0, 0, [Counter("xxy")])
        assert [shows for shows in ("x", "y", None) if promises.serve(entry.shown, row(0, shows=shows))] == ["y"]
        assert entry.shown == [Counter("xxy")]

    def test_no_group_serves_with_a_65th_value(self) -> None:
        many = [Counter(range(64))]
        for demand, serves in ((Demand(0, "entropy", (2,)), False), (Demand(0, "distinct", (2,)), True)):
            promises = Promises([demand])
            assert promises.serve(many, row(0, shows="new")) is serves
            assert promises.serve(many, row(0, shows=3))  # type: ignore[arg-type]
            assert promises.are_bounded(many)
            assert promises.are_bounded([Counter(range(65))]) is serves

    def test_those_who_came_are_the_reference(self) -> None:
        promises = Promises([Demand(1, "t", (0.25,))])
        for shows in "xxxy":
            promises.witness(Row(0, 0, 0, (), (None, shows)))
        promises.witness(Row(0, 0, 0, (), ("y", None)))
        assert promises.unmet([NOBODY, Counter("x")]) is None
        assert promises.unmet([NOBODY, Counter("xyy")]) == promises.demands[0]


class TestCompletion:
    def test_the_nearest_cell_that_helps_joins_whole(self) -> None:
        """The cells around 1 and 2 are 4 with 5, and 7 with 9; the second has a y."""
        events = people((1.0, "x"), (2.0, "x"), (4.0, "x"), (9.0, "y"), (5.0, "x"), (7.0, "x"))
        releases = simulate("fads", [TEN], 2, ("count", 6), events, demands=[DISTINCT])
        assert brief(releases)[:4] == [(row, "cluster", 0, (1.0, 9.0)) for row in (0, 1, 3, 5)]
        assert [r.sensitive for r in releases[:4]] == [("x",), ("x",), ("y",), ("x",)]

    def test_a_cell_is_around_its_own_first(self) -> None:
        """Of those left, 4 is the nearest to 1, and 6 is nearer to 4 than 0 is; 0 and 9 are the next cell."""
        made = held([row(i, x) for i, x in enumerate((1.0, 1.0, 4.0, 6.0, -3.0, 9.0, 9.5))])
        assert [[t.number for t in cell] for cell in made.cells(made.buffer[0], made.buffer[:2])] == [[2, 3], [4, 5]]

    def test_a_person_is_in_one_cell(self) -> None:
        rows = [row(0, 1.0), row(1, 1.0), row(2, 5.0), row(3, 6.0), row(4, 7.0)]
        rows += [row(5, 4.0, person=3), row(6, 2.0, person=0)]
        made = held(rows)
        assert [[t.number for t in cell] for cell in made.cells(rows[0], rows[:2])] == [[5, 2]]

    def test_of_equals_the_older_is_nearer(self) -> None:
        rows = [row(0, 5.0), row(1, 5.0), row(2, 7.0), row(3, 3.0), row(4, 3.0), row(5, 7.0)]
        made = held(rows)
        assert [[t.number for t in cell] for cell in made.cells(rows[0], rows[:2])] == [[2, 5], [3, 4]]

    def test_who_cannot_be_completed_is_withheld(self) -> None:
        releases = simulate("fads", [TEN], 2, ("count", 3), people((1.0, "x"), (2.0, None), (3.0, "x")), demands=[DISTINCT])
        assert brief(releases)[:2] == [(i, "cluster", 0, (1.0, 2.0)) for i in range(2)]
        assert [r.sensitive for r in releases[:2]] == [(None,), (None,)]

    def test_too_few_for_a_cell_are_none(self) -> None:
        releases = simulate("fads", [TEN], 2, ("count", 3), people((1.0, "x"), (2.0, "x"), (3.0, "y")), demands=[DISTINCT])
        assert [r.row for r in releases if r.cluster == 0] == [0, 1]
        assert [r.sensitive for r in releases if r.cluster == 0] == [(None,), (None,)]

    def test_only_what_does_not_hold_is_withheld(self) -> None:
        events = [Arrival(i, (float(i),), None, (shows, shown)) for i, (shows, shown) in enumerate(["xx", "xy", "xx"])]
        demands = [DISTINCT, Demand(1, "distinct", (2,))]
        releases = simulate("fads", [TEN], 2, ("count", 3), events, demands=demands)
        assert [r.sensitive for r in releases[:2]] == [(None, "x"), (None, "y")]

    def test_what_is_withheld_serves_nobody(self) -> None:
        events = people((1.0, "x"), (3.0, "x"), (2.0, "x"))
        releases = simulate("fads", [TEN], 2, ("count", 2), events, demands=[DISTINCT])
        assert [(r.row, r.how) for r in releases] == [(0, "cluster"), (1, "cluster"), (2, "suppressed")]

    def test_who_cannot_be_completed_is_covered(self) -> None:
        events = people((1.0, "x"), (3.0, "y"), (2.0, "x"), (2.5, "x"))
        releases = simulate("fads", [TEN], 2, ("count", 2), events, demands=[DISTINCT])
        assert brief(releases)[2:] == [(2, "reuse", 0, (1.0, 3.0)), (3, "reuse", 0, (1.0, 3.0))]

    def test_under_extended_those_who_lack_nothing_come_first(self) -> None:
        values = [(1.0, 1.0), (1.0, 1.0), (1.0, None), (1.0, None), (5.0, 5.0), (5.0, 5.0)]
        events = [Arrival(i, each, None, (shows,)) for i, (each, shows) in enumerate(zip(values, "xxxyxy", strict=True))]
        joins = {match: [r.row for r in simulate("fads", [TEN, TEN], 2, ("count", 6), events, demands=[DISTINCT], match=match)]
                 for match in ("extended", "root", "blurred")}  # fmt: skip
        assert {match: rows[:4] for match, rows in joins.items()} == {
            "extended": [0, 1, 4, 5], "root": [0, 1, 2, 3], "blurred": [0, 1, 2, 3],
        }  # fmt: skip

    def test_xband_compares_groups_that_hold(self) -> None:
        events = people((1.0, "x"), (1.0, "x"), (4.0, "x"), (5.0, "y"))
        releases = simulate("xband", [TEN], 2, ("count", 4), events, band=2, demands=[DISTINCT])
        assert [r.row for r in releases if (r.how, r.cluster) == ("cluster", 0)] == [0, 1, 2, 3]

    def test_xband_withholds_the_best_where_none_holds(self) -> None:
        events = people((1.0, "x"), (4.0, "x"), (4.5, "x"), (9.0, "x"))
        releases = simulate("xband", [TEN], 2, ("count", 4), events, band=2, demands=[DISTINCT])
        assert [(r.row, r.cluster, r.sensitive) for r in releases[:2]] == [(1, 0, (None,)), (2, 0, (None,))]

    def test_castle_leaves_what_is_too_small_behind(self) -> None:
        """Of five tuples, two are split off, and two more join them; one is left and leaves alone in the end."""
        events = people((1.0, "x"), (1.0, "x"), (1.0, "x"), (1.0, "y"), (1.0, "x"))
        releases = simulate("castle", [TEN], 2, ("count", 5), events, clusters=1, demands=[DISTINCT], reuse_limit=0)
        assert brief(releases) == [(i, "cluster", 0, (1.0, 1.0)) for i in range(4)] + [(4, "suppressed", None, (0.0, 10.0))]

    def test_castle_goes_on_where_a_group_is_withheld(self) -> None:
        events = people((1.0, "x"), (1.0, "x"), (2.0, "x"), (2.0, "x"), (9.0, "x"))
        releases = simulate("castle", [TEN], 2, ("count", 5), events, clusters=1, demands=[DISTINCT], reuse_limit=0)
        assert [(r.row, r.cluster, r.sensitive) for r in releases] == [
            *((i, 0, (None,)) for i in range(2)), *((i, 1, (None,)) for i in range(2, 5)),
        ]  # fmt: skip


class TestTide:
    def tide(self, *rows: Row, match: str = "maybe") -> Tide:
        made = Tide([TEN], 2, ("count", 20), demands=[DISTINCT], match=match)
        for t in rows:
            made.insert(t)
            made.promises.witness(t)
        return made

    def groups(self, *shows: str) -> list[list[Row]]:
        """Groups of two, each a little farther from the first."""
        numbers = iter(range(99))
        return [[row(next(numbers), float(place), shows=one) for one in each] for place, each in enumerate(shows)]

    def completed(self, groups: list[list[Row]]) -> list[list[int]]:
        made = self.tide(*(t for group in groups for t in group))
        made.complete(groups)
        return [[t.number for t in group] for group in groups]

    def test_the_nearest_group_that_helps_joins_whole(self) -> None:
        assert self.completed(self.groups("xx", "xx", "xy", "xy")) == [[0, 1, 2, 3, 4, 5], [6, 7]]

    def test_a_group_made_of_four_is_no_cell(self) -> None:
        assert self.completed(self.groups("xx", "xx", "xx", "xy", "xx")) == [[0, 1, 2, 3, 4, 5, 6, 7], [8, 9]]

    def test_a_group_that_fails_stays_and_leaves_withheld(self) -> None:
        groups = self.groups("xx", "xx")
        assert self.completed(groups) == [[0, 1], [2, 3]]
        made = self.tide(*groups[0])
        made.keep(made.publish_cluster(groups[0]))
        assert [r.sensitive for r in made.releases] == [(None,), (None,)] and made.reuse.entries == []

    def test_where_a_group_fails_the_others_return(self) -> None:
        groups = self.groups("xx", "xy")
        made = self.tide(*groups[0], *groups[1])
        made.promises.demands.append(Demand(0, "distinct", (3,)))
        made.complete(groups)
        assert [len(group) for group in groups] == [2, 2]

    @pytest.mark.parametrize(("match", "joined"), [("maybe", 0), ("extended", 1)])
    def test_who_finds_its_cover_broken_joins_the_group_of_the_nearest(self, match: str, joined: int) -> None:
        """Without a value all are at distance 1, and the oldest wins; with one, 0.8 is nearer than to have none."""
        a = [row(0, None, shows="x"), row(1, None, shows="y")]
        b = [row(2, 9.0, shows="y"), row(3, 9.0, shows="x")]
        alone = row(4, None if match == "maybe" else 1.0, shows="x")
        made, groups = self.tide(*a, *b, alone, match=match), [list(a), list(b)]
        made.covers[alone] = Entry((None,), 0, 0.0, 0, [Counter("x")])
        made.leave_alone(alone, groups)
        assert made.releases == [] and alone in groups[joined]

    def test_another_cover_serves_where_the_first_is_broken(self) -> None:
        alone = row(0, 1.0, shows="x")
        made = self.tide(alone)
        made.now = 1
        made.covers[alone] = Entry(((1.0, 1.0),), 0, 0.0, 0, [Counter("x")])
        made.reuse.add(Entry(((0.0, 5.0),), 1, 0.5, 0, [Counter("y")]))
        made.leave_alone(alone, [])
        assert [(r.how, r.cluster) for r in made.releases] == [("reuse", 1)]
        assert made.reuse.entries[0].shown == [Counter("xy")]

    def test_units_follow_the_weights(self) -> None:
        units = Units([TEN, FLAT], Reading(weights=(3.0, 1.0)))
        assert units.units == [65536, 21845]
        group = [row(0, 0.0, "a"), row(1, 5.0, "b")]
        assert units.box(group) == [32768, 21845]
        assert units.cost(group) == 2 * 3072 * (32768 + 21845)
        assert units.cost([row(0, None, "a"), row(1, None, "b")]) == 2 * 12288 * 21845

    def test_what_a_member_lacks_is_lost_to_those_who_have_it(self) -> None:
        group = [row(0, 0.0, "a"), row(1, 5.0, None)]
        assert Units([TEN, FLAT], EXTENDED).box(group) == [32768, 65536]
        assert Units([TEN, FLAT], EXTENDED).cost(group) == 2048 * (32768 + 65536) + 4096 * 32768
        assert Units([TEN, FLAT], AS_ROOT).cost(group) == Units([TEN, FLAT], EXTENDED).cost(group)
        assert Units([TEN], EXTENDED).cost([row(0, None), row(1, None)]) == 0

    def test_a_cover_costs_what_it_blanks(self) -> None:
        cover = Entry(((0.0, 2.5), None), 0, 0.0, 0)
        assert Units([TEN, FLAT], EXTENDED).cover(row(0, 1.0, "c"), cover) == 2048 * (16384 + 65536)


class TestStretch:
    def test_who_is_alone_waits(self) -> None:
        events = [Arrival(0, (1.0,), 0.0), Tick(10.0), Tick(19.0), Arrival(1, (2.0,), 19.5), Tick(19.7)]
        releases = simulate("fads", [TEN], 2, ("time", 10.0), events, stretch=2)
        assert [(r.row, r.how, r.released) for r in releases] == [(0, "cluster", 19.5), (1, "cluster", 19.5)]

    def test_but_not_for_ever(self) -> None:
        events = [Arrival(0, (1.0,), 0.0), Tick(19.0), Tick(20.0), Arrival(1, (2.0,), 21.0)]
        releases = simulate("fads", [TEN], 2, ("time", 10.0), events, stretch=2)
        assert [(r.row, r.how, r.released) for r in releases] == [(0, "suppressed", 20.0), (1, "suppressed", 21.0)]

    def test_a_younger_one_who_is_due_and_covered_leaves(self) -> None:
        first, far, near = (Arrival(0, (1.0,), 0.0), Arrival(1, (2.0,), 0.0)), Arrival(2, (9.0,), 5.0), Arrival(2, (1.5,), 9.5)
        events = [*first, Tick(4.0), far, near, Tick(14.0)]
        releases = simulate("fads", [TEN], 2, ("time", 4.0), events, stretch=4, reuse_age=99.0)
        assert [(r.row, r.how, r.released) for r in releases[2:]] == [(3, "reuse", 14.0), (2, "suppressed", 14.0)]

    def test_under_buffer_more_are_held(self) -> None:
        events = [Arrival(0, (float(i),)) for i in range(9)]
        releases = simulate("fads", [TEN], 2, ("buffer", 2), events, stretch=3)
        assert [(r.row, r.released) for r in releases] == [(0, 5), (1, 6), (2, 7), (3, 8), *((i, 8) for i in range(4, 9))]

    def test_fast_hands_a_round_back(self) -> None:
        events = [Arrival(0, (1.0,)), Arrival(0, (1.0,)), Arrival(0, (1.0,)), Arrival(1, (2.0,))]
        releases = simulate("fast", [TEN], 2, ("count", 9), events, round=2, stretch=2)
        assert [(r.row, r.how, r.released) for r in releases[:2]] == [(0, "cluster", 3), (3, "cluster", 3)]
        plain = simulate("fast", [TEN], 2, ("count", 9), events, round=2)
        assert [(r.row, r.how, r.released) for r in plain[:1]] == [(0, "suppressed", 1)]

    def test_fast_suppresses_those_who_waited_too_long(self) -> None:
        events = [Arrival(0, (1.0,)) for _ in range(9)]
        releases = simulate("fast", [TEN], 2, ("count", 2), events, round=2, stretch=3)
        assert [(r.row, r.how, r.released) for r in releases[:2]] == [(0, "suppressed", 3), (1, "suppressed", 4)]
