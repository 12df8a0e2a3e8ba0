"""Columns of every type that Spark has, named by the policy or not."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal-stream[spark]'")

from shoal import InputError
from shoal.spark import anonymize

KINDS = {
    "stamp": "timestamp '2024-01-01 00:00:00' + make_dt_interval(0, 0, 0, id)",
    "local": "timestamp_ntz '2024-01-01 00:00:00' + make_dt_interval(0, 0, 0, id)",
    "day": "date_add(date '2024-01-01', cast(id / 10 as int))",
    "took": "make_dt_interval(0, 0, 0, id)",
    "price": "cast(id / 4 as decimal(12, 2))",
    "raw": "cast(cast(id as string) as binary)",
    "list": "array(id, null)",
    "nested": "struct(timestamp '2024-01-01 00:00:00' as at, array(map('a', cast(id as decimal(9, 1)))) as of)",
    "any": "parse_json(concat('[', id, ']'))",
    "short": "cast(id as smallint)",
    "yes": "id % 2 = 0",
}
UNKNOWN = {"term": "make_ym_interval(1, 2)"}  # which Arrow has not


def records(spark: Any, *names: str) -> Any:
    made = {**KINDS, **UNKNOWN}
    columns = [f"{made[name]} as {name}" for name in names]
    return spark.range(200).selectExpr("concat('p', id % 50) as pid", "cast(id % 60 as int) as age", "id", "id as at", *columns)


def policy(time: str, attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    age = {"quasi": "numeric", "range": [0, 120], "grid": 5}
    return {
        "person": "pid", "time": {"field": time}, "attributes": {"age": age, "id": {"publish": "keep"}, **attributes},
        "privacy": {"k": 5}, "suppressed": "publish", "window": {"count": 50}, **more,
    }  # fmt: skip


def test_columns_that_are_not_named_may_be_of_any_type(spark: Any) -> None:
    found = anonymize(records(spark, *KINDS, *UNKNOWN), policy("at", {}), lanes=2)
    assert found.columns == ["age", "id"]
    assert found.count() == 200


def test_columns_that_are_passed_through_keep_type_and_values(spark: Any) -> None:
    before = records(spark, *KINDS)
    kept = {name: {"publish": "keep"} for name in KINDS}
    found = anonymize(before, policy("at", kept), lanes=2)
    assert [dict(found.dtypes)[name] for name in KINDS] == [dict(before.dtypes)[name] for name in KINDS]
    text = [f"to_json(struct({', '.join(KINDS)})) as text"]
    assert sorted(found.selectExpr("id", *text).collect()) == sorted(before.selectExpr("id", *text).collect())


@pytest.mark.parametrize("time", ["stamp", "local", "day", "price"])
def test_time_and_persons_may_have_such_types(spark: Any, time: str) -> None:
    before = records(spark, time)
    rule = policy(time, {}, window={"time": "20s" if time != "day" else "5d"})
    found = anonymize(
        before, {**rule, "time": {"field": time, "publish": "generalize", "grid": "1s" if time != "day" else "1d"}}
    )
    rows = {row.id: row for row in found.collect()}
    assert sorted(rows) == list(range(200))
    wanted = {"stamp": "timestamp", "local": "timestamp_ntz", "day": "string", "price": "double"}[time]
    assert found.schema[time].dataType.simpleString() == f"struct<lo:{wanted},hi:{wanted}>"
    for row in before.collect():
        shown = rows[row.id][time]
        if time in ("stamp", "local"):
            assert shown.lo <= row[time] <= shown.hi


def test_values_of_such_types_can_be_generalized_and_sensitive(spark: Any) -> None:
    attributes = {"price": {"quasi": "numeric", "range": [0, 100], "grid": 5}, "stamp": {"sensitive": True}}
    before = {row.id: row for row in records(spark, "price", "stamp").collect()}
    found = anonymize(records(spark, "price", "stamp"), policy("at", attributes)).collect()
    assert len(found) == 200
    for row in found:
        assert row.stamp == before[row.id].stamp
        assert row.price is None or row.price.lo <= before[row.id].price <= row.price.hi


def test_fields_inside_structs_are_named_by_their_path(spark: Any) -> None:
    attributes = {"nested.at": {"sensitive": True}, "nested.of": {"publish": "keep"}}
    before = records(spark, "nested")
    found = anonymize(before, policy("at", attributes))
    assert found.schema["nested.at"].dataType.simpleString() == "timestamp"
    assert dict(found.dtypes)["nested.of"] == "array<map<string,decimal(9,1)>>"
    assert {row["nested.at"] for row in found.collect()} == {row.nested.at for row in before.collect()}


def test_a_time_column_may_have_a_dot_in_its_name(spark: Any) -> None:
    dotted = records(spark, "stamp").withColumnRenamed("stamp", "event.time")
    inside = records(spark, "stamp").selectExpr("*", "struct(array(stamp) as times) as event")
    window = {"window": {"time": "20s"}}
    found = [anonymize(dotted, policy("event.time", {}, **window)), anonymize(inside, policy("event.times.0", {}, **window))]
    assert [sorted(row.id for row in each.collect()) for each in found] == [list(range(200))] * 2


def test_a_type_that_arrow_has_not_is_refused_by_name(spark: Any) -> None:
    with pytest.raises(InputError) as raised:
        anonymize(records(spark, "term"), policy("at", {"term": {"sensitive": True}}))
    assert str(raised.value) == "term: is interval year to month, which Arrow does not have; cast it, as to a string"
