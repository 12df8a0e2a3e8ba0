"""The judge's rules of equality are its own; on generated values they agree with the engine's."""

from __future__ import annotations

import ast
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
import shoal.audit
import shoal.policy
from shoal.audit.values import canonical, canonical_column, numbers
from shoal.columns import convert

DECLARED = {
    "Attribute", "Input", "Requirement", "Diversity", "Hierarchy", "Item", "Policy", "Zanon",
    "Registered", "package_of",  # what an algorithm of another package declares, and whose it is
}  # fmt: skip
TEXT = st.text() | st.text("a\u00e9e\u0301\u00a0 1.0\t\u1e9b\u0323", max_size=6)
PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-3, 3),
    st.floats(),
    st.sampled_from([1.0, -0.0, 1e22, 1e-7, 0.1]),
    TEXT,
)
DECIMALS = st.decimals() | st.decimals(-10, 10, places=3)
VALUES = st.one_of(
    PLAIN,
    DECIMALS,
    st.binary(max_size=4),
    TEXT.map(str.encode),
    st.dates(date(1960, 1, 1)),
    st.datetimes(),
    st.recursive(PLAIN | DECIMALS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)),
)
NUMBERS = st.one_of(
    st.integers().map(str),
    st.floats().map(str),
    st.text("0123456789+-.eE_ nNaAiIfF", max_size=6),
    st.sampled_from([" 7 ", "٣", "1_000", "0x1f", "1e999", "+.5", "5.", ".", "NaN", "?", "-1", "-1.0", ""]),
)
PERSONS = [1, 1.0, "1", " 1", "01", "1.0", True, "true", 2.5, "2.5", "é", "e\u0301", "É", "a\u00a0", "a", "A", "a b", "a  b"]


def test_the_judge_takes_nothing_from_the_policy_but_what_it_declares() -> None:
    found = {
        alias.name
        for path in Path(shoal.audit.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("shoal.policy")
        for alias in node.names
    }
    assert found == DECLARED


@given(VALUES)
def test_a_value_has_the_text_that_the_engine_compares(value: object) -> None:
    try:
        expected = shoal.policy.canonical(value)
    except ValueError:
        with pytest.raises(ValueError):
            canonical(value)
    else:
        assert canonical(value) == expected


@pytest.mark.parametrize(
    "value",
    [10**5000, Decimal("1E+999999"), Decimal("1E-999999"), [10**5000], b"\xff"],
    ids=["int", "large", "small", "nested", "bytes"],
)
def test_a_value_without_a_text(value: object) -> None:
    for rule in (canonical, shoal.policy.canonical):
        with pytest.raises(ValueError):
            rule(value)


@settings(deadline=None)
@given(st.lists(st.none() | TEXT.filter(lambda text: not any("\ud800" <= each <= "\udfff" for each in text)), max_size=8))
def test_a_column_of_texts_is_compared_as_the_engine_compares_it(values: list[str | None]) -> None:
    column = pa.array(values, pa.string())
    text, bad = canonical_column(column)
    assert text.to_pylist() == convert.texts(column, ()).to_pylist()
    assert not bad.any()


@settings(deadline=None)
@given(st.lists(st.none() | NUMBERS, max_size=8), st.sampled_from([(), ("?", ""), ("?", "-1")]))
def test_a_column_of_numbers_is_read_as_the_engine_reads_it(values: list[str | None], nulls: tuple[str, ...]) -> None:
    column = pa.array(values, pa.string())
    found, (expected, wrong) = numbers(column, nulls), convert.numbers(column, nulls)
    refused = wrong | np.isinf(expected)
    assert found.bad.tolist() == refused.tolist()
    assert np.array_equal(found.value[~refused], expected[~refused], equal_nan=True)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(PERSONS), st.sampled_from(PERSONS))
def test_two_records_are_one_person_to_the_judge_if_they_are_to_the_engine(first: object, second: object) -> None:
    policy = shoal.Policy.parse({
        "person": "pid",
        "attributes": {"age": {"quasi": "numeric", "range": [0, 100]}},
        "privacy": {"k": 2}, "window": {"count": 2}, "algorithm": {"name": "fads"},
    })  # fmt: skip
    anonymizer = shoal.Anonymizer(policy)
    for person in (first, second):
        anonymizer.push({"pid": person, "age": 30})
    anonymizer.flush()
    assert anonymizer.stats.suppressed == (2 if canonical(first) == canonical(second) else 0)
