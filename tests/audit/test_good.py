"""What shoal publishes holds what it promises, under every algorithm, window and format."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
import pytest

import shoal
from shoal.audit import Verdict, audit
from tests.audit.stream import ALGORITHMS, WINDOWS, case, judged, policy, read, records, write

FORMATS = ("jsonl", "jsonl.gz", "csv", "csv.gz", "parquet", "arrow")
UNPROMISED = {("fast", "time"), *((name, "buffer") for name in ALGORITHMS)}


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_promise_holds(algorithm: str, window: str, tmp_path: Path) -> None:
    good = case(tmp_path, algorithm, window)
    report = good.report()
    verdicts = {finding.promise: finding.verdict for finding in report.promises}
    waits = Verdict.NOT_PROMISED if (algorithm, window) in UNPROMISED else Verdict.HELD
    assert verdicts == {**dict.fromkeys(verdicts, Verdict.HELD), "in time": waits}
    assert report.held
    assert report.rows["input"] == 400
    assert report.rows["accepted"] == report.rows["output"] == 395
    assert report["once"].figures == {"accepted": 395, "rejected": 5, "released": 395}
    assert report["true"].checked == 395
    assert report["k persons"].figures["smallest"] >= 4
    assert (report["true"].figures["imputed"] > 0) == (algorithm == "iot")
    assert report["true"].note == ("iot imputes: it shows values for records that had none" if algorithm == "iot" else "")
    assert report.nulls["maybe"].smallest >= 4
    assert report.nulls["maybe"].below == 0
    assert report.nulls["basic"].below >= report.nulls["extended"].below >= report.nulls["maybe"].below


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["fads", "iot"])
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("window", ["count", "time"])
def test_every_format_says_the_same(kind: str, algorithm: str, window: str, tmp_path: Path) -> None:
    good = case(tmp_path, algorithm, window)
    expected = judged(good.report())
    target, messages = tmp_path / f"out.{kind}", tmp_path / f"messages.{kind}"
    shoal.run(good.policy, good.source, target, trace=messages)
    assert judged(audit(good.policy, good.source, target, messages)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_clock_that_jumps(algorithm: str, seed: int, tmp_path: Path) -> None:
    source, target, messages = tmp_path / "in.jsonl", tmp_path / "out.jsonl", tmp_path / "messages.jsonl"
    write(source, list(records(seed=seed, gaps=(0, 1, 7, 55))))
    stats = shoal.run(policy(algorithm, "time"), source, target, trace=messages)
    assert stats.faults == {}
    assert audit(policy(algorithm, "time"), source, target, messages).held


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_every_format_of_the_input(kind: str, tmp_path: Path) -> None:
    lines = [{**line, "age": str(line["age"]) if line["age"] is not None else None} for line in records()]
    table = pa.Table.from_pylist(lines)
    source, target, messages = tmp_path / f"in.{kind}", tmp_path / "out.jsonl", tmp_path / "trace.jsonl"
    if kind == "csv":
        pa.csv.write_csv(table, source)
    elif kind == "parquet":
        pa.parquet.write_table(table, source)
    else:
        with pa.OSFile(str(source), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    shoal.run(policy("kvarp"), source, target, trace=messages)
    report = audit(policy("kvarp"), source, target, messages)
    assert report.held
    assert report["unaltered"].checked == 3 * 395


def test_tables_in_memory(tmp_path: Path) -> None:
    good = case(tmp_path)
    expected = judged(good.report())
    tables = [pa.json.read_json(path) for path in (good.target, good.trace_file)]
    assert judged(audit(good.policy, good.source, *tables)) == expected


def test_without_a_trace(tmp_path: Path) -> None:
    report = case(tmp_path).report(traced=False)
    assert report.held
    assert {finding.promise: str(finding.verdict) for finding in report.promises} == {
        "k persons": "held",
        "one in k": "not checkable",
        "once": "not checkable",
        "in time": "not checkable",
        "true": "not checkable",
        "alike": "not checkable",
        "unaltered": "not checkable",
        "silent": "held",
    }
    assert report.unit == "rows"


def test_clock_ticks() -> None:
    chosen = policy("kvarp", "time")
    anonymizer = shoal.Anonymizer(chosen)
    lines = list(records(200))
    output, trace = [], []
    for line in lines:
        batches = [anonymizer.push_batch(pa.RecordBatch.from_pylist([{**line, "age": 7}]))]
        trace += anonymizer.trace.to_pylist()
        batches.append(anonymizer.tick(line["ts"] + 3))
        trace += anonymizer.trace.to_pylist()
        output += [row for batch in batches for row in batch.to_pylist()]
    output += anonymizer.flush().to_pylist()
    trace += anonymizer.trace.to_pylist()
    tables = [pa.Table.from_pylist(rows) for rows in ([{**line, "age": 7} for line in lines], output, trace)]
    report = audit(chosen, *tables)
    assert report.held
    assert "tuples arrived later by the trace than by their own time, as they do after clock ticks" in report["in time"].note


def test_an_empty_stream(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", [])
    shoal.run(policy(), tmp_path / "in.jsonl", tmp_path / "out.jsonl", trace=tmp_path / "trace.jsonl")
    report = audit(policy(), tmp_path / "in.jsonl", tmp_path / "out.jsonl", tmp_path / "trace.jsonl")
    assert report.held
    assert report.rows == {"input": 0, "accepted": 0, "output": 0, "suppressed": 0}
    assert report.to_json()


MESSY = """
{"pid": 1, "ts": 0, "age": 3, "city": "Paris", "illness": "a"}

