"""Writing JSON lines and CSV: every value as its format wants it, whatever the layout of the batch."""

from __future__ import annotations

import csv
import datetime
import decimal
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shoal.anonymizer.records import to_records
from shoal.column_types import interval
from shoal.formats import lines, open_writer
from shoal.formats.json_values import float_texts
from shoal.formats.writing import text
from shoal.formats.writing.dialects import Csv, Jsonl
from shoal.formats.writing.text import Text
from tests.examples import examples
from tests.formats.base import blurred_intervals, blurred_labels, intervals, json_batch, json_field, write

INF, NAN = float("inf"), float("nan")


def csv_text(batch: pa.RecordBatch) -> str:
    dialect = Csv(batch.num_columns)
    return dialect.header(batch.schema.names) + b"".join(map(bytes, Text(dialect).pieces(batch))).decode()


def csv_rows(batch: pa.RecordBatch) -> list[list[str]]:
    return list(csv.reader(io.StringIO(csv_text(batch), newline=""), strict=True))


def test_a_published_batch(tmp_path: Path) -> None:
    batch = pa.RecordBatch.from_arrays(
        [
            intervals((15, 20), None, (0, 5)),
            intervals((1.5, 2.0), (0.1, 1e-7), None),
            pa.array(["Gov", None, 'a "b", c']).dictionary_encode(),
            pa.array(['"flu"', "1.0", None]),
        ],
        schema=pa.schema(
            [
                ("age", intervals((1, 2)).type),
                ("dose", intervals((1.0, 2.0)).type),
                ("work class", pa.dictionary(pa.int32(), pa.string())),
                json_field("disease"),
            ]
        ),
    )
    assert write(tmp_path / "out.jsonl", batch).read_text(encoding="utf-8") == (
        '{"age": [15, 20], "dose": [1.5, 2], "work class": "Gov", "disease": "flu"}\n'
        '{"age": null, "dose": [0.1, 1e-07], "work class": null, "disease": 1.0}\n'
        '{"age": [0, 5], "dose": null, "work class": "a \\"b\\", c", "disease": null}\n'
    )
    assert write(tmp_path / "out.csv", batch).read_bytes().decode() == (
        'age,dose,work class,disease\n"[15, 20]","[1.5, 2]",Gov,flu\n,"[0.1, 1e-07]",,1.0\n"[0, 5]",,"a ""b"", c",\n'
    )


def test_the_trace() -> None:
    batch = pa.record_batch(
        {
            "row": pa.array([0, 1], pa.int64()),
            "how": pa.array(["cluster", "suppressed"]),
            "cluster": pa.array([7, None], pa.int64()),
            "released": pa.array([2.5, 3.0]),
        }
    )
    assert lines(batch) == (
        b'{"row": 0, "how": "cluster", "cluster": 7, "released": 2.5}\n'
        b'{"row": 1, "how": "suppressed", "cluster": null, "released": 3.0}\n'
    )


@pytest.mark.parametrize("count", [0, 1, 5, 40_000])
def test_every_layout_gives_the_same_text(count: int) -> None:
    generator = np.random.default_rng(count)
    ends, labels = intervals((0, 5), (5, 10), (0, 10)), pa.array(["a", "b", "*"])
    whole = pa.array(generator.integers(0, 3, count), mask=generator.random(count) < 0.2, type=pa.int32())
    other = pa.array(generator.integers(0, 3, count), mask=generator.random(count) < 0.2, type=pa.int32())
    names = ["x", "y", "z"]
    plain = [ends.take(whole), labels.take(whole), labels.take(other)]
    coded = [
        pa.DictionaryArray.from_arrays(whole, ends),
        pa.DictionaryArray.from_arrays(whole, labels),
        pa.DictionaryArray.from_arrays(other, labels),
    ]
    one, two = (pa.RecordBatch.from_arrays(columns, names=names) for columns in (plain, coded))
    records = [json.loads(line) for line in lines(one).splitlines()]
    expected = [{"x": None if r["x"] is None else list(r["x"].values()), "y": r["y"], "z": r["z"]} for r in one.to_pylist()]
    assert records == expected
    assert lines(one) == lines(two)
    assert csv_text(one) == csv_text(two)


