"""The papers' own examples, and where their figures are not what their formulas give."""

from __future__ import annotations

from naive import Numeric, simulate
from naive.samples import EDUCATION_5, EDUCATION_7, GENDER, people, row
from shoal.conformance.naive.common import Attribute, distance, jaccard, loss, partitions, valid


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
