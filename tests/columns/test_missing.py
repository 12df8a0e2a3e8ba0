"""What is missing: null, NaN, an absent field, and the texts that the policy lists, also against numbers."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.columns.encoding import ages, cities, encode, persons, refusals

NAN = float("nan")


def test_an_absent_field_is_missing() -> None:
    found = encode({"note": ["x", "y"]})
    assert found.rejected == []
    assert np.isnan(found.values).all()
    assert found.pattern.tolist() == [0, 0]


def test_patterns_have_a_bit_a_quasi_identifier() -> None:
    found = encode({"age": [1, None, 3, None], "city": ["a", "b", None, None]})
    assert found.pattern.tolist() == [0b11, 0b10, 0b01, 0b00]


@pytest.mark.parametrize(
    ("column", "nulls", "expected"),
    [
        ([1, None, 3], [], [1, None, 3]),
        ([1.5, NAN, None], [], [1.5, None, None]),
        (["1", "", None], [""], [1, None, None]),
        (["1", "?", " NA ", "NA"], ["?", "NA"], [1, None, None, None]),
        (["1", "nan", "NaN"], [], [1, None, None]),
        ([1, -1, 3], ["-1"], [1, None, 3]),
        ([1.0, -1.0], ["-1"], [1, None]),
        (["1", "-1", "-1.0", " -1 "], ["-1"], [1, None, None, None]),
        ([1, 99, 98], ["99.0", "9.8e1"], [1, None, None]),
        ([Decimal("1.5"), Decimal("-9.0")], ["-9"], [1.5, None]),
        (pa.array(["1", "?", "1"]).dictionary_encode(), ["?"], [1, None, 1]),
        ([float("inf"), 1.0], ["inf"], [None, 1]),
        ([1, 2], ["?", "x"], [1, 2]),
    ],
)
def test_missing_numbers(column: Any, nulls: list[str], expected: list[float | None]) -> None:
    assert ages(column, nulls=nulls) == expected


@pytest.mark.parametrize(
    ("column", "nulls", "expected"),
    [
        (["a", "", " ", None], [""], ["a", None, None, None]),
        (["a", "?", " ? "], ["?"], ["a", None, None]),
        (["1", "a"], ["1"], [None, "a"]),
        ([1, None], ["1"], [None, None]),
        ([1.0, 2.5], [1], [None, "2.5"]),
        ([True, None], ["true"], [None, None]),
        (["e\u0301", "a"], ["\u00e9"], [None, "a"]),
        (["a", "b"], ["a"], [None, "b"]),
    ],
)
def test_missing_categories(column: Any, nulls: list[Any], expected: list[str | None]) -> None:
    assert cities(column, nulls=nulls) == expected


MISSING = ["x", None, "", "?", "x", "y", None]


def test_a_missing_person_is_rejected() -> None:
    reason = "'pid': the person is missing; give one or set person_missing: own"
    assert refusals({"pid": MISSING}, nulls=["", "?"]) == [f"row {row}, {reason}" for row in (2, 3, 4, 7)]
    assert refusals({"pid": [1, -1, None]}, nulls=["-1"]) == [f"row {row}, {reason}" for row in (2, 3)]
    assert refusals({"pid": [1.0, NAN]}) == [f"row 2, {reason}"]
    assert refusals({"pid": pa.nulls(1)}) == [f"row 1, {reason}"]
    assert refusals({"age": [1]}, person="who") == [f"row 1, {reason.replace('pid', 'who')}"]


def test_or_is_a_person_of_its_own() -> None:
    assert persons(MISSING, nulls=["", "?"], person_missing="own") == [0, 1, 2, 3, 0, 4, 5]
    assert persons(pa.nulls(3), person_missing="own") == [0, 1, 2]
    assert persons(MISSING, nulls=[], person_missing="own") == [0, 1, 2, 3, 0, 4, 5]


def test_bytes_without_text_are_nobody_not_even_a_person_of_their_own() -> None:
    column = [b"\xff", b"a", b"\xff", None]
    reason = "'pid': bytes that are not UTF-8 (value withheld); give text"
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        array = pa.array(column, kind)
        assert refusals({"pid": array}, person_missing="own") == [f"row {row}, {reason}" for row in (1, 3)]
    encoded = pa.array(column).dictionary_encode()
    assert refusals({"pid": encoded}, person_missing="own") == [f"row {row}, {reason}" for row in (1, 3)]


def test_every_record_its_own_person() -> None:
    found = encode({"age": [1, 1, 1]}, person="none")
    assert len({tuple(person) for person in found.person.tolist()}) == 3
