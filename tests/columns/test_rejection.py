"""Rejections: the first reason stands, rows are those of the input, and no value is ever told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from shoal import Anonymizer
from tests.columns.encoding import cities, encode, policy, refusals

TIMED = {"time": {"field": "ts"}, "window": {"time": 60}}
UNKNOWN = "'city': not in its hierarchy (value withheld); add it there or set unknown: root"
REASONS = {
    "pid": "'pid': the person is missing; give one or set person_missing: own",
    "ts": "'ts': not a time (value withheld); give seconds or ISO 8601",
    "age": "'age': not a number (value withheld); is it text? (quasi: categorical)",
    "city": UNKNOWN,
}


def test_unknown_categories() -> None:
    column = ["a", "letters", "any", "zz", None, "A"]
    cause = UNKNOWN.replace("; add", "; is it written with other capital letters there?; add")
    assert refusals({"city": column}) == [*(f"row {row}, {UNKNOWN}" for row in (2, 3, 4)), f"row 6, {cause}"]
    assert cities(column, city={"unknown": "root"}) == ["a", "any", "any", "any", None, "any"]
    assert cities([1, 7], city={"unknown": "root"}) == ["1", "any"]


@pytest.mark.parametrize("value", [7, 2.0, False, b"\xff", [1], {"a": 1}])
def test_unknown_categories_of_any_type(value: Any) -> None:
    assert refusals({"city": [value]}) == [f"row 1, {UNKNOWN}"]


def test_bytes_without_text_are_rejected_also_where_the_unknown_are_not() -> None:
    assert refusals({"city": [b"\xff", b"zz"]}, city={"unknown": "root"}) == [f"row 1, {UNKNOWN}"]


def test_the_first_reason_stands() -> None:
    """Person, then time, then the quasi-identifiers in order."""
    wrong = {"pid": None, "ts": "soon", "age": "old", "city": "zz"}
    right = {"pid": "x", "ts": "1", "age": "1", "city": "a"}
    order = list(wrong)
    for first in range(len(order)):
        record = {name: (right if i < first else wrong)[name] for i, name in enumerate(order)}
        told = refusals({name: [value] for name, value in record.items()}, **TIMED)
        assert told == [f"row 1, {REASONS[order[first]]}"]
    assert refusals({name: [value] for name, value in right.items()}, **TIMED) == []


def test_rejections_come_in_order_of_rows_and_only_the_accepted_go_in() -> None:
    columns = {"age": ["1", "200", "3", "x", "5"], "city": ["a", "b", "zz", None, "1"], "note": list("vwxyz")}
    found = encode(columns)
    assert [rejection.row for rejection in found.rejected] == [1, 2, 3]
    assert found.rows.tolist() == [0, 4]
    assert found.values.tolist() == [[1, 5], [0, 3]]
    assert found.kept.to_pydict() == {"note": ["v", "z"]}
    assert len(found.pattern) == len(found.person) == len(found.time) == 2


def test_rows_count_rejected_rows_across_batches() -> None:
    made = Anonymizer(policy())
    made.push_batch(pa.RecordBatch.from_pydict({"pid": [1, None, 3], "age": [1, 2, 300]}))
    assert [rejection.row for rejection in made.rejected] == [1, 2]
    made.push({"pid": 4, "age": -1})
    assert [rejection.row for rejection in made.rejected] == [3]
    made.push({"pid": 5, "age": 1})
    assert made.rejected == []
    made.flush()
    assert made.trace.column("row").to_pylist() == [0, 4]
    assert (made.stats.received, made.stats.rejected) == (5, 3)
    assert made.stats.reasons == {
        REASONS["pid"]: 1,
        "'age': outside [0, 100] (value withheld); widen the range or set out_of_range: clip": 2,
    }


SECRET = "s3cr3t"


@pytest.mark.parametrize(
    "column",
    [
        {"pid": [SECRET.encode() + b"\xff"]}, {"age": [SECRET]}, {"age": [-739211]}, {"age": [f"-1e7{SECRET}"]},
        {"age": [[739211]]}, {"city": [SECRET]}, {"city": [{"x": SECRET}]}, {"city": [b"\xff" + SECRET.encode()]},
        {"ts": [SECRET]}, {"ts": [7.39211e300]}, {"ts": pa.array([2**61 + 739211], pa.timestamp("s"))},
    ],
)  # fmt: skip
def test_no_value_is_told(column: dict[str, Any]) -> None:
    told = refusals({"ts": [1], **column}, **TIMED)
    assert len(told) == 1
    for value in (SECRET, "739211", "7.39211", str(2**61)):
        assert value not in told[0]


def test_the_reasons_in_the_figures_tell_no_value() -> None:
    made = Anonymizer(policy())
    made.push_batch(pa.RecordBatch.from_pydict({"pid": np.arange(3), "age": ["1", SECRET, "739211"]}))
    assert SECRET not in str(made.stats)
    assert "739211" not in str(made.stats)


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int32()])
def test_what_is_kept_of_a_rejected_record_is_not_in_any_dictionary(kind: pa.DataType) -> None:
    note = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2], kind), ["flu", "secret", "cold", "nobody"])
    kept = encode({"age": [1, 333, 2, 3], "note": note}).kept.column("note")
    assert kept.to_pylist() == ["flu", None, "cold"]
    assert kept.dictionary.to_pylist() == ["flu", "cold"]
    assert kept.type == pa.dictionary(pa.int32(), pa.string())  # wide enough for all that may come
