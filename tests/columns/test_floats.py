"""Arrow's numbers as float64, against Arrow's own conversion; arrays begin anywhere in their memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from shoal.columns.floats import parse_digits, take_floats, to_floats
from shoal.errors import InputError

DRAW = np.random.default_rng(1)
GAPS = DRAW.random(100) < 0.3


@pytest.mark.parametrize("kind", [np.int64, np.float64, np.int16])
@pytest.mark.parametrize("start", [0, 3, 8, 99, 100])
@pytest.mark.parametrize("mask", [None, GAPS])
def test_to_floats(kind: type, start: int, mask: np.ndarray | None) -> None:
    array = pa.array(DRAW.integers(-500, 500, 100).astype(kind), mask=mask)[start:]
    assert np.array_equal(to_floats(array), array.cast(pa.float64()).to_numpy(zero_copy_only=False), equal_nan=True)


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.uint64])
@pytest.mark.parametrize("start", [0, 3, 8, 100])
@pytest.mark.parametrize("mask", [None, GAPS])
def test_take_floats(kind: type, start: int, mask: np.ndarray | None) -> None:
    table, codes = np.array([0.5, np.nan, -1.0]), DRAW.integers(0, 3, 100).astype(kind)
    expected = table[codes] if mask is None else np.where(mask, np.nan, table[codes])
    assert np.array_equal(take_floats(table, pa.array(codes, mask=mask)[start:]), expected[start:], equal_nan=True)


@pytest.mark.parametrize("codes", [[0, 2], [None, 2], [0, -1], [None, -1]])
def test_a_code_past_the_dictionary_is_refused(codes: list[int | None]) -> None:
    with pytest.raises(InputError) as error:
        take_floats(np.array([1.0, 2.0]), pa.array(codes, pa.int32()))
    assert str(error.value) == "a column has a code that its dictionary lacks; write the data again"


def test_parse_digits() -> None:
    texts = ["0", "007", "-15", None, "", "9" * 15, "-" + "9" * 15]
    expected = [0, 7, -15, np.nan, np.nan, 999_999_999_999_999, -999_999_999_999_999]
    for start in range(len(texts)):
        assert np.array_equal(parse_digits(pa.array(texts)[start:], blanks=True), expected[start:], equal_nan=True)


@pytest.mark.parametrize("text", ["1.5", "1e3", "-", "+1", " 1", "NaN", "1" * 16, "", "\u0661"])
def test_other_texts_are_left_to_others(text: str) -> None:
    assert parse_digits(pa.array(["1", text]), blanks=False) is None