def test_sliced_batches() -> None:
    batch = pa.RecordBatch.from_arrays(
        [
            intervals((0, 1), (1, 2), None, (3, 4)),
            pa.array(["a", None, "c", "d"]).dictionary_encode(),
            pa.array([*"wxyz"]),
        ],
        names=["x", "y", "z"],
    )
    whole = lines(batch).splitlines()
    assert lines(batch.slice(1, 2)).splitlines() == whole[1:3]


def test_a_dictionary_that_changes_is_noticed() -> None:
    writer = Text(Jsonl())
    for label in ("a", "b", "c"):
        batch = pa.record_batch({"x": pa.array([label]).dictionary_encode()})
        assert b"".join(writer.pieces(batch)) == f'{{"x": "{label}"}}\n'.encode()


@pytest.mark.parametrize(
    ("column", "jsonl", "plain"),
    [
        (pa.array([True, False, None]), ["true", "false", "null"], ["true", "false", ""]),
        (pa.array([None, None]), ["null", "null"], ["", ""]),
        (pa.array([1, -5], pa.int8()), ["1", "-5"], ["1", "-5"]),
        (pa.array([2**64 - 1], pa.uint64()), [str(2**64 - 1)], [str(2**64 - 1)]),
        (pa.array([1.0, NAN, None, INF]), ["1.0", "null", "null", '"Infinity"'], ["1.0", "", "", "Infinity"]),
        (pa.array([-INF], pa.float32()), ['"-Infinity"'], ["-Infinity"]),
        (pa.array([[1.0, NAN, -INF]]), ['[1.0, null, "-Infinity"]'], ['[1.0, null, "-Infinity"]']),
        (pa.array([{"a": INF}, {"a": NAN}]), ['{"a": "Infinity"}', '{"a": null}'], ['{"a": "Infinity"}', '{"a": null}']),
        (pa.array([0.5], pa.float32()), ["0.5"], ["0.5"]),
        (pa.array([decimal.Decimal("1.50")]), ["1.50"], ["1.50"]),
        (pa.array([datetime.date(2020, 1, 2)]), ['"2020-01-02"'], ["2020-01-02"]),
        (pa.array([0], pa.timestamp("ns")), ['"1970-01-01T00:00:00.000000000"'], ["1970-01-01T00:00:00.000000000"]),
        (pa.array([0], pa.timestamp("s", "UTC")), ['"1970-01-01T00:00:00Z"'], ["1970-01-01T00:00:00Z"]),
        (pa.array([[1, 2], None]), ["[1, 2]", "null"], ["[1, 2]", ""]),
        (pa.array([{"a": "é"}]), ['{"a": "é"}'], ['{"a": "é"}']),
        (pa.array([b"\xff"]), ['"/w=="'], ["/w=="]),
        (pa.array(["a", None], pa.large_string()), ['"a"', "null"], ["a", ""]),
        (pa.array(["a", None], pa.string_view()), ['"a"', "null"], ["a", ""]),
        (pa.array([1, None, 1]).dictionary_encode(), ["1", "null", "1"], ["1", "", "1"]),
        (
            pa.array([{"lo": "2020", "hi": "2021"}, None], interval(pa.string())),
            ['["2020", "2021"]', "null"],
            ["[2020, 2021]", ""],
        ),
        (pa.array([{"lo": 1, "hi": None}]), ['{"lo": 1, "hi": null}'], ['{"lo": 1, "hi": null}']),
    ],
    ids=lambda one: str(one.type) if isinstance(one, pa.Array) else "",
)
def test_columns_of_any_type(column: pa.Array, jsonl: list[str], plain: list[str]) -> None:
    batch = pa.RecordBatch.from_arrays([column, column], names=["x", "y"])
    assert lines(batch).decode() == "".join(f'{{"x": {one}, "y": {one}}}\n' for one in jsonl)
    assert csv_rows(batch)[1:] == [[one, one] for one in plain]


def test_a_single_empty_cell_is_not_a_blank_line() -> None:
    assert csv_text(pa.record_batch({"a": pa.array(["x", None, ""])})) == 'a\nx\n""\n""\n'
    assert csv_text(json_batch(a=["x", None, ""])) == 'a\nx\n""\n""\n'


def test_odd_names() -> None:
    batch = pa.record_batch({'a "b", c': [1], "é\n": [2]})
    assert json.loads(lines(batch)) == {'a "b", c': 1, "é\n": 2}
    assert csv_rows(batch)[0] == ['a "b", c', "é\n"]


