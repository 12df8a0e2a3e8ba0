"""Users and items of any type are told apart exactly."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from observations.base import policy
from shoal import Anonymizer, Policy
from shoal.columns.fingerprint import joined_keys, keys_of

KEY = np.array([3, 5], np.uint64)


def keys(array: pa.Array, nulls: tuple[str, ...] = ()) -> list[tuple[int, int] | None]:
    found = keys_of(array, nulls, KEY)
    return [None if gone else (int(low), int(high)) for (low, high), gone in zip(found.keys, found.missing, strict=True)]


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_a_number_is_its_own_key_also_as_text(values: list[int]) -> None:
    expected = [(value % 2**64, 0) for value in values]
    assert keys(pa.array(values, pa.int64())) == expected
    assert keys(pa.array([str(value) for value in values], pa.string())) == expected


@given(st.lists(st.text(max_size=30), unique_by=lambda text: text.strip()))
def test_other_texts_have_keys_of_their_own(texts: list[str]) -> None:
    import unicodedata

    canonical = {unicodedata.normalize("NFC", text).strip() for text in texts}
    found = keys(pa.array(texts, pa.string()))
    assert len(set(found)) == len(canonical)


@pytest.mark.parametrize("text", ["01", "-0", "+1", "1.0", "", "-", "9223372036854775808", "-9223372036854775809", "12a"])
def test_texts_that_are_no_canonical_numbers(text: str) -> None:
    found = keys(pa.array([text]))[0]
    assert found is not None and found[1] >> 63 == 1


@pytest.mark.parametrize(
    "array",
    [
        pa.array([7, None], pa.int8()),
        pa.array([7, None], pa.uint64()),
        pa.array([7.0, None]),
        pa.array([Decimal("7.00"), None]),
        pa.array(["7", None]),
        pa.array([" 7 ", None], pa.large_string()),
        pa.array([b"7", None]),
        pa.array(["7", None]).dictionary_encode(),
        pa.array(["7", "8", "9", None]).dictionary_encode().filter(pa.array([True, False, False, True])),
    ],
    ids=lambda array: str(array.type)[:40],
)
def test_one_value_in_many_types(array: pa.Array) -> None:
    assert keys(array) == [(7, 0), None]


def test_what_the_policy_calls_missing() -> None:
    assert keys(pa.array([7, -1, 0]), ("-1",)) == [(7, 0), None, (0, 0)]
    assert keys(pa.array(["7", "NA", ""]), ("NA", "")) == [(7, 0), None, None]


def test_fields_together_are_no_text_put_together() -> None:
    pairs = [("ab", "c"), ("a", "bc"), ("ab", "c"), ("1", "2"), ("12", "")]
    found = joined_keys([keys_of(pa.array(list(part)), (), KEY) for part in zip(*pairs, strict=True)], KEY).keys
    assert len({tuple(each) for each in found.tolist()}) == 4
    assert (found[0] == found[2]).all()


def test_a_column_that_changes_its_type_makes_no_two_users_of_one() -> None:
    anonymizer = Anonymizer(policy(2, 10))
    published: list[Any] = []
    for user, item in ((1, 5), ("1", "5"), (1.0, "5"), ("one", 5)):
        published.append(anonymizer.push({"t": 0, "user": user, "site": item}))
    assert [len(each) for each in published] == [0, 0, 0, 1]


def test_several_fields_make_an_item() -> None:
    rule = Policy.parse({
        "person": "user", "time": {"field": "t"}, "item": {"fields": ["host", "path"]},
        "algorithm": {"name": "zanon", "z": 2, "window": 10, "withheld": "blank"},
    })  # fmt: skip
    anonymizer = Anonymizer(rule)
    rows = [(1, "a", "x"), (2, "a", "y"), (3, "b", "x"), (4, "a", "x"), (5, "a", None)]
    found = [anonymizer.push({"t": 0, "user": user, "host": host, "path": path}) for user, host, path in rows]
    assert [[(each["host"], each["path"]) for each in some] for some in found] == [
        [(None, None)], [(None, None)], [(None, None)], [("a", "x")], []
    ]  # fmt: skip
    assert [str(rejection) for rejection in anonymizer.rejected] == ["row 5, 'path': the item is missing; give one"]
