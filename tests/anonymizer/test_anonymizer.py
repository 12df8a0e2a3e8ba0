"""The anonymizer's calls, beyond what the algorithms decide."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from shoal import Anonymizer, InputError, Policy
from shoal.algorithms import WINDOWED
from shoal.anonymizer import lane

AGE = {"quasi": "numeric", "range": [0, 100]}


def anonymizer(kept: bool = True, **sections: Any) -> Anonymizer:
    attributes = {"age": AGE, **({"note": {"publish": "keep"}} if kept else {})}
    written = {
        "person": "pid", "attributes": attributes, "privacy": {"k": 1}, "window": {"count": 4},
        "algorithm": {"name": "fads"},
    }  # fmt: skip
    return Anonymizer(Policy.parse({**written, **sections}))


def people(size: int, **columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"pid": np.arange(size), "age": np.arange(size) % 100, **columns})


def test_nothing_has_happened_yet() -> None:
    made = anonymizer()
    assert made.trace.num_rows == 0
    assert made.trace.schema.names == ["row", "how", "cluster", "arrived", "released"]
    assert made.rejected == []
    assert made.flush().num_rows == 0


def test_an_empty_record_is_a_record() -> None:
    made = anonymizer()
    assert made.push({}) == []
    reason = "'pid': the person is missing; give one or set person_missing: own"
    assert [str(rejection) for rejection in made.rejected] == [f"row 1, {reason}"]
    nobody = anonymizer(person="none")
    nobody.push({})
    assert nobody.to_records(nobody.flush()) == [{"age": None, "note": None}]


@pytest.mark.parametrize("kept", [True, False])
def test_rejected_records_leave_the_others_alone(kept: bool) -> None:
    made = anonymizer(kept)
    made.push_batch(people(4, age=[1, 1000, 3, -1], note=["a", "b", "c", "d"]))
    assert [r.row for r in made.rejected] == [1, 3]
    shown = made.to_records(made.flush())
    assert [r["age"] for r in shown] == [[1, 1], [3, 3]]
    assert [r.get("note") for r in shown] == (["a", "c"] if kept else [None, None])
    assert made.trace.column("row").to_pylist() == [0, 2]


@pytest.mark.parametrize("size", [65_536, 65_537, 140_000])
@pytest.mark.parametrize(("length", "k"), [(10, 1), (150_000, 5000)])
def test_batches_of_any_size(size: int, length: int, k: int) -> None:
    made = anonymizer(window={"count": length}, privacy={"k": k})
    published = made.push_batch(people(size, note=np.arange(size)))
    left = published.num_rows
    assert left == max(0, size - length)
    assert made.trace.column("row").to_pylist() == published.column("note").to_pylist()
    assert left + made.flush().num_rows == size


@pytest.mark.parametrize("name", WINDOWED)
@pytest.mark.parametrize("window", [{"count": 300}, {"time": 300}])
def test_the_window_gets_slots_while_a_batch_is_taken_in(
    name: str, window: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = []
    for slots in (1, 4096):
        monkeypatch.setattr(lane, "_SLOTS", slots)
        chosen = {"name": name, "reuse_age": 100}
        made = anonymizer(privacy={"k": 3}, time={"field": "ts"}, window=window, algorithm=chosen, suppressed="publish")
        first = made.push_batch(people(2000, note=np.arange(2000), ts=np.arange(2000) // 3))
        answers.append([first.to_pylist(), made.flush().to_pylist(), made.trace.to_pylist()])
    assert answers[0] == answers[1]
    assert sorted(each["note"] for part in answers[0][:2] for each in part) == list(range(2000))


def test_an_empty_batch() -> None:
    made = anonymizer()
    answer = made.push_batch(people(0, note=pa.array([], pa.string())))
    assert answer.num_rows == 0
    assert answer.schema.names == ["age", "note"]


def test_kept_values_keep_their_type_through_a_long_batch() -> None:
    """Also when everybody left in between: once a decimal point was seen, whole numbers come as such numbers too."""
    made = anonymizer(privacy={"k": 4}, window={"buffer": 4})
    assert made.push_batch(people(4, note=[0.5] * 4)).schema.field("note").type == pa.float64()
    answer = made.push_batch(people(131_072, note=np.arange(131_072)))
    assert answer.schema.field("note").type == pa.float64()
    assert answer.column("note").to_pylist() == list(range(131_072))


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["x", "y", None]).dictionary_encode(), pa.array(["x", "y", None], pa.string_view()),
        pa.array([1, 1, 2], pa.run_end_encoded(pa.int32(), pa.int64())), pa.array([[1], [], None]),
        pa.array([{"a": 1}, None, {"a": 2}]), pa.array([b"\xff", b"", None]), pa.nulls(3),
        pa.array([b"\xff", b"", None], pa.binary_view()), pa.array([1000, 2000, None], pa.timestamp("ns", "UTC")),
        pa.array([1000, 2000, None], pa.duration("ns")),
        pa.array([True, False, None]), pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int64())),
    ],
    ids=lambda column: str(column.type),
)  # fmt: skip
def test_kept_values_of_any_type_come_out_as_they_went_in(column: pa.Array) -> None:
    made = anonymizer()
    made.push_batch(people(3, note=column))
    restored = anonymizer()
    restored.restore(made.snapshot())
    out = restored.flush().column("note")
    assert [str(value) for value in out] == [str(value) for value in column]


def test_a_record_whose_kept_value_changes_its_type_is_rejected() -> None:
    made = anonymizer()
    made.push({"pid": 1, "age": 1, "note": 5})
    snapshot = made.snapshot()
    made = anonymizer()
    made.restore(snapshot)
    made.push({"pid": 2, "age": 1, "note": "secret"})
    reason = "'note': not of the type that it had before (value withheld); give one type throughout"
    assert [str(rejection) for rejection in made.rejected] == [f"row 2, {reason}"]
    made.push({"pid": 3, "age": 1, "note": 2.5})
    made.push({"pid": 4, "age": 1})
    assert made.stats.reasons == {reason: 1}
    assert [record["note"] for record in made.to_records(made.flush())] == [5, 2.5, None]


@pytest.mark.parametrize("first", [pa.array(["a", "b"]), pa.array(["a", "b"]).dictionary_encode()])
def test_dictionaries_and_plain_values_may_follow_each_other(first: pa.Array) -> None:
    made = anonymizer()
    for column in (first, pa.array(["c", "a"]), pa.array(["c", None]).dictionary_encode()):
        made.push_batch(people(2, note=column))
    assert made.stats.rejected == 0
    assert made.stats.released + made.flush().num_rows == 6


def test_a_rejected_record_does_not_decide_a_type() -> None:
    made = anonymizer()
    made.push({"pid": 1, "age": "no number", "note": 5})
    snapshot = made.snapshot()
    made = anonymizer()
    made.restore(snapshot)
    made.push({"pid": 2, "age": 1, "note": "text"})
    assert made.to_records(made.flush()) == [{"age": [1, 1], "note": "text"}]


def test_two_columns_of_one_name_are_refused() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], ["pid", "age", "age"])
    with pytest.raises(InputError) as caught:
        anonymizer().push_batch(batch)
    assert str(caught.value) == "'age': 2 columns have this name; keep one"


def test_nanoseconds_come_out_of_push() -> None:
    made = anonymizer(window={"count": 1})
    made.push_batch(people(1, note=pa.array([1_577_836_800_000_000_001], pa.timestamp("ns"))))
    assert made.push({"pid": 1}) == [{"age": [0, 0], "note": "2020-01-01 00:00:00.000000001"}]


TIMED = {"time": {"field": "ts"}, "window": {"time": 10}}


@pytest.mark.parametrize(
    "now",
    [
        110, 110.0, np.float64(110), datetime.fromtimestamp(110, UTC), datetime(1970, 1, 1, 0, 1, 50),
        datetime(1970, 1, 1, 2, 1, 50, tzinfo=timezone(timedelta(hours=2))),
    ],
)  # fmt: skip
def test_tick_takes_seconds_and_datetimes_without_offset_as_utc(now: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        made = anonymizer(**TIMED)
        made.push({"pid": 1, "age": 1, "ts": 100})
        assert made.tick(109.999).num_rows == 0
        assert made.tick(now).num_rows == 1
        assert made.trace.to_pylist() == [{"row": 0, "how": "cluster", "cluster": 0, "arrived": 100.0, "released": 110.0}]
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("now", [float("nan"), float("inf"), -float("inf")])
def test_tick_refuses_what_is_not_finite_and_the_clock_stands(now: float) -> None:
    made = anonymizer(**TIMED)
    made.push({"pid": 1, "age": 1, "ts": 100})
    with pytest.raises(InputError) as caught:
        made.tick(now)
    assert str(caught.value) == "tick: not a finite time; give seconds or a datetime"
    assert made.push({"pid": 2, "age": 2, "ts": 109}) == []
    assert made.push({"pid": 3, "age": 3, "ts": 110}) == [{"age": [1, 1], "note": None}]


def test_ticks_do_not_move_windows_that_count_arrivals() -> None:
    for window in ({"count": 4}, {"buffer": 4}):
        made = anonymizer(window=window)
        made.push({"pid": 1, "age": 1})
        assert made.tick(1e12).num_rows == 0
        assert made.flush().num_rows == 1


def test_a_rejected_record_does_not_move_the_clock() -> None:
    made = anonymizer(**TIMED)
    made.push({"pid": 1, "age": 1, "ts": 100})
    assert made.push({"age": 2, "ts": 500}) == []
    assert made.push({"pid": 2, "age": 2, "ts": 105}) == []
    made.flush()
    assert made.trace.column("released").to_pylist() == [105.0, 105.0]


def test_row_numbers_count_rejected_rows_and_may_be_given() -> None:
    made = anonymizer()
    made.push({"age": 1})
    made.push({"pid": 1})
    made.push_batch(people(2), np.array([10, 20]))
    made.push({"pid": 5})
    made.flush()
    assert made.trace.column("row").to_pylist() == [1, 10, 20, 21]
    assert made.stats.received == 22


def test_one_stream_after_the_other() -> None:
    """After a flush the anonymizer goes on; the clock and the reuse set stand where they were."""
    made = anonymizer()
    for _ in range(2):
        made.push({"pid": 1, "age": 7})
        assert made.to_records(made.flush()) == [{"age": [7, 7], "note": None}]
    assert made.trace.column("arrived").to_pylist() == [1]


@pytest.mark.parametrize("window", [{"count": 2}, {"time": 2}])
def test_answers_stay_as_they_are(window: dict[str, int]) -> None:
    made = anonymizer(time={"field": "ts", "publish": "keep"}, window=window)
    kept = []
    for i in range(12):
        answer = made.push_batch(pa.record_batch({"pid": [i], "ts": [float(i)], "age": [i]}))
        kept.append((made.trace, made.trace.to_pylist(), answer, answer.to_pylist()))
    made.flush()
    assert any(len(trace) for _, trace, _, _ in kept)
    for trace, was, answer, shown in kept:
        assert trace.to_pylist() == was
        assert answer.to_pylist() == shown


def test_a_published_dictionary_holds_only_what_left() -> None:
    """What waits is not in it: a file of dictionaries is read by others."""
    policy = Policy.parse(
        "{person: pid, attributes: {age: {quasi: numeric, range: [0, 100]}, illness: {sensitive: true}}, privacy: {k: 2}, "
        "window: {count: 4}, algorithm: {name: kvarp}}"
    )
    illness = pa.array(["flu", "hiv", "cold", "cancer", "secret"]).dictionary_encode()
    batch = pa.record_batch({"pid": [1, 2, 3, 4, 5], "age": [34, 61, 36, 58, 21], "illness": illness})
    published = Anonymizer(policy).push_batch(batch).column("illness")
    assert published.to_pylist() == ["flu", "cold"]
    assert published.dictionary.to_pylist() == ["flu", "cold"]


def test_categories_of_few_bits_may_become_many() -> None:
    """pandas gives each frame the narrowest codes that its own categories need."""
    policy = Policy.parse(
        "{person: pid, attributes: {age: {quasi: numeric, range: [0, 100]}, note: {publish: keep}}, privacy: {k: 2}, "
        "window: {count: 4}, algorithm: {name: kvarp}}"
    )
    anonymizer, left = Anonymizer(policy), []
    for first in range(0, 300, 100):
        notes = pa.DictionaryArray.from_arrays(pa.array(range(100), pa.int8()), [f"n{first + i}" for i in range(100)])
        batch = pa.record_batch({"pid": range(first, first + 100), "age": [first // 10] * 100, "note": notes})
        left += anonymizer.push_batch(batch).column("note").to_pylist()
    left += anonymizer.flush().column("note").to_pylist()
    assert sorted(left) == sorted(f"n{i}" for i in range(300))


def test_after_restore_nothing_of_before_is_told() -> None:
    anonymizer = Anonymizer(Policy.parse(
        "{person: pid, attributes: {age: {quasi: numeric, range: [0, 100]}}, privacy: {k: 2}, window: {count: 4}, "
        "algorithm: {name: kvarp}}"
    ))  # fmt: skip
    saved = anonymizer.snapshot()
    anonymizer.push({"pid": 1, "age": 140})
    assert len(anonymizer.rejected) == 1
    anonymizer.restore(saved)
    assert anonymizer.rejected == []
    assert anonymizer.trace.num_rows == 0