texts = st.lists(st.one_of(st.none(), st.text(max_size=8), st.sampled_from(['"', ",", "\n", "\r", "\\", "\x00", "\x1f"])))


@given(cells=texts, coded=st.booleans())
def test_any_text(cells: list[str | None], coded: bool) -> None:
    column = pa.array(cells, pa.string())
    batch = pa.RecordBatch.from_arrays([column.dictionary_encode() if coded else column] * 2, names=["x", "y"])
    assert lines(batch).decode() == "".join(json.dumps({"x": cell, "y": cell}, ensure_ascii=False) + "\n" for cell in cells)
    assert csv_rows(batch)[1:] == [[cell or ""] * 2 for cell in cells]


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.sampled_from(["NaN", "-Infinity"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=2)),
    max_leaves=4,
)


def in_json(value: Any) -> Any:
    """The same without the numbers that JSON has not."""
    if isinstance(value, list):
        return [in_json(each) for each in value]
    if isinstance(value, dict):
        return {name: in_json(each) for name, each in value.items()}
    return {"nan": None, "inf": "Infinity", "-inf": "-Infinity"}.get(repr(value), value) if isinstance(value, float) else value


@given(cells=st.lists(json_values, max_size=8))
@example([NAN, -INF, [INF, "NaN"], {"a": NAN}, "Infinity", None])
def test_any_json_text(cells: list[Any]) -> None:
    given = [None if cell is None else json.dumps(cell, ensure_ascii=False) for cell in cells]
    batch = pa.RecordBatch.from_arrays([pa.array(given, pa.string())] * 2, schema=pa.schema([json_field("x"), json_field("y")]))
    cells = [in_json(cell) for cell in cells]
    dumped = [None if cell is None else json.dumps(cell, ensure_ascii=False, allow_nan=False) for cell in cells]
    assert lines(batch).decode() == "".join(f'{{"x": {one or "null"}, "y": {one or "null"}}}\n' for one in dumped)
    plain = [cell if isinstance(cell, str) else one or "" for cell, one in zip(cells, dumped, strict=True)]
    assert csv_rows(batch)[1:] == [[one, one] for one in plain]


@examples(2)
@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=False), st.integers(-(10**17), 10**17).map(float))))
@example([1e22, 1e21, 1e16, 1e15, 1e-4, 1e-5, 1e-7, -0.0, 5e-324, 1.7976931348623157e308, 2.0**53, 2.0**53 - 1])
def test_floats_are_written_as_python_writes_them(numbers: list[float | None]) -> None:
    column = pa.array(numbers, pa.float64())
    assert float_texts(column).to_pylist() == [
        None if number is None else {"inf": "Infinity", "-inf": "-Infinity"}.get(repr(number), repr(number))
        for number in numbers
    ]
    for written, number in zip(float_texts(column, whole="").to_pylist(), numbers, strict=True):
        assert written is None if number is None else float(written) == number and not written.endswith(".0")


@pytest.mark.parametrize("number", [int, float])
def test_values_in_doubt(tmp_path: Path, number: type) -> None:
    shown = [(60, 85, True), (60, 85, False), None, (60, 85, True), (0, 1, True)]
    named = [('a "b", c', True), ("sitting", True), ('a "b", c', False), None, ("sitting", False)]
    batch = pa.RecordBatch.from_arrays([blurred_intervals(number, *shown), blurred_labels(*named)], ["pulse", "activity"])
    assert write(tmp_path / "out.jsonl", batch).read_text() == (
        '{"pulse": [60, 85, null], "activity": ["a \\"b\\", c", null]}\n'
        '{"pulse": [60, 85], "activity": ["sitting", null]}\n'
        '{"pulse": null, "activity": "a \\"b\\", c"}\n'
        '{"pulse": [60, 85, null], "activity": null}\n'
        '{"pulse": [0, 1, null], "activity": "sitting"}\n'
    )
    assert write(tmp_path / "out.csv", batch).read_text() == (
        'pulse,activity\n"[60, 85] or missing","a ""b"", c or missing"\n"[60, 85]",sitting or missing\n,"a ""b"", c"\n'
        '"[60, 85] or missing",\n"[0, 1] or missing",sitting\n'
    )
    assert lines(batch.slice(1, 3)).splitlines() == lines(batch).splitlines()[1:4]
    assert [json.loads(line) for line in lines(batch).splitlines()] == to_records(batch, ["pulse", "activity"])


