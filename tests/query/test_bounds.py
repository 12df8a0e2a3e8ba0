"""Answers about a published table, against the original data: the truth always lies within the bounds."""

from __future__ import annotations

import random
from statistics import mean
from typing import Any

import pyarrow as pa
import pytest

import shoal
from shoal.query import Published, Range, between, missing, one_of

POLICY = """
person: none
time: {{field: t, publish: generalize, grid: 60s}}
attributes:
  age:  {{quasi: numeric, range: [0, 100], grid: 5}}
  city: {{quasi: categorical, hierarchy: {{World: {{France: [Paris, Lyon, Nice], Norway: [Oslo, Bergen]}}}}}}
  ill:  {{publish: keep}}
privacy: {{k: 4, nulls_match: {nulls}}}
window: {{count: 40}}
algorithm: {{name: kvarp}}
"""
CITIES = ["Paris", "Lyon", "Nice", "Oslo", "Bergen"]
COUNTRY = {"Paris": "France", "Lyon": "France", "Nice": "France", "Oslo": "Norway", "Bergen": "Norway"}
Row = dict[str, Any]


def rows(seed: int, count: int = 400) -> list[Row]:
    chance = random.Random(seed)
    return [
        {
            "t": float(i * 7),
            "age": None if chance.random() < 0.2 else chance.randrange(101),
            "city": None if chance.random() < 0.2 else chance.choice(CITIES),
            "ill": chance.choice(["flu", "none"]),
        }
        for i in range(count)
    ]


@pytest.fixture(scope="module", params=["blurred", "maybe", "extended"])
def both(request: pytest.FixtureRequest) -> tuple[str, list[Row], Published]:
    original = rows(7)
    policy = shoal.Policy.parse(POLICY.format(nulls=request.param))
    table = pa.Table.from_pylist(original)
    return request.param, original, Published(shoal.anonymize(table, policy), policy)


def holds(found: Range, truth: float) -> bool:
    return found.low - 1e-9 <= truth <= found.high + 1e-9 and found.low - 1e-9 <= found.estimate <= found.high + 1e-9


def is_between(row: Row, low: float, high: float) -> bool:
    return row["age"] is not None and low <= row["age"] <= high


SPANS = [(0, 100), (20, 40), (33, 34), (90, 100), (37, 82)]


@pytest.mark.parametrize("span", SPANS)
def test_counts(both: tuple[str, list[Row], Published], span: tuple[int, int]) -> None:
    _, original, published = both
    assert holds(published.count(between("age", *span)), sum(is_between(row, *span) for row in original))
    for label in ("Paris", "France", "World"):
        below = {city for city in CITIES if label in (city, COUNTRY[city], "World")}
        assert holds(published.count(one_of("city", label)), sum(row["city"] in below for row in original))
        wanted = between("age", *span) & one_of("city", label)
        truth = sum(is_between(row, *span) and row["city"] in below for row in original)
        assert holds(published.count(wanted), truth)


def test_what_is_missing(both: tuple[str, list[Row], Published]) -> None:
    _, original, published = both
    for name in ("age", "city"):
        assert holds(published.count(missing(name)), sum(row[name] is None for row in original))


@pytest.mark.parametrize("span", SPANS)
def test_shares(both: tuple[str, list[Row], Published], span: tuple[int, int]) -> None:
    _, original, published = both
    base = [row for row in original if is_between(row, *span)]
    for label in ("Lyon", "Norway"):
        below = {city for city in CITIES if label in (city, COUNTRY[city])}
        truth = sum(row["city"] in below for row in base) / len(base) if base else 0.0
        found = published.share(one_of("city", label), between("age", *span))
        assert found.low - 1e-9 <= truth <= found.high + 1e-9
    assert holds(published.share(one_of("ill", "flu")), sum(row["ill"] == "flu" for row in original) / len(original))


def test_numbers(both: tuple[str, list[Row], Published]) -> None:
    nulls, original, published = both
    if nulls == "extended":
        with pytest.raises(shoal.InputError) as error:
            published.mean("age")
        assert str(error.value) == "age: some rows show nothing, and may have any value; there are no bounds: count them apart"
        return
    for wanted, matches in [
        (None, lambda row: True),
        (one_of("city", "France"), lambda row: COUNTRY.get(row["city"]) == "France"),
        (between("age", 20, 60), lambda row: is_between(row, 20, 60)),
        (one_of("ill", "flu"), lambda row: row["ill"] == "flu"),
    ]:
        ages = sorted(row["age"] for row in original if row["age"] is not None and matches(row))
        assert holds(published.total("age", wanted), sum(ages))
        assert holds(published.mean("age", wanted), mean(ages))
        for part in (0.1, 0.5, 0.9):
            at = -int(-part * len(ages) // 1) - 1
            assert holds(published.quantile("age", part, wanted), ages[at]), part


def test_a_series_over_time(both: tuple[str, list[Row], Published]) -> None:
    _, original, published = both
    found = dict(published.series("t", 600.0))
    for begin, range_ in found.items():
        assert range_.low <= sum(begin <= row["t"] < begin + 600 for row in original) <= range_.high
    assert sum(range_.estimate for range_ in found.values()) == pytest.approx(len(original), rel=0.02)


def test_a_join_on_a_generalized_key(both: tuple[str, list[Row], Published]) -> None:
    nulls, original, published = both
    others = [{"city": city} for city in ["Paris", "Oslo", "Oslo"]]
    truth = sum(row["city"] == other["city"] for row in original for other in others)
    found = published.pairs(Published(pa.Table.from_pylist(others)), "city")
    assert found.low <= truth
    if nulls != "extended":  # there a blanked key may be any
        assert truth <= found.high


def test_the_smallest_class(both: tuple[str, list[Row], Published]) -> None:
    nulls, _, published = both
    if nulls != "maybe":  # there rows of a group differ in what they lack
        assert published.smallest_class("t", "age", "city") >= 4


def test_without_a_policy_a_null_may_be_any_value() -> None:
    table = pa.table({"age": pa.array([{"lo": 1, "hi": 2}, None])})
    assert Published(table).count(between("age", 0, 5)) == Range(1, 1.0, 2)
    assert Published(table).count(missing("age")) == Range(0, 0.5, 1)


def test_an_unknown_column() -> None:
    with pytest.raises(shoal.InputError) as error:
        Published(pa.table({"age": [1]})).count(between("ago", 0, 5))
    assert str(error.value) == "ago: is not a column of the table; choose among age"
