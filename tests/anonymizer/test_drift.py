"""Fields that come and go."""

from __future__ import annotations

import pyarrow as pa

from shoal import Anonymizer, Policy
from shoal.anonymizer import Drift
from shoal.anonymizer.stats import MOST

POLICY = Policy.parse("""
person: pid
attributes: {who.age: {quasi: numeric, range: [0, 100]}, note: {publish: keep}}
privacy: {k: 1}
window: {count: 2}
algorithm: {name: fads}
""")


def record(number: int, **more: object) -> dict[str, object]:
    return {"pid": number, "who": {"age": number}, "note": "x", "unlisted": 1, **more}


def test_no_drift_without_a_change() -> None:
    made = Anonymizer(POLICY)
    for number in range(3):
        made.push(record(number))
    assert made.stats.drift == Drift() and not made.stats.drift


def test_new_fields_are_counted_and_not_named() -> None:
    made = Anonymizer(POLICY)
    for number in range(4):
        made.push(record(number, **({"secret": 1, "other": 2} if number > 1 else {})))
    assert made.stats.drift == Drift(new=2)
    assert "secret" not in repr(made.stats)


def test_names_without_end_are_not_kept() -> None:
    made = Anonymizer(POLICY)
    made.push(record(0))
    made.push(record(1, **{f"f{i}": i for i in range(MOST + 50)}))
    assert made.stats.drift.new == MOST


def test_a_field_that_vanishes_is_missing_and_counted() -> None:
    made = Anonymizer(POLICY)
    made.push(record(1))
    made.push({"pid": 2, "who": {}, "note": None})
    made.push({"pid": 3, "note": "y"})
    assert made.stats.drift == Drift(absent={"who.age": 2})
    assert made.stats.rejected == 0


def test_batches_and_snapshots() -> None:
    made = Anonymizer(POLICY)
    made.push_batch(pa.RecordBatch.from_pylist([record(1), record(2)]))
    other = Anonymizer(POLICY)
    other.restore(made.snapshot())
    for each in (made, other):
        each.push_batch(pa.RecordBatch.from_pylist([{"pid": 3, "who": {"age": 3}, "fresh": 1}]))
        assert each.stats.drift == Drift(new=1, absent={"note": 1})
