"""Event times: seconds, timestamps, ISO 8601; what is no time; and how a time is published."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import Anonymizer
from tests.columns.encoding import encode, policy, refusals
from tests.examples import examples

TIMED = {"time": {"field": "ts"}, "window": {"time": 60}}
NOT = "'ts': not a time (value withheld); give seconds or ISO 8601"
MISSING = "'ts': the time is missing; every record needs one"
NEW_YEAR = 1_577_836_800.0  # 2020-01-01 in UTC


def seconds(column: Any, **sections: Any) -> list[float]:
    found = encode({"ts": column}, **TIMED, **sections)
    assert found.rejected == []
    return found.time.tolist()


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([0, 61], [0, 61]),
        ([0.25, -1.5], [0.25, -1.5]),
        ([Decimal("1.50")], [1.5]),
        (["61", "2.5", " 7 ", "1e3"], [61, 2.5, 7, 1000]),
        (["2020-01-01", "2020-01-01T00:00:00", "2020-01-01 00:00:01"], [NEW_YEAR, NEW_YEAR, NEW_YEAR + 1]),
        (["2020-01-01T00:00:00Z", "2020-01-01T01:00:00+01:00"], [NEW_YEAR, NEW_YEAR]),
        (["2020-01-01T00:00:00", "2020-01-01T01:00:00+01:00"], [NEW_YEAR, NEW_YEAR]),
        (["2020-01-01", "1577836800", "2019-12-31T19:00:00-05:00"], [NEW_YEAR] * 3),
        (["2020-01-01T00:00:00.250", "2020-01-01T00:00:00.250000Z"], [NEW_YEAR + 0.25] * 2),
        ([" 2020-01-01T00:00:00Z "], [NEW_YEAR]),
        (pa.array(["2020-01-01", "2020-01-01"]).dictionary_encode(), [NEW_YEAR] * 2),
        (pa.array(["2020-01-01"], pa.large_string()), [NEW_YEAR]),
        ([dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, microsecond=250_000)], [NEW_YEAR, NEW_YEAR + 0.25]),
        ([dt.datetime(2020, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1)))], [NEW_YEAR]),
        (pa.array([1_577_836_800], pa.timestamp("s", "Asia/Tokyo")), [NEW_YEAR]),
        (pa.array([1_577_836_800_250], pa.timestamp("ms")), [NEW_YEAR + 0.25]),
        (pa.array([1_577_836_800_250_000_001], pa.timestamp("ns")), [NEW_YEAR + 0.25]),
        (pa.array([-1], pa.timestamp("ns")), [-1e-6]),
        ([dt.date(2020, 1, 1)], [NEW_YEAR]),
        (pa.array([1_577_836_800_000], pa.date64()), [NEW_YEAR]),
    ],
)
def test_times_in_any_form(column: Any, expected: list[float]) -> None:
    assert seconds(column) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    "value",
    ["soon", "2020-13-01", "2020-01-01T25:00:00", "12:00", True, float("inf"), "-inf", "1e300", 1e13, [1], b"\xff",
     dt.time(1), dt.timedelta(1)],
)  # fmt: skip
def test_what_is_no_time(value: Any) -> None:
    assert refusals({"ts": [value]}, **TIMED) == [f"row 1, {NOT}"]


def test_times_too_far_for_a_calendar() -> None:
    assert refusals({"ts": pa.array([2**61, 5], pa.timestamp("s"))}, **TIMED) == [f"row 1, {NOT}"]


@pytest.mark.parametrize(
    ("column", "nulls"),
    [
        ([None, 1], []),
        ([float("nan"), 1.0], []),
        (["", "1"], [""]),
        (["NA", "2020-01-01"], ["NA"]),
        (["1900-01-01", "2020-01-01"], ["1900-01-01"]),
        (["1900-01-01T00:00:00Z", "2020-01-01T00:00:00Z"], ["1900-01-01T00:00:00Z"]),
        ([-1, 1], ["-1"]),
        (["-1", "1"], ["-1"]),
    ],
)
def test_missing_times(column: Any, nulls: list[str]) -> None:
    assert refusals({"ts": column}, nulls=nulls, **TIMED) == [f"row 1, {MISSING}"]


def test_an_absent_time_is_missing() -> None:
    assert refusals({"age": [1]}, **TIMED) == [f"row 1, {MISSING}"]


def published(column: Any, publish: str, length: float = 60) -> tuple[list[str], list[Any]]:
    """The names that are published, and the times as JSON lines would hold them."""
    made = Anonymizer(policy(time={"field": "ts", "publish": publish}, window={"time": length}))
    array = pa.array(column) if isinstance(column, list) else column
    on_the_way = made.push_batch(pa.RecordBatch.from_pydict({"pid": np.arange(len(array)), "ts": array}))
    answer = pa.concat_batches([on_the_way, made.flush()])
    return answer.schema.names, [record.get("ts") for record in made.to_records(answer)]


def test_drop_is_the_default() -> None:
    assert published([1, 2], "drop") == (["age", "city", "note"], [None, None])
    assert policy(time={"field": "ts"}).time == policy(time={"field": "ts", "publish": "drop"}).time


@pytest.mark.parametrize("column", [[1, 2], [1.5, 2.0], ["1", "2020-01-01T00:00:00+01:00"], [dt.datetime(2020, 1, 1)]])
def test_keep_publishes_a_time_as_it_came(column: list[Any]) -> None:
    assert published(column, "keep") == (["ts", "age", "city", "note"], column)


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        ([0, 59, 60, -1], [[0, 0], [55, 60], [60, 60], [-5, 0]]),
        ([59.999, 60.0], [[55, 60], [60, 60]]),
        (["61"], [["1970-01-01T00:01:00Z", "1970-01-01T00:01:05Z"]]),
        (["2020-01-01T00:00:59"], [["2020-01-01T00:00:55Z", "2020-01-01T00:01:00Z"]]),
        (["2020-01-01T01:00:59+01:00"], [["2020-01-01T00:00:55Z", "2020-01-01T00:01:00Z"]]),
        ([dt.datetime(2020, 1, 1, 0, 0, 59)], [[dt.datetime(2020, 1, 1, 0, 0, 55), dt.datetime(2020, 1, 1, 0, 1)]]),
        ([Decimal("61.5")], [[60, 65]]),
    ],
)  # fmt: skip
def test_generalize_rounds_outward_to_the_grid(column: list[Any], shown: list[Any]) -> None:
    """In the form that the times came in; the grid of a window of a minute is 5 seconds."""
    assert published(column, "generalize")[1] == shown


def test_all_rows_of_a_group_show_one_interval_and_a_suppressed_tuple_none() -> None:
    time = {"field": "ts", "publish": "generalize", "grid": "500ms"}
    made = Anonymizer(policy(time=time, window={"count": 10}, privacy={"k": 2}))
    for person, ts in ((1, 7.2), (2, 3.0), (3, 40.0)):
        made.push({"pid": person, "ts": ts, "age": person})
    shown = [record["ts"] for record in made.to_records(made.flush())]
    assert shown == [[3.0, 7.5], [3.0, 7.5], None]


@examples(4)
@given(
    st.sampled_from([0.001, 0.1, 0.25, 0.3, 0.7, 1.0, 30.0, 3600.0]),
    st.one_of(
        st.floats(-1e4, 2e9), st.integers(-10_000, 10_000).map(lambda n: n / 10), st.floats(1.6e9, 1.6e9 + 100),
        st.tuples(st.integers(-1000, 1000), st.sampled_from([0.001, 0.1, 0.3, 0.7])).map(lambda p: p[0] * p[1]),
    ),
)  # fmt: skip
def test_a_time_lies_between_the_nearest_multiples(grid: float, time: float) -> None:
    made = Anonymizer(policy(time={"field": "ts", "publish": "generalize", "grid": grid}, window={"time": 60}))
    made.push({"pid": 1, "ts": time, "age": 1})
    ((low, high),) = (record["ts"] for record in made.to_records(made.flush()))
    assert low <= time <= high
    assert high - low == pytest.approx(0 if low == high else grid, rel=1e-3)
