"""Nulls under `blurred`, on examples that were computed by hand."""

from __future__ import annotations

import math

import pytest

from naive import Arrival, Categorical, Doubtful, simulate
from naive.castle import Castle
from naive.fads import Fads
from naive.iot import Iot
from naive.samples import TEN, people, row
from naive.tide import Partition, Units
from shoal.conformance.naive.common import Entry, cluster_loss, covers, generalize, loss
from shoal.conformance.naive.measures import ROOT, Reading, wear

FLAT = Categorical({leaf: (leaf, "any") for leaf in "abc"})
ONE = Categorical({"a": ("a", "any")})
BLURRED = Reading("blurred", min_support=2)
ANY_NUMBER = Doubtful((0.0, 10.0))


class TestWhatAGroupShows:
    """All have the first, two persons the second, nobody the third, one person the last."""

    ATTRIBUTES = (TEN, TEN, TEN, FLAT)
    MIXED = (row(0, 1.0, 2.0, None, "a"), row(1, 3.0, None, None, None), row(2, 2.0, 7.0, None, None))
    SHOWN = ((1.0, 3.0), Doubtful((2.0, 7.0)), None, Doubtful(ROOT))

    def test_what_some_lack_is_in_doubt(self) -> None:
        assert generalize(self.ATTRIBUTES, self.MIXED, BLURRED) == self.SHOWN

    def test_all_members_show_the_same(self) -> None:
        worn = ((1.0, 3.0), Doubtful((2.0, 7.0)), None, Doubtful("any"))
        assert [wear(self.ATTRIBUTES, self.SHOWN, t, BLURRED) for t in self.MIXED] == [worn] * 3

    def test_only_those_that_have_a_value_lose(self) -> None:
        assert [loss(self.ATTRIBUTES, t, self.SHOWN, BLURRED) for t in self.MIXED] == [(0.2 + 0.5 + 1) / 3, 0.2, 0.35]
        assert cluster_loss(self.ATTRIBUTES, self.MIXED, BLURRED) == ((0.2 + 0.5 + 1) / 3 + 0.2 + 0.35) / 3

    def test_the_root_costs_all_even_where_there_is_only_one_value(self) -> None:
        assert loss([ONE], row(0, "a"), (Doubtful(ROOT),), BLURRED) == 1.0
        assert loss([ONE], row(0, "a"), (Doubtful("any"),), BLURRED) == 0.0

    def test_support_counts_persons_and_doubt_counts_tuples(self) -> None:
        assert generalize([TEN], [row(0, 1.0), row(1, 2.0, person=0), row(2, None)], BLURRED) == (Doubtful(ROOT),)
        assert generalize([TEN], [row(0, 1.0), row(1, 2.0), row(2, None, person=0)], BLURRED) == (Doubtful((1.0, 2.0)),)

    @pytest.mark.parametrize(("k", "match", "given", "support"), [
        (1, "blurred", None, 1), (2, "blurred", None, 2), (9, "blurred", None, 2), (9, "blurred", 1, 1), (9, "blurred", 3, 3),
        (9, "maybe", None, 1), (9, "maybe", 3, 3), (9, "extended", None, 1), (9, "root", None, 1),
    ])  # fmt: skip
    def test_support_is_2_unless_given(self, k: int, match: str, given: int | None, support: int) -> None:
        assert Fads([TEN], k, ("count", 9), match=match, min_support=given).reading.min_support == support


class TestCovers:
    @pytest.mark.parametrize(
        ("values", "covered"),
        [
            ((2.0, None, None), True), ((2.0, 5.0, None), True), ((1.0, 7.0, None), True),
            ((None, None, None), False), ((None, 5.0, None), False),
            ((2.0, None, 5.0), False), ((2.0, 5.0, 5.0), False),
            ((4.0, 5.0, None), False), ((2.0, 9.0, None), False),
        ],
    )  # fmt: skip
    def test_a_cover_has_what_all_members_have_and_nothing_that_none_has(self, values: tuple, covered: bool) -> None:
        assert covers([TEN] * 3, ((1.0, 3.0), Doubtful((2.0, 7.0)), None), row(9, *values), BLURRED) is covered

    def test_a_root_contains_every_value(self) -> None:
        for value in (0.0, 10.0, None):
            assert covers([TEN], (Doubtful(ROOT),), row(9, value), BLURRED)

    def test_reuse_shows_what_the_group_shows(self) -> None:
        """Of the first two only one has the second value; the fourth lacks the first, the last is outside."""
        events = people((1.0, 2.0), (3.0, None), (2.0, None), (None, 2.0), (1.5, 9.0), (4.0, None))
        events = [events[0], events[1], *(Arrival(2, event.values) for event in events[2:])]
        releases = simulate("fads", [TEN, TEN], 2, ("count", 2), events, reuse_age=99, match="blurred")
        shown = ((1.0, 3.0), ANY_NUMBER)
        roots = ((0.0, 10.0), (0.0, 10.0))
        assert [(r.row, r.how, r.generalization) for r in releases] == [
            (0, "cluster", shown), (1, "cluster", shown), (2, "reuse", shown), (3, "suppressed", roots),
            (4, "reuse", shown), (5, "suppressed", roots),
        ]  # fmt: skip