{"pid": 2, "ts": 1, "age": "1_0", "city": "Paris"}
{"pid": 3, "ts": 2, "age": "inf", "city": "Paris"}
{"pid": 4, "ts": 3, "age": "nan", "city": "Paris"}
not json
{"pid": 5, "ts": "4", "age": "+5", "city": "Oslo", "illness": 5}
{"pid": 6, "ts": "2020", "age": "-1.0", "city": "Oslo", "illness": {"a": 1}}
{"pid": 7, "ts": "2020-01-01", "age": -1, "city": "Oslo", "illness": null}
{"pid": 8, "ts": "2020-01-01 08:00", "age": -1.0, "city": " Oslo", "illness": [1]}
{"pid": [1], "ts": "2020-01-01T08:00:00+02:00", "age": "0x10", "city": "Oslo"}
{"pid": 9, "ts": "2020-01-01T08:00:00+02:00", "age": " ", "city": "?"}
{"pid": 9, "ts": true, "age": " ", "city": "?"}
{"pid": 9.0, "ts": 3, "age": true, "city": "?"}
{"pid": true, "ts": 3, "age": "Infinity"}
[1]
{"pid": true, "ts": 1e3, "age": "1.", "age": 6}
{"pid": "", "ts": 5, "age": ".5"}
{"pid": "?", "ts": 5, "age": ".5"}
{"pid": true, "ts": "20200101T080000Z", "age": 101}
{"pid": "true", "ts": "soon", "age": 1}
{"pid": 10, "ts": "2020-W01", "age": ".5", "pulse": 1e3}
"""


def test_it_accepts_what_the_policy_says(tmp_path: Path) -> None:
    source, target, messages = tmp_path / "in.jsonl", tmp_path / "out.jsonl", tmp_path / "trace.jsonl"
    source.write_text(MESSY, encoding="utf-8")
    chosen = policy(privacy={"k": 2, "nulls_match": "maybe"}, input={"optional": ["note"]})
    shoal.run(chosen, source, target, trace=messages)
    report = audit(chosen, source, target, messages)
    assert report.rows["input"] == 21
    assert report.rows["accepted"] == 8
    assert report.held


SMALL = """
person: pid
attributes: {age: {quasi: numeric, range: [0, 100]}, note: {publish: keep}}
privacy: {k: 2, nulls_match: maybe}
window: {count: 4}
algorithm: {name: fads}
"""


def is_blameless(source: Path, target: Path, messages: Path) -> None:
    """A run under the small policy breaks nothing, and the judge accepts as many records as the run."""
    chosen = shoal.Policy.parse(SMALL)
    stats = shoal.run(chosen, source, target, trace=messages)
    for trace in (messages, None):
        report = audit(chosen, source, target, trace)
        assert [str(each) for finding in report.promises for each in finding.violations] == []
        assert report.rows["accepted"] == stats.received - stats.rejected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"pid,age,note\n1,2,a\n2,3,\xff\n3,4,\n4,5,b\n", id="a record that is not UTF-8"),
        pytest.param(b"pid,age,note\n1,2,a\n\xff\n\xff,3,4,5\n3,4,\n4,5,b\n", id="one with too few fields either"),
        pytest.param(b"pid,age,note,more\n1,2,a,x\n2,3,,\xff\n3,4,b,\n", id="a field that nobody asks for is not UTF-8"),
        pytest.param(b"pid,age,note,m\xff\n1,2,a,x\n2,3,,y\n3,4,b,\n", id="its name is not UTF-8"),
        pytest.param(b"pid,age,note\n1\n2\n3\n", id="no record is complete"),
        pytest.param(b"pid,age,note", id="only a header, without a line end"),
        pytest.param(b"pid,age,note\n1,-nan,a\n2,nan,b\n3,4,c\n4,5,d\n", id="negative NaN"),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_awkward_csv(text: bytes, kind: str, tmp_path: Path) -> None:
    source, target, messages = tmp_path / "in.csv", tmp_path / f"out.{kind}", tmp_path / "trace.jsonl"
    source.write_bytes(text)
    is_blameless(source, target, messages)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b'{"pid": 2, "age": 3} {"pid": 3, "age": 4}', id="two records on a line"),
        pytest.param(b'{"pid": 2,\n"age": 3}', id="a record on two lines"),
        pytest.param(b'{"pid": 2, "age": 3,\n"note": 1} {"pid": 3, "age": 4}', id="two records on two lines"),
        pytest.param(b'{"pid": 2, "age": 3, "note": "\xff"}', id="not UTF-8"),
        pytest.param(b'{"pid": 2, "age": 3, "more": "\xff"}', id="not UTF-8 where nobody asks"),
        pytest.param(b'\xef\xbb\xbf{"pid": 2, "age": 3}', id="a byte order mark inside"),
        pytest.param(b'{"pid": 2, "age": 3, "note": "\\ud800"}', id="half a pair of surrogates"),
        pytest.param(b'{"pid": 2, "age": 3, "more": "\\ud800"}', id="half a pair where nobody asks"),
        pytest.param(b'{"pid": 2, "age": 3, "note": ' + b"1" * 5000 + b"}", id="a number with too many digits"),
        pytest.param(b'{"pid": ' + b"1" * 5000 + b', "age": 3, "note": "a"}', id="a person with too many digits"),
        pytest.param(b' {"pid": 2, "age": 3, "note": "x"}\r', id="white space around"),
        pytest.param(b"\n \n", id="blank lines"),
        pytest.param(b'{"pid": 2, "age": 3, "note": Infinity}', id="an infinity"),
        pytest.param(b'{"pid": 2, "age": 3, "note": [NaN, -Infinity]}', id="a list of numbers that JSON has not"),
        pytest.param(b'{"pid": 2, "age": 3, "note": NaN}', id="NaN"),
        pytest.param(b'{"pid": 2, "age": 3, "note": {"a": 1e999, "b": "NaN"}}', id="a number that is too large"),
    ],
)
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_awkward_json_lines(text: bytes, mark: bytes, tmp_path: Path) -> None:
    source, target, messages = tmp_path / "in.jsonl", tmp_path / "out.jsonl", tmp_path / "trace.jsonl"
    good = [b'{"pid": %d, "age": %d, "note": "a"}\n' % (pid, pid) for pid in range(8)]
    source.write_bytes(mark + b"".join([*good[:3], text, b"\n", *good[3:]]))
    is_blameless(source, target, messages)


@pytest.mark.parametrize(
    "notes",
    [
        pytest.param(pa.array([math.nan, 1.5, None, 2.0]), id="NaN"),
        pytest.param(pa.array([math.inf, 1.0, None, -math.inf]), id="infinities"),
        pytest.param(pa.array([[1.0, math.nan], [math.inf], [], [-math.inf, 2.0]]), id="lists of them"),
        pytest.param(pa.array([{"a": math.nan}, {"a": math.inf}, None, {"a": 1.0}]), id="structures of them"),
        pytest.param(pa.array([[1, None], None, [], [2]]), id="lists"),
        pytest.param(pa.array([{"a": 1, "b": 'é"'}, None, {"a": None, "b": "x"}, {"a": 2, "b": ""}]), id="structures"),
        pytest.param(pa.array(["a", None, "", "b"], pa.string_view()), id="views"),
        pytest.param(pa.array([0.5, None, 0.1, 2.0], pa.float16()), id="half floats"),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "arrow"])
def test_values_of_every_type_are_passed_through(notes: pa.Array, kind: str, tmp_path: Path) -> None:
    source, target, messages = tmp_path / "in.parquet", tmp_path / f"out.{kind}", tmp_path / "trace.jsonl"
    pa.parquet.write_table(pa.table({"pid": [1, 2, 3, 4], "age": [1, 2, 3, 4], "note": notes}), source)
    is_blameless(source, target, messages)


def test_infinities_stay_diverse_in_json_lines(tmp_path: Path) -> None:
    source, target = tmp_path / "in.parquet", tmp_path / "out.jsonl"
    notes = [math.inf, -math.inf, 1.0, math.inf]
    pa.parquet.write_table(pa.table({"pid": [1, 2, 3, 4], "age": [1, 2, 3, 4], "note": notes}), source)
    chosen = shoal.Policy.parse(SMALL.replace("publish: keep", "sensitive: true").replace("k: 2", "k: 2, l: 2"))
    shoal.run(chosen, source, target)
    assert [line["note"] for line in read(target)] == ["Infinity", "-Infinity", 1.0, "Infinity"]
    assert audit(chosen, source, target).held


def test_values_of_several_types_are_passed_through_as_json(tmp_path: Path) -> None:
    source, target, messages = tmp_path / "in.jsonl", tmp_path / "out.parquet", tmp_path / "trace.jsonl"
    write(source, [{"pid": row, "age": row, "note": note} for row, note in enumerate(["flu", 1, 2.5, True, None, "1", [1]])])
    shoal.run(shoal.Policy.parse(SMALL), source, target, trace=messages)
    assert audit(shoal.Policy.parse(SMALL), source, target, messages).held
    assert audit(shoal.Policy.parse(SMALL), source, target).held


@pytest.mark.parametrize("time", ["1.7e15", "-1e13", "1.6e9"])
def test_awkward_times(time: str, tmp_path: Path) -> None:
    source, target, messages = tmp_path / "in.jsonl", tmp_path / "out.jsonl", tmp_path / "trace.jsonl"
    times = [*["2019-12-31T23:59:50"] * 3, time, *["2020-01-01T00:00:00"] * 4]
    write(source, [{"pid": row, "ts": ts, "age": row % 4, "note": row} for row, ts in enumerate(times)])
    chosen = shoal.Policy.parse(SMALL.replace("{count: 4}", "{time: 30s}") + "time: {field: ts}")
    shoal.run(chosen, source, target, trace=messages)
    report = audit(chosen, source, target, messages)
    assert report.held
    assert '"held": true' in report.to_json()


@pytest.mark.parametrize("ages", [[-999, 3, 4, -999], ["-999", "3", "-999.00", "-9.99e2"], [-999.0, 3.5, 4.0, None]])
def test_a_missing_number_however_it_is_written(ages: list[object], tmp_path: Path) -> None:
    source, target, messages = tmp_path / "in.parquet", tmp_path / "out.jsonl", tmp_path / "trace.jsonl"
    pa.parquet.write_table(pa.table({"pid": [1, 2, 3, 4], "age": ages, "note": [1, 2, 3, 4]}), source)
    chosen = shoal.Policy.parse(SMALL + 'nulls: ["", "-999.0"]')
    shoal.run(chosen, source, target, trace=messages)
    report = audit(chosen, source, target, messages)
    assert report.held
    assert report["true"].figures["missing"] >= 2


def test_a_group_that_shows_the_root_everywhere_and_a_null(tmp_path: Path) -> None:
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    ages = [(0, 0), (100, 100), (None, 50)]
    write(source, [{"pid": row, "age": age, "size": size, "note": row} for row, (age, size) in enumerate(ages)])
    both = SMALL.replace("note:", "size: {quasi: numeric, range: [0, 100]}, note:").replace("k: 2", "k: 3")
    shoal.run(shoal.Policy.parse(both), source, target)
    assert [line["age"] for line in read(target)] == [[0, 100], [0, 100], None]
    assert audit(shoal.Policy.parse(both), source, target).held