def test_a_dictionary_of_labels_in_doubt_that_changes_is_noticed() -> None:
    writer = Text(Jsonl())
    for label in ("a", "b", "c"):
        batch = pa.record_batch({"x": blurred_labels((label, True))})
        assert b"".join(writer.pieces(batch)) == f'{{"x": ["{label}", null]}}\n'.encode()


def test_doubt_below_a_null_is_not_shown() -> None:
    some = blurred_labels(("a", True), ("a", True))
    column = pa.StructArray.from_arrays([some.field(0), some.field(1)], fields=list(some.type), mask=pa.array([True, False]))
    assert lines(pa.record_batch({"x": column})) == b'{"x": null}\n{"x": ["a", null]}\n'


@given(st.lists(st.one_of(st.none(), st.tuples(st.integers(0, 2), st.integers(0, 2), st.booleans()))))
def test_any_intervals_in_doubt(rows: list[tuple[int, int, bool] | None]) -> None:
    batch = pa.record_batch({"x": blurred_intervals(int, *rows)})
    expected = [row and [*row[:2], *[None] * row[2]] for row in rows]
    assert [json.loads(line)["x"] for line in lines(batch).splitlines()] == expected


ends = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-9, 9))


@given(st.lists(st.one_of(st.none(), st.tuples(ends, ends))))
def test_any_intervals_of_whole_numbers(pairs: list[tuple[int, int] | None]) -> None:
    batch = pa.RecordBatch.from_arrays([intervals(*pairs)], names=["x"])
    expected = [None if pair is None else list(pair) for pair in pairs]
    assert [json.loads(line)["x"] for line in lines(batch).splitlines()] == expected


@given(st.lists(st.one_of(st.none(), st.tuples(st.floats(-1e20, 1e20), st.floats(-1e20, 1e20)))))
def test_any_intervals_of_numbers(pairs: list[tuple[float, float] | None]) -> None:
    batch = pa.RecordBatch.from_arrays([intervals(*pairs)], names=["x"])
    found = [json.loads(line)["x"] for line in lines(batch).splitlines()]
    assert found == [None if pair is None else list(pair) for pair in pairs]
    assert b".0]" not in lines(batch)


def test_text_that_is_too_long_for_one_array(monkeypatch: pytest.MonkeyPatch) -> None:
    def short(*texts: Any) -> pa.Array:
        whole = joined(*texts)
        if whole.nbytes > 1000:
            raise pa.ArrowCapacityError
        return whole

    batch = pa.record_batch({"x": ["y" * 30] * 100})
    expected, joined = lines(batch), text.joined
    monkeypatch.setattr(text, "joined", short)
    assert lines(batch) == expected


BATCH = pa.RecordBatch.from_pydict(
    {
        "age": pa.array(
            [{"value": {"lo": 18.0, "hi": 20.0}, "of": 3, "had": 3}, {"value": {"lo": 1.5, "hi": 2.0}}, None],
            pa.struct([("value", interval(pa.float64())), ("of", pa.int64()), ("had", pa.int64())]),
        ),
        "sex": pa.StructArray.from_arrays(
            [pa.array(["Male", 'a "b"', None]).dictionary_encode(), pa.array([3, None, None]), pa.array([2, None, None])],
            ["value", "of", "had"],
            mask=pa.array([False, False, True]),
        ),
    }
)


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (
            "jsonl",
            '{"age": {"value": [18, 20], "of": 3, "had": 3}, "sex": {"value": "Male", "of": 3, "had": 2}}\n'
            '{"age": [1.5, 2], "sex": "a \\"b\\""}\n'
            '{"age": null, "sex": null}\n',
        ),
        (
            "csv",
            "age,sex\n"
            '"{""value"": [18, 20], ""of"": 3, ""had"": 3}","{""value"": ""Male"", ""of"": 3, ""had"": 2}"\n'
            '"[1.5, 2]","a ""b"""\n'
            ",\n",
        ),
    ],
)
def test_imputed_values_are_objects_and_others_plain(tmp_path: Path, suffix: str, text: str) -> None:
    target = tmp_path / f"out.{suffix}"
    with open_writer(str(target)) as writer:
        writer.write(BATCH)
    assert target.read_text() == text
