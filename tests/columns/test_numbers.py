"""Numbers in any type, and what is refused for not being one."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tests.columns.encoding import ages, encode, refusals

INF = float("inf")
NOT = "'age': not a number (value withheld)"
INFINITE = "'age': infinite; give a finite number or leave it out"
OUTSIDE = "'age': outside [0, 100] (value withheld); widen the range or set out_of_range: clip"


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_integers(kind: str) -> None:
    assert ages(pa.array([1, None, 100], kind)) == [1, None, 100]


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_floats(kind: str) -> None:
    assert ages(pa.array([1.5, None, 0.0]).cast(kind)) == [1.5, None, 0.0]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([Decimal("1.10"), None, Decimal("100")], [1.1, None, 100]),
        (["1", "1.5", "1e1", ".5", "5.", "1E+1"], [1, 1.5, 10, 0.5, 5, 10]),
        (["+7", " 7 ", "\t7\n", "\u20037"], [7, 7, 7, 7]),
        (["-0", "0.0"], [0, 0]),
        (pa.array(["1", None], pa.large_string()), [1, None]),
        (pa.array(["1", "2"], pa.string_view()), [1, 2]),
        (pa.array(["1", None, "2.5", "1"]).dictionary_encode(), [1, None, 2.5, 1]),
        (pa.array([3, 4]).dictionary_encode(), [3, 4]),
        ([b"7", b" 8"], [7, 8]),
        (pa.nulls(2), [None, None]),
        (pa.array([5, 5, 6], pa.run_end_encoded(pa.int32(), pa.int64())), [5, 5, 6]),
    ],
)
def test_numbers_in_any_form(column: Any, expected: list[float | None]) -> None:
    assert ages(column) == expected


@pytest.mark.parametrize(
    "value",
    ["x", "1_0", "0x10", "1 2", "\u0663", "--1", "+", "infinit", "true", True, False, b"\xff", {"a": 1},
     datetime.timedelta(1)],
)  # fmt: skip
def test_what_is_no_number(value: Any) -> None:
    assert refusals({"age": [value]}) == [f"row 1, {NOT}; is it text? (quasi: categorical)"]


UNIT = "is there a unit beside the number? remove it first"
DATE = "is it a date? (part: year)"


@pytest.mark.parametrize(
    ("value", "cause"),
    [("1,5", "is the decimal mark a comma? (input.decimal)"), (".", "does it mean missing? (nulls)"), ("1e", UNIT),
     ("e1", UNIT), ("nan(1)", UNIT), ([1], UNIT), ("1970-01-01", DATE), (datetime.date(1970, 1, 2), DATE)],
)  # fmt: skip
def test_what_is_no_number_for_a_likely_cause(value: Any, cause: str) -> None:
    assert refusals({"age": [value]}) == [f"row 1, {NOT}; {cause}"]


@pytest.mark.parametrize("value", [INF, -INF, "inf", "-Infinity", "+INF", "1e999", "-1e999"])
@pytest.mark.parametrize("beyond", ["reject", "clip"])
def test_infinities_are_rejected_also_where_values_are_clipped(value: Any, beyond: str) -> None:
    told = refusals({"age": [value, value]}, age={"out_of_range": beyond})
    assert told == [f"row 1, {INFINITE}", f"row 2, {INFINITE}"]


def test_values_outside_the_range() -> None:
    column = [-0.001, 0, 100, 100.001, None, 1e300]
    assert refusals({"age": column}) == [f"row {row}, {OUTSIDE}" for row in (1, 4, 6)]
    assert ages(column, age={"out_of_range": "clip"}) == [0, 0, 100, 100, None, 100]
    assert refusals({"age": [-1]}, age={"range": [-0.5, 0.25]}) == [
        "row 1, 'age': outside [-0.5, 0.25] (value withheld); widen the range or set out_of_range: clip"
    ]


@pytest.mark.parametrize(
    ("column", "age", "is_whole"),
    [
        (pa.array([1]), {}, True), (pa.nulls(1), {}, True), (pa.array([1.0]), {}, False), (pa.array(["1"]), {}, False),
        (pa.array([1]), {"range": [0, 99.5]}, False), (pa.array([1]), {"grid": 0.5}, False),
        (pa.array([1]), {"grid": 5}, True), (pa.array([1]), {"range": [0, 2**53]}, True),
        (pa.array([1]), {"range": [0, 10**19]}, False),
    ],
)  # fmt: skip
def test_whole_numbers_are_published_whole(column: pa.Array, age: dict[str, Any], is_whole: bool) -> None:
    assert encode({"age": column}, age=age).whole[0] == is_whole


def test_a_column_full_of_text_names_the_likely_cause() -> None:
    """Also of values beyond those whose cause is looked for."""
    found = refusals({"age": [f"word {chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(400)]})
    assert {text.partition(", ")[2] for text in found} == {f"{NOT}; is it text? (quasi: categorical)"}
