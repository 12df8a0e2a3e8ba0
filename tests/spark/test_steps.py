"""The steps of a streaming query without Spark: the end of the input, the trace, late records."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal-stream[spark]'")

from shoal import Policy
from shoal.audit import audit
from shoal.errors import RecordError
from spark.by_hand import Query
from spark.stream import POLICY


def records(first: int, size: int, seconds: float = 0.01) -> pa.RecordBatch:
    chance = random.Random(first)
    return pa.RecordBatch.from_pylist([
        {"pid": f"p{i % 300}", "ts": i * seconds, "age": chance.randrange(18, 90), "pulse": chance.randrange(50, 150),
         "ill": "flu", "id": i}
        for i in range(first, first + size)
    ])  # fmt: skip


def policy(window: str, algorithm: str = "fads", suppressed: str = "publish") -> Policy:
    text = POLICY.format(window=window).replace("fads", algorithm).replace("suppressed: publish", f"suppressed: {suppressed}")
    return Policy.parse(text)


@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.parametrize("algorithm", ["fads", "tide"])
@pytest.mark.parametrize("window", ["{count: 100}", "{time: 1h}", "{buffer: 100}"])
def test_at_the_end_of_the_input_everything_leaves(window: str, algorithm: str, lanes: int) -> None:
    query = Query(policy(window, algorithm), lanes, records(0, 400))
    left = [row["id"] for number in range(2) for row in query.batch(records(200 * number, 200), number)]
    assert len(left) < 400
    left += [row["id"] for row in query.batch(None, 3, last=True)]
    assert sorted(left) == list(range(400))
    assert query.batch(None, 4) == []
    left += [row["id"] for row in query.batch(records(400, 200), 5)]  # the query goes on
    left += [row["id"] for row in query.batch(records(600, 100), 6, last=True)]  # with records in the last batch
    assert sorted(left) == list(range(700))


@pytest.mark.parametrize("suppressed", ["blank", "drop"])
@pytest.mark.parametrize(
    ("window", "lanes"),
    [("{count: 100}", 1), ("{count: 100}", 3), ("{time: 2s}", 1), ("{time: 2s}", 3), ("{buffer: 200}", 1)],
)
def test_by_its_trace_a_query_is_judged(window: str, lanes: int, suppressed: str) -> None:
    rule = policy(window, "fads", suppressed)
    batches = [records(250 * number, 250) for number in range(4)]
    query = Query(rule, lanes, batches[0], traced=True)
    left = [row for number, batch in enumerate(batches) for row in query.batch(batch, 2500 * number, last=number == 3)]
    traces = [row.pop("shoal_trace") for row in left]
    order = sorted(range(len(left)), key=lambda i: [traces[i][name] for name in ("released", "lane", "place")])
    raw = pa.Table.from_batches(batches)
    row = {hash(tuple(record.values())): i for i, record in enumerate(raw.to_pylist())}
    trace = pa.Table.from_pylist([{**traces[i], "row": row[traces[i]["record"]]} for i in order])
    assert sorted(trace["row"].to_pylist()) == list(range(1000))
    arrived = sorted(traces, key=lambda line: (line["arrived"], row[line["record"]]))
    raw, line = raw.take([row[each["record"]] for each in arrived]), {each["record"]: i for i, each in enumerate(arrived)}
    trace = trace.set_column(
        trace.column_names.index("row"), "row", pa.array([line[each] for each in trace["record"].to_pylist()])
    )
    shown = [left[i] for i in order if suppressed != "drop" or traces[i]["how"] != "suppressed"]
    report = audit(rule, raw, pa.Table.from_pylist(shown), trace)
    assert report.held, report.to_dict()


def test_late_records_are_rejected() -> None:
    query = Query(policy("{time: 2s}"), 2, records(0, 200), late=0.5)
    left = query.batch(records(0, 200), 0)
    mixed = pa.Table.from_batches([records(120, 40), records(200, 40)]).combine_chunks().to_batches()[0]
    mixed = mixed.set_column(5, "id", pa.array(range(1000, 1080)))
    left += query.batch(mixed, 1, last=True)
    assert query.late == 29  # the newest time before is 1.99, and 1.49 is in time
    assert sorted(row["id"] for row in left) == [*range(200), *range(1029, 1080)]


def test_under_strict_a_late_record_fails() -> None:
    query = Query(policy("{time: 2s}"), 1, records(0, 200), late=0.5, strict=True)
    query.batch(records(0, 200), 0)
    with pytest.raises(RecordError) as raised:
        query.batch(records(0, 10), 1)
    assert str(raised.value) == "a record was rejected under strict: it came too late"


def test_too_many_rejected_records_fail() -> None:
    from shoal.errors import RejectedError

    wrong: Any = records(0, 100).set_column(2, "age", pa.array(["old"] * 10 + ["40"] * 90))
    query = Query(policy("{count: 50}"), 2, records(0, 100), max_rejected=0.09)
    with pytest.raises(RejectedError) as raised:
        query.batch(wrong, 0)
    text = "10.0 % of 100 records were rejected, more than 9.0 %; shoal.spark.rejected(df, policy) gives the reasons"
    assert str(raised.value) == text
