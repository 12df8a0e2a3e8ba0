"""The papers' worked examples, as streams through the engine. Where a paper misprints, the definitions decide."""

from __future__ import annotations

import math
from typing import Any

from shoal import Anonymizer, Policy

GENDER = {"Gender": ["Male", "Female"]}
EDUCATION_7 = {
    "Education": {"School": ["Primary", "Middle", "High", "Vocational"], "University": ["Bachelor", "Master", "Ph.D"]}
}
EDUCATION_5 = {"Education": {"Secondary": ["Mid-school", "High-school"], "University": ["Bachelor", "Master", "Ph.D"]}}


def numeric(low: float, high: float) -> dict[str, Any]:
    return {"quasi": "numeric", "range": [low, high]}


def categorical(tree: dict[str, Any]) -> dict[str, Any]:
    return {"quasi": "categorical", "hierarchy": tree}


def anonymizer(attributes: dict[str, Any], k: int, window: dict[str, int], **algorithm: Any) -> Anonymizer:
    return Anonymizer(Policy.parse({
        "person": "none", "attributes": attributes, "privacy": {"k": k, "nulls_match": "maybe"}, "window": window,
        "algorithm": algorithm,
    }))  # fmt: skip


def publish(engine: Anonymizer, *tuples: tuple[Any, ...]) -> tuple[list[list[Any]], list[tuple[Any, ...]]]:
    """What is published, and (row from 1, outcome, group), both in order of release."""
    names = list(engine.policy.attributes)
    records, trace = [], []
    for values in tuples:
        records += engine.push(dict(zip(names, values, strict=True)))
        trace += engine.trace.to_pylist()
    records += engine.to_records(engine.flush())
    trace += engine.trace.to_pylist()
    return [list(r.values()) for r in records], [(t["row"] + 1, t["how"], t["cluster"]) for t in trace]


def test_kvarp_table_1() -> None:
    """The loss is (0.04 + 1 + 2/6) / 3; the paper counts leaves without taking one away, and prints 0.489."""
    attributes = {"age": numeric(0, 100), "gender": categorical(GENDER), "education": categorical(EDUCATION_7)}
    engine = anonymizer(attributes, 2, {"count": 2}, name="kvarp")
    shown, _ = publish(engine, (20, "Male", "Bachelor"), (24, "Female", "Master"))
    assert shown == [[[20, 24], "Gender", "University"]] * 2
    assert engine.stats.loss == (0.04 + 1.0 + 2 / 6) / 3


def test_kvarp_table_2() -> None:
    """The distance is (4/92 + 1 + 2/6) / 3, where the paper prints 0.49: exactly at that radius t2 is alike to t1.

    Another tuple, older than t2 and far away, shares as many attributes with t1; tuples that are alike are merged.
    """
    attributes = {
        "age": numeric(8, 100), "gender": categorical(GENDER), "education": categorical(EDUCATION_7),
        "height": numeric(120, 200), "weight": numeric(30, 120),
    }  # fmt: skip
    t1, t2 = (24, "Male", "Ph.D", None, 85), (20, "Female", "Bachelor", 162, None)
    other = (100, "Female", None, 180, 30)
    distance = (4 / 92 + 1.0 + 2 / 6) / 3
    engine = anonymizer(attributes, 2, {"count": 3}, name="kvarp", radius=distance)
    shown, trace = publish(engine, t1, other, t2)
    assert shown[:2] == [
        [[20, 24], "Gender", "University", None, [85, 85]],
        [[20, 24], "Gender", "University", [162, 162], None],
    ]
    assert trace == [(1, "cluster", 0), (3, "cluster", 0), (2, "suppressed", None)]
    engine = anonymizer(attributes, 2, {"count": 3}, name="kvarp", radius=math.nextafter(distance, 0))
    assert publish(engine, t1, other, t2)[1] == [(1, "cluster", 0), (2, "cluster", 0), (3, "suppressed", None)]


TABLE_3 = {
    "age": numeric(8, 100), "gender": categorical(GENDER), "height": numeric(120, 200), "weight": numeric(30, 120),
}  # fmt: skip


