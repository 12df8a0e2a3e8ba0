from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infer.base import tokens
from shoal.infer.entry import rounded_range

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("low", "high", "written"),
    [
        (17, 90, ("15", "95", "5")),
        (0, 99999, ("-5000", "100000", "5000")),
        (13769, 1484705, ("0", "1500000", "100000")),
        (1, 16, ("0", "18", "2")),
        (1, 2, ("0", "4", "2")),
        (-40, 28, ("-45", "30", "5")),
    ],
)
def test_whole_numbers(low: float, high: float, written: tuple[str, str, str]) -> None:
    assert rounded_range(low, high, True) == written


@given(FINITE, FINITE, st.booleans())
def test_ends_lie_outside_and_are_multiples_of_the_grid(one: float, other: float, whole: bool) -> None:
    low, high = sorted((round(one), round(other)) if whole else (one, other))
    low, high = float(low), float(high)
    if low == high:
        return
    found = rounded_range(low, high, whole)
    if found is None:
        assert max(-low, high) > 1e300 or high - low < 1e-300
        return
    ends = tokens(" ".join(found))
    assert ends[0] < low <= high < ends[1]
    assert 0 < ends[2] <= ends[1] - ends[0]
    if whole:
        assert all(end.is_integer() for end in ends)
