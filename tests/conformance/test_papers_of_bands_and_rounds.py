"""The worked examples of X-BAND (tables I and II) and FAST (tables 1 and 2), as streams through the engine."""

from __future__ import annotations

from tests.conformance.test_papers import GENDER, anonymizer, categorical, numeric, publish

UNIVERSITY = {
    "age": numeric(15, 95),
    "person": categorical(
        {"Person-University": {"Student": ["Bachelor", "Master", "PhD"], "Staff": ["Academic", "Non-Academic"]}}
    ),
}


def test_xband_tables_1_and_2() -> None:
    attributes = {
        "age": numeric(8, 100), "gender": categorical(GENDER), "height": numeric(120, 200), "weight": numeric(30, 120),
    }  # fmt: skip
    engine = anonymizer(attributes, 3, {"count": 3}, name="xband", band=1)
    shown, trace = publish(engine, (30, "Male", 172, 75), (26, "Male", 165, None), (None, "Female", 171, 69))
    assert shown == [
        [[26, 30], "Gender", [165, 172], [69, 75]],
        [[26, 30], "Gender", [165, 172], None],
        [None, "Gender", [165, 172], [69, 75]],
    ]
    assert trace == [(1, "cluster", 0), (2, "cluster", 0), (3, "cluster", 0)]


def test_fast_table_2_first_round() -> None:
    """Section 4.2: the third tuple would come too late for another round, so it is suppressed at once."""
    engine = anonymizer(UNIVERSITY, 2, {"count": 4}, name="fast", round=3)
    shown, trace = publish(engine, (22, "Bachelor"), (24, "Master"), (37, "Non-Academic"))
    assert shown == [[[22, 24], "Student"], [[22, 24], "Student"], [[15, 95], "Person-University"]]
    assert trace == [(1, "cluster", 0), (2, "cluster", 0), (3, "suppressed", None)]


def test_fast_table_2_later_round() -> None:
    """Section 4.1: a reused cluster is better than ([26-45], Staff), and the two others wait for the next round."""
    engine = anonymizer(UNIVERSITY, 2, {"count": 100}, name="fast", round=3, reuse_age=100)
    before = (22, "Bachelor"), (24, "Master"), (44, "Academic"), (46, "Non-Academic"), (23, "Bachelor")
    shown = [record for age, person in before for record in engine.push({"age": age, "person": person})]
    assert [list(record.values()) for record in shown] == [[[22, 24], "Student"]] * 2 + [[[44, 46], "Staff"]] * 2
    for age, person in ((45, "Academic"), (26, "Non-Academic")):
        shown += engine.push({"age": age, "person": person})
    assert list(shown[-1].values()) == [[22, 24], "Student"]
    (last,) = engine.push({"age": 39, "person": "PhD"})
    assert last == {"age": [44, 46], "person": "Staff"}
    assert engine.trace.to_pylist() == [{"row": 5, "how": "reuse", "cluster": 1, "arrived": 5, "released": 7}]
    assert engine.stats.held == 2
