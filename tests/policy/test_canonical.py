from __future__ import annotations

from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.policy import canonical


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (float("nan"), None),
        (np.float32("nan"), None),
        (Decimal("NaN"), None),
        (Decimal("sNaN"), None),
        ("", ""),
        ("  a b\t\n", "a b"),
        ("cafe\u0301", "caf\u00e9"),
        (True, "true"),
        (np.bool_(False), "false"),
        (1, "1"),
        (-7, "-7"),
        (np.int64(12), "12"),
        (1.0, "1"),
        (-0.0, "0"),
        (np.float64(3.0), "3"),
        (2.5, "2.5"),
        (np.float64(2.5), "2.5"),
        (1e-7, "1e-07"),
        (1e22, "10000000000000000000000"),
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
        (Decimal("1.00"), "1"),
        (Decimal("100"), "100"),
        (Decimal("1E+3"), "1000"),
        (Decimal("0.10"), "0.1"),
        (Decimal("-0.0"), "0"),
        (Decimal("Infinity"), "inf"),
        (b" x ", "x"),
        (bytearray(b"y"), "y"),
        ("café".encode(), "café"),
        (date(2020, 1, 2), "2020-01-02"),
    ],
)
def test_canonical(value: object, text: str | None) -> None:
    assert canonical(value) == text


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (b"\xff\xfe", "bytes that are not UTF-8 (value withheld)"),
        (10**5000, "a number with too many digits (value withheld)"),
        (Decimal("1E+999999"), "a number with too many digits (value withheld)"),
        (Decimal("1E-999999"), "a number with too many digits (value withheld)"),
    ],
    ids=["bytes", "int", "large", "small"],
)
def test_what_has_no_text_is_refused_without_showing_it(value: object, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        canonical(value)
    assert str(caught.value) == problem


@given(st.integers(-(2**53), 2**53))
def test_a_whole_number_has_one_text(value: int) -> None:
    assert canonical(value) == canonical(float(value)) == canonical(Decimal(value)) == canonical(str(value))


@given(st.text())
def test_canonical_text_stays(value: str) -> None:
    once = canonical(value)
    assert canonical(once) == once
