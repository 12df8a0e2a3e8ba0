"""Persons and categories are compared as trimmed NFC text, whatever the type they come in."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.policy import canonical
from tests.columns.encoding import KEY, cities, encode, persons
from tests.columns.siphash import siphash

COMPOSED, DECOMPOSED = "\u00e9", "e\u0301"
BLANKS = " \t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2003\u2028\u3000"


def person(value: Any) -> bytes:
    """The fingerprint of one person who comes alone."""
    return encode({"pid": pa.array([value])}).person.tobytes()


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1", [1, "1", 1.0, " 1 ", Decimal("1"), Decimal("1.00"), b"1", "1\x1f"]),
        ("true", [True, "true", " true\n", b"true"]),
        ("false", [False, "false"]),
        ("2.5", [2.5, "2.5", Decimal("2.50"), "\u30002.5"]),
        ("a", ["a", " a ", b" a", "\x1ca", "a\x85", "\u2003a"]),
        (COMPOSED, [COMPOSED, DECOMPOSED, f" {DECOMPOSED}\xa0", DECOMPOSED.encode()]),
        ("-3", [-3, -3.0, "-3"]),
        ("100000000000000000000", [1e20, "100000000000000000000", Decimal(10) ** 20]),
        ("inf", [float("inf"), "inf"]),
    ],
)
def test_one_text_is_one_person(text: str, values: list[Any]) -> None:
    expected = siphash(KEY.tobytes(), text.encode())
    for value in values:
        assert canonical(value) == text
        assert person(value) == expected


@pytest.mark.parametrize(
    ("one", "other"), [("1", "1.0"), ("1", "01"), ("a", "A"), ("True", "true"), ("e", COMPOSED), ("a b", "a  b")]
)
def test_other_texts_are_other_persons(one: str, other: str) -> None:
    assert person(one) != person(other)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())])
def test_blanks_are_trimmed_in_every_batch_alike(kind: pa.DataType) -> None:
    """Also where a batch is all ASCII, for which there is a faster way."""
    for blank in BLANKS:
        texts = ["a", f"a{blank}", f"{blank}a", f"{blank * 3}a{blank}", "b"]
        for more in ([], ["\u4e2d"]):
            assert persons(pa.array(texts + more, pa.string()).cast(kind))[:5] == [0, 0, 0, 0, 1]


@given(st.lists(st.text() | st.text(alphabet="ab \t\x1f\xa0e\u0301\u00e9"), min_size=1, max_size=8))
def test_persons_are_told_apart_by_canonical_text(texts: list[str]) -> None:
    known: dict[str | None, int] = {}
    expected = [known.setdefault(canonical(text), len(known)) for text in texts]
    for kind in (pa.string(), pa.large_string()):
        assert persons(pa.array(texts, kind), nulls=[]) == expected
    assert persons(pa.array(texts).dictionary_encode(), nulls=[]) == expected


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([1, 2, 1], pa.uint8()), [0, 1, 0]),
        (pa.array([1.0, 2.5, 1.0]), [0, 1, 0]),
        (pa.array([True, False, True]), [0, 1, 0]),
        (pa.array([b"x", b"y", b"x"], pa.large_binary()), [0, 1, 0]),
        (pa.array([b"xx", b"yy", b"xx"], pa.binary(2)), [0, 1, 0]),
        (pa.array([b"x", b"y", b"x"], pa.binary_view()), [0, 1, 0]),
        (pa.array(["x", "y", "x", " x"]).dictionary_encode(), [0, 1, 0, 0]),
        (pa.array([b"x", b"y", b"x"]).dictionary_encode(), [0, 1, 0]),
        (pa.array([7, 7, 8], pa.run_end_encoded(pa.int32(), pa.int64())), [0, 0, 1]),
        (pa.array([1, 1001, 1], pa.timestamp("ns")), [0, 1, 0]),
        (pa.array([1, 2, 1], pa.duration("ns")), [0, 1, 0]),
        (pa.array([1, 2, 1], pa.date32()), [0, 1, 0]),
        (pa.array([[1], [2], [1]]), [0, 1, 0]),
        (pa.array([{"a": 1}, {"a": 2}, {"a": 1}]), [0, 1, 0]),
        (pa.array([uuid.UUID(int=i) for i in (5, 6, 5)], pa.uuid()), [0, 1, 0]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_persons_of_any_type(column: pa.Array, expected: list[int]) -> None:
    assert persons(column) == expected


def test_nanoseconds_tell_persons_apart_across_batches() -> None:
    """A time with and without nanoseconds beside it is the same person."""
    alone, beside = pa.array([1_000], pa.timestamp("ns")), pa.array([1_000, 1_001], pa.timestamp("ns"))
    columns = (alone, beside, alone.cast(pa.timestamp("us")))
    assert len({tuple(encode({"pid": column}).person[0]) for column in columns}) == 1


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (["a", " b\t", None, ""], ["a", "b", None, None]),
        ([COMPOSED, DECOMPOSED, f" {DECOMPOSED}"], ["é", "é", "é"]),
        ([1, 1, None], ["1", "1", None]),
        ([1.0, 2.5, float("nan")], ["1", "2.5", None]),
        ([True, None], ["true", None]),
        ([Decimal("1.0"), Decimal("2.50")], ["1", "2.5"]),
        ([b"a", b" true"], ["a", "true"]),
        (pa.array(["a", None, "b"]).dictionary_encode(), ["a", None, "b"]),
        (pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2], "uint8"), ["a", None, " 1 "]), ["a", None, None, "1"]),
        (pa.array(["a", "b"], pa.large_string()), ["a", "b"]),
        (pa.array(["a", "b"], pa.string_view()), ["a", "b"]),
        (pa.nulls(2), [None, None]),
    ],
)
def test_categories_of_any_type(column: Any, expected: list[str | None]) -> None:
    assert cities(column) == expected