class TestAlgorithms:
    def test_iot_does_not_impute(self) -> None:
        events = people((1.0, None), (2.0, 3.0), (3.0, 4.0), (1.5, None), (1.5, None), (1.5, 3.5))
        releases = simulate("iot", [TEN, TEN], 3, ("count", 3), events, reuse_age=99, match="blurred")
        assert [(r.row, r.how, r.generalization) for r in releases[:3]] == [
            (i, "cluster", ((1.0, 3.0), Doubtful((3.0, 4.0)))) for i in range(3)
        ]
        assert [(r.row, r.how) for r in releases[3:]] == [(3, "cluster"), (4, "cluster"), (5, "cluster")]

    def test_the_pattern_of_a_group_is_what_any_member_has(self) -> None:
        entry = Entry(((1.0, 2.0), Doubtful((1.0, 2.0)), None), 0, 0.0, 0)
        iot = Iot([TEN] * 3, 2, ("count", 2), match="blurred")
        assert [iot.serves(entry, row(0, *values)) for values in ((1.0, 1.0, None), (1.0, None, None))] == [True, False]

    def test_castle_does_not_foresee_the_support(self) -> None:
        castle = Castle([TEN, TEN], 2, ("count", 2), match="blurred")
        cluster = [row(0, 1.0, 5.0), row(1, 1.0, None)]
        assert (castle.foreseen(cluster), castle.cluster_loss(cluster)) == (0.0, 0.25)

    @pytest.mark.parametrize("name", ["fads", "iot", "kvarp", "idea", "xband", "castle", "fast", "tide"])
    def test_two_persons_of_different_patterns(self, name: str) -> None:
        releases = simulate(
            name, [TEN, TEN, FLAT], 2, ("count", 2), people((1.0, 2.0, None), (3.0, None, None)), match="blurred"
        )
        assert [(r.how, r.generalization) for r in releases] == [("cluster", ((1.0, 3.0), ANY_NUMBER, None))] * 2


class TestTide:
    UNITS = Units([TEN, FLAT], BLURRED)

    def test_the_doubt_costs_each_member(self) -> None:
        doubt = 2048 * 2048
        assert self.UNITS.cost([row(0, 0.0, "a"), row(1, 5.0, None)]) == 2048 * 32768 + 4096 * 32768 + 2 * doubt
        assert self.UNITS.cost([row(0, 1.0, None), row(1, None, "a"), row(2, None, None)]) == 3 * 2 * doubt
        assert self.UNITS.cost([row(0, 1.0, "a"), row(1, 1.0, "a")]) == 0
        assert self.UNITS.cost([row(0, None, None), row(1, None, None)]) == 0

    def test_the_doubt_follows_the_weights(self) -> None:
        units = Units([TEN, FLAT], Reading("blurred", min_support=2, weights=(3.0, 1.0)))
        assert units.cost([row(0, 1.0, "a"), row(1, None, "a")]) == 2 * 3072 * 2048
        assert units.cost([row(0, 1.0, "a"), row(1, 1.0, None)]) == 2 * 3072 * 683

    def test_a_cover_costs_its_doubt_whatever_the_tuple_has(self) -> None:
        doubt = 2048 * 2048
        for root in ("any", ROOT):
            cover = Entry(((0.0, 2.5), Doubtful(root)), 0, 0.0, 0)
            assert self.UNITS.cover(row(0, 1.0, "c"), cover) == 2048 * (16384 + 65536) + doubt
            assert self.UNITS.cover(row(0, 1.0, None), cover) == 4096 * 16384 + doubt
        assert self.UNITS.cover(row(0, None, None), Entry((Doubtful((0.0, 5.0)), Doubtful("a")), 0, 0.0, 0)) == 2 * doubt

    def test_in_a_shortlist_only_new_doubt_counts(self) -> None:
        have, lack = row(0, 1.0, "a"), row(1, 1.0, None)
        assert self.UNITS.coarse == 4  # two quasi-identifiers of 65,536 units and 2,048 of doubt
        assert self.UNITS.key([have], row(2, 6.0, None)) == (32768 + 2048) // 4
        assert self.UNITS.key([lack], row(2, 6.0, "a")) == (32768 + 2048) // 4
        assert self.UNITS.key([have], row(2, 6.0, "a")) == self.UNITS.key([lack], row(2, 6.0, None)) == 32768 // 4
        assert self.UNITS.key([have, lack], row(2, 1.0, "a")) == self.UNITS.key([have, lack], row(2, 1.0, None)) == 0
        assert Units([TEN, FLAT]).key([have], lack) == 0

    def test_the_shortlist_leaves_out_those_that_bring_doubt(self) -> None:
        """There is room for four; the oldest lacks what the candidate has."""
        rows = [row(0, 1.0, "a"), row(1, 1.0, None), *(row(i, 1.1, "a") for i in range(2, 6))]
        for reading, listed in ((BLURRED, [2, 3, 4, 5]), (Reading(), [1, 2, 3, 4])):
            made = Partition(Units([TEN, FLAT], reading), 2, rows, dict.fromkeys(rows, math.inf))
            assert [t.number for t in made.shortlist(rows[:1])] == listed

    def test_equal_patterns_go_together_where_the_boxes_cost_the_same(self) -> None:
        events = people((1.0, "a"), (1.0, None), (1.0, "a"), (1.0, None))
        groups = {match: [r.row for r in simulate("tide", [TEN, FLAT], 2, ("count", 4), events, match=match)]
                  for match in ("maybe", "blurred")}  # fmt: skip
        assert groups == {"maybe": [0, 1, 2, 3], "blurred": [0, 2, 1, 3]}

    def test_a_tight_box_is_worth_the_doubt(self) -> None:
        events = people((1.0, "a"), (1.0, None), (9.0, "a"), (9.0, None))
        releases = simulate("tide", [TEN, FLAT], 2, ("count", 4), events, match="blurred")
        assert [(r.row, r.generalization) for r in releases] == [
            (0, ((1.0, 1.0), Doubtful("any"))), (1, ((1.0, 1.0), Doubtful("any"))),
            (2, ((9.0, 9.0), Doubtful("any"))), (3, ((9.0, 9.0), Doubtful("any"))),
        ]  # fmt: skip