def test_kvarp_tables_3_and_4() -> None:
    """IoT Anonymization imputes; each value comes with its counts, also where the paper leaves out a full one."""
    engine = anonymizer(TABLE_3, 3, {"count": 3}, name="iot")
    shown, _ = publish(engine, (18, "Male", 168, 80), (20, "Male", 175, None), (19, None, 170, 74))
    had = (([18, 20], 3), ("Male", 2), ([168, 175], 3), ([74, 80], 2))
    assert shown == [[{"value": value, "of": 3, "had": count} for value, count in had]] * 3


def test_kvarp_tables_3_and_5() -> None:
    """K-VARP leaves the nulls as they are."""
    engine = anonymizer(TABLE_3, 3, {"count": 3}, name="kvarp")
    shown, trace = publish(engine, (18, "Male", 168, 80), (20, "Male", 175, None), (19, None, 170, 74))
    assert shown == [
        [[18, 20], "Male", [168, 175], [74, 80]],
        [[18, 20], "Male", [168, 175], None],
        [[18, 20], None, [168, 175], [74, 80]],
    ]
    assert trace == [(1, "cluster", 0), (2, "cluster", 0), (3, "cluster", 0)]


def test_kvarp_section_4_2_a_merged_cluster_is_reused_by_tuples_with_other_attributes() -> None:
    engine = anonymizer(TABLE_3, 3, {"count": 3}, name="kvarp", reuse_age=100)
    table_3 = ((18, "Male", 168, 80), (20, "Male", 175, None), (19, None, 170, 74))
    covered, uncovered = (19, "Male", None, 75), (19, "Female", None, 75)
    shown, trace = publish(engine, *table_3, covered, uncovered)
    assert trace[3:] == [(4, "reuse", 0), (5, "suppressed", None)]
    assert shown[3:] == [[[18, 20], "Male", None, [74, 80]], [[8, 100], "Gender", [120, 200], [30, 120]]]


IDEA = {
    "q1": numeric(0, 100), "q2": numeric(0, 100), "q3": categorical(GENDER), "q4": categorical(EDUCATION_5),
}  # fmt: skip
FIG_2 = (
    (None, None, "Male", "Mid-school"),
    (30, 40, "Male", "Bachelor"),
    (None, None, "Female", "High-school"),
    (None, None, "Male", "High-school"),
    (None, None, "Female", "Bachelor"),
    (80, 10, None, "Mid-school"),
    (31, 40, None, "Bachelor"),
    (35, 40, "Male", "Bachelor"),
)


def test_idea_examples_1_to_3() -> None:
    """Three partitions; t1 leaves inside its own with t3 and t4, t2 across two with t7 and t8."""
    shown, trace = publish(anonymizer(IDEA, 3, {"buffer": 8}, name="idea"), *FIG_2)
    assert trace == [
        (1, "cluster", 0), (3, "cluster", 0), (4, "cluster", 0),
        (2, "cluster", 1), (7, "cluster", 1), (8, "cluster", 1),
        (5, "suppressed", None), (6, "suppressed", None),
    ]  # fmt: skip
    assert shown[:6] == [
        [None, None, "Gender", "Secondary"],
        [None, None, "Gender", "Secondary"],
        [None, None, "Gender", "Secondary"],
        [[30, 35], [40, 40], "Male", "Bachelor"],
        [[30, 35], [40, 40], None, "Bachelor"],
        [[30, 35], [40, 40], "Male", "Bachelor"],
    ]
    assert shown[6:] == [[[0, 100], [0, 100], "Gender", "Education"]] * 2


def test_idea_example_3_distance() -> None:
    """t1 and t3 are 1 and 1/4 apart, not 2/2 and 2/5 as the paper prints: tuples at the same distance tie; the older wins."""
    attributes = {"q3": categorical(GENDER), "q4": categorical(EDUCATION_5), "q5": numeric(0, 16)}
    t1, t3 = ("Male", "Mid-school", 0), ("Female", "High-school", 0)
    for apart, chosen in ((3.99, 2), (4, 2), (4.01, 3)):
        other = ("Female", "Mid-school", apart)
        _, trace = publish(anonymizer(attributes, 2, {"count": 3}, name="idea"), t1, other, t3)
        assert trace[1] == (chosen, "cluster", 0)
