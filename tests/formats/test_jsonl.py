"""Reading JSON lines: every way gives what `json.loads` gives line by line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.column_types import JSON
from shoal.errors import InputError
from shoal.formats.json_values import plain_text
from shoal.formats.reading import jsonl
from shoal.formats.reading import jsonl_regular as regular
from shoal.formats.reading.jsonl_irregular import Irregular
from shoal.formats.reading.jsonl_regular import Refused, Regular
from tests.formats.base import bad, numbers, read, values

FIELDS = ["a", "b", "c"]


class Pairs(list[tuple[str, Any]]):
    """The keys and values of an object, also of keys that stand twice."""


def naive(data: bytes, fields: list[str], passed: tuple[str, ...] = ()) -> tuple[dict[int, list[Any]], set[int]]:
    """The values of each good row, and the bad rows."""
    good, refused = {}, set()
    lines = [line for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip(b" \t\r")]
    for row, line in enumerate(lines):
        try:
            pairs = json.loads(line.decode(), object_pairs_hook=Pairs)
            assert isinstance(pairs, Pairs)
            assert all(sum(key == name for key, _ in pairs) < 2 for name in fields)  # a field that stands twice
            record = json.loads(line.decode())
            cells = [record.get(name) for name in fields]
            json.dumps(cells, ensure_ascii=False).encode()
        except (ValueError, AssertionError, RecursionError):
            refused.add(row)
            continue
        good[row] = [
            json.dumps(cell, ensure_ascii=False) if name in passed and cell is not None else cell
            for name, cell in zip(fields, cells, strict=True)
        ]
    return good, refused


def same(found: Any, expected: Any) -> bool:
    """Equal, or the canonical text of it where a column has values of several types."""
    if found is None:
        return plain_text(expected) is None
    if isinstance(found, str) and not isinstance(expected, str):
        return found == plain_text(expected)
    if isinstance(found, bool) != isinstance(expected, bool):
        return False
    return found == expected or (found != found and expected != expected)


def check(path: Path, data: bytes, fields: list[str] = FIELDS, passed: tuple[str, ...] = ()) -> None:
    path.write_bytes(data)
    blocks = read(path, fields, passed=passed)
    good, refused = naive(data, fields, passed)
    assert numbers(blocks) == sorted(good)
    assert {row for row, _ in bad(blocks)} == refused
    for i, name in enumerate(fields):
        for found, row in zip(values(blocks, name), good, strict=True):
            assert same(found, good[row][i]), (name, row)
    for block in blocks:
        for name in passed:
            assert block.batch.schema.field(name).type == pa.string()
            assert block.batch.schema.field(name).metadata == JSON


ODD = [
    b'{"a": 1, "a": 2}',
    b'{"a": 1}{"a": 2}',
    b'{"a": 1}\r{"a": 2}',
    b'{"a":',
    b"1}",
    b'{"a": 12345678901234567890}',
    b'{"a": -0}',
    b'{"a": -0.0}',
    b'{"a": NaN}',
    b'{"a": -Infinity}',
    b'{"a": -NaN}',
    b'{"x": Inf}',
    b'{"a": 1e400}',
    b'{"a": 1e22}',
    b'{"a": 1.0}',
    b'{"a": 9007199254740993}',
    b'{"a": 9223372036854775807}',
    b'{"a": 9223372036854775808}',
    b'{"a": "\\u0000x"}',
    b'{"a": "\x00"}',
    b'{"a": "\xff"}',
    b'{"x": "\xff"}',
    b'{"a": "\\ud800"}',
    b'{"x": "\\ud800"}',
    b'{"a": "\\ud83d\\ude00"}',
    b'{"a": "tab\there"}',
    b'{"a": "2020-01-01"}',
    b'{"a": "x, y"}',
    b'{"a": "}{"}',
    b'{"a": "\\"}',
    b'{"a": "say \\"x\\""}',
    b'{"a": [1, 2]}',
    b'{"a": {"a": 7}}',
    b'{"a": []}',
    b'{"a": null}',
    b'{"a": true}',
    b"{}",
    b"[1]",
    b"1",
    b"null",
    b'"a"',
    b'{"a": 1,}',
    b"{'a': 1}",
    b'{"a": 01}',
    b'{"a": +1}',
    b'{"a": 0x1F}',
    b'{"a": .5}',
    b'{"a": 1} x',
    b'{"a": 1}}',
    b'{"\\u0061": 5}',
    b'{"a\\"": 5}',
    b'{"": 5}',
    b'{"a" : 5 }',
    b'  {"a": 5}  ',
    b'\t{"a": 5}\r',
    b'{"a":5,"b":"x","c":true}',
    b'{"x": ' + b"[" * 2000 + b"]" * 2000 + b"}",
    b'{"a": ' + b"1" * 5000 + b"}",
    b'{"x": ' + b"1" * 5000 + b"}",
    '{"a": "\u2028\u00e9\U0001f600\x7f"}'.encode(),
]


@pytest.mark.parametrize("passed", [(), ("a",)])
@pytest.mark.parametrize("line", ODD, ids=lambda line: repr(line[:24]))
@pytest.mark.parametrize("usual", [b'{"a": 3}', b'{"a": "s", "b": 2.5}', b'{"b": 1, "a": 2.5}'])
def test_one_odd_line_is_what_python_says_and_leaves_the_others_alone(
    tmp_path: Path, usual: bytes, line: bytes, passed: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "FEW", 2)
    path = tmp_path / "in.jsonl"
    check(path, b"\n".join([usual] * 7 + [line] + [usual] * 4) + b"\n", passed=passed)
    check(path, b"\n".join([line] * 3), passed=passed)


def test_blank_lines_count_as_no_row(tmp_path: Path) -> None:
    check(tmp_path / "in.jsonl", b'\n\n{"a": 1}\n  \n\r\n{"a": 2}\n\t\n{oops\n\n{"a": 3}\n\n')


def test_a_mark_and_windows_line_ends_are_ignored(tmp_path: Path) -> None:
    check(tmp_path / "in.jsonl", b'\xef\xbb\xbf{"a": 1, "b": "x"}\r\n{"a": 2, "b": "y"}\r\n')
    check(tmp_path / "in.jsonl", b'\xef\xbb\xbf{"a": 1}')


@pytest.mark.parametrize("data", [b"", b"\n", b"\n \n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_nothing_is_nothing(tmp_path: Path, data: bytes) -> None:
    check(tmp_path / "in.jsonl", data)


def test_objects_that_share_or_span_lines_do_not_shift_rows(tmp_path: Path) -> None:
    check(tmp_path / "in.jsonl", b'{"a": 1}{"a": 2}\n{"a":\n3}\n{"a": 4}\n')
    check(tmp_path / "in.jsonl", b'{"a": 1} {"a": 2}\n{"a": {}\n{"b": 3}}\n{"a": 4}\n' * 50)


def test_types_may_change_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "CHUNK", 256)
    rows: list[Any] = [1] * 40 + [2.5] * 40 + ["x"] * 40 + [None] * 40 + [True] * 40 + [[1]] * 40
    regular_lines = [json.dumps({"a": v, "b": i}) for i, v in enumerate(rows)]
    irregular_lines = [json.dumps({"a": v, "b": i} if i % 3 else {"b": i, "a": v}) for i, v in enumerate(rows)]
    for lines in (regular_lines, irregular_lines):
        for passed in ((), ("a",), ("b",)):
            check(tmp_path / "in.jsonl", "\n".join(lines).encode(), passed=passed)


def test_a_mixed_column_is_canonical_text(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(json.dumps({"a": v}) for v in [1, 1.0, "1", 1.5, True, "x", None, [1, "é"], 10**20]))
    assert values(read(path, ["a"]), "a") == ["1", "1", "1", "1.5", "true", "x", None, '[1, "é"]', str(10**20)]


def test_kept_values_come_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    texts = ["1", "1.0", "2.5", "1e+22", "1e-07", "12345678901234567890", "true", '"a\\"b"', '"é"', "[1, {}]", "null"]
    for lines in (
        [f'{{"a": {one}, "b": 1}}' for one in texts],
        [f'{{"a": {one}, "b": 1}}' if i % 2 else f'{{"b": 2, "a": {one}}}' for i, one in enumerate(texts)],
    ):
        path.write_text("\n".join(lines))
        expected = [None if one == "null" else one for one in texts]
        assert values(read(path, ["a"], passed=["a"]), "a") == expected


@pytest.mark.parametrize("kept", [[0.5, 20.0, 3.25, 1e300], [1, 2.5, 9007199254740993, 3.0], [2.5, None, -0.0]])
def test_kept_numbers_are_exact_where_keys_come_and_go(tmp_path: Path, kept: list[Any]) -> None:
    lines = [json.dumps({"a": kept[i % len(kept)], "b": i} if i % 3 else {"b": i}) for i in range(300)]
    check(tmp_path / "in.jsonl", "\n".join(lines).encode(), passed=("a",))


def test_columns_of_many_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regular, "FEW", 3)
    cells = [
        "1",
        "1.5",
        '"x"',
        "null",
        "-0",
        "-0.0",
        "1e5",
        "1.50",
        '"é"',
        '"\\n"',
        '"',
        "[]",
        "00",
        "1e999",
        '"a" "b"',
    ]
    for one in cells:
        for passed in ((), ("a",)):
            lines = [f'{{"b": {i}, "a": {one if i % 90 == 89 else i + 0.5}}}' for i in range(300)]
            check(tmp_path / "in.jsonl", "\n".join(lines).encode(), passed=passed)
            lines = [f'{{"a": {one if i % 90 == 89 else i}, "b": "n{i}"}}' for i in range(300)]
            check(tmp_path / "in.jsonl", "\n".join(lines).encode(), passed=passed)
            lines = [f'{{"a": {one if i % 90 == 89 else json.dumps("n" + str(i))}}}' for i in range(300)]
            check(tmp_path / "in.jsonl", "\n".join(lines).encode(), passed=passed)


def test_rows_are_numbered_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "CHUNK", 1000)
    monkeypatch.setattr(jsonl, "FEW", 4)
    lines = [b"oops" if i % 37 == 5 else b"" if i % 50 == 7 else b'{"a": %d}' % i for i in range(2000)]
    check(tmp_path / "in.jsonl", b"\n".join(lines))
    blocks = read(tmp_path / "in.jsonl", ["a"], rows=10)
    assert max(len(block.batch) for block in blocks) == 10


def test_a_line_that_outgrows_the_buffer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "CHUNK", 16)
    check(tmp_path / "in.jsonl", json.dumps({"a": "x" * 1000, "b": 1}).encode() + b'\n{"a": "y"}\n')
    monkeypatch.setattr(jsonl, "LONGEST", 512)
    with pytest.raises(InputError, match=r"in\.jsonl: a line is longer than 64 MB; is this JSON lines\?"):
        check(tmp_path / "in.jsonl", b"x" * 2000)


def test_reasons_hold_no_data(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'secret\n["secret"]\n{"a": "secret\xff"}\n{"a": "secret\\ud800"}\n{"a": ' + b"[" * 9999)
    assert bad(read(path, ["a"])) == [
        (0, "malformed JSON; give one object per line"),
        (1, "not a JSON object; give one per line"),
        (2, "not valid UTF-8; is it in another encoding? (input.encoding)"),
        (3, "not valid Unicode"),
        (4, "JSON nested too deeply; flatten it"),
    ]


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.integers(),
    st.floats(),
    st.sampled_from(["", "a", "b, c", "1", "true", '"', "\\", "{", "}", "null"]),
    st.text(max_size=5),
)
cells = st.one_of(scalars, st.recursive(scalars, lambda inner: st.lists(inner, max_size=2), max_leaves=3))
regular_records = st.lists(st.tuples(cells, cells, cells), max_size=12).map(
    lambda rows: [dict(zip(FIELDS, row, strict=True)) for row in rows]
)
irregular_records = st.lists(st.dictionaries(st.sampled_from([*FIELDS, "x"]), cells), max_size=12)
dumped = st.tuples(
    st.one_of(regular_records, irregular_records),
    st.sampled_from([(", ", ": "), (",", ":")]),
    st.booleans(),
).map(lambda t: [json.dumps(record, separators=t[1], ensure_ascii=t[2]).encode("utf-8", "replace") for record in t[0]])
passing = st.sampled_from([(), ("a",), ("a", "b", "c")])


@given(lines=dumped, passed=passing, few=st.sampled_from([0, 64]))
def test_any_objects(tmp_path: Path, lines: list[bytes], passed: tuple[str, ...], few: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl, "FEW", 2)
        patch.setattr(regular, "FEW", few)
        check(tmp_path / "in.jsonl", b"\n".join(lines), passed=passed)


@given(lines=dumped, odd=st.lists(st.sampled_from(ODD), max_size=3), data=st.data(), passed=passing)
def test_any_objects_among_odd_lines(
    tmp_path: Path, lines: list[bytes], odd: list[bytes], data: st.DataObject, passed: tuple[str, ...]
) -> None:
    mixed = data.draw(st.permutations(lines + odd))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl, "FEW", 2)
        patch.setattr(jsonl, "CHUNK", 200)
        check(tmp_path / "in.jsonl", b"\n".join(mixed), passed=passed)


@given(lines=dumped.filter(bool), way=st.sampled_from([Regular, Irregular]), passed=passing, few=st.sampled_from([0, 64]))
def test_a_fast_way_refuses_or_agrees(lines: list[bytes], way: type, passed: tuple[str, ...], few: int) -> None:
    block = b"\n".join(lines) + b"\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regular, "FEW", few)
        try:
            columns = way(FIELDS, frozenset(passed)).parse(block)
        except Refused:
            return
    good, refused = naive(block, FIELDS, passed)
    assert not refused
    for i, column in enumerate(columns):
        assert len(column) == len(good)
        assert all(same(found, good[row][i]) for row, found in enumerate(column.to_pylist()))


@given(
    line=st.text(st.sampled_from('{}[]",:\\ \n\r\t0123456789.-+eEabtruefalsn'), max_size=40),
    usual=st.sampled_from(['{"a": 1}', '{"a": "b"}', '{"a": 1, "b": 2}']),
)
def test_any_characters_at_all(tmp_path: Path, line: str, usual: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl, "FEW", 1)
        check(tmp_path / "in.jsonl", f"{usual}\n{line}\n{usual}\n".encode())


@pytest.mark.parametrize("way", [Regular, Irregular])
def test_the_fast_ways_take_what_they_are_made_for(way: type) -> None:
    lines = [json.dumps({"a": i, "b": f"x{i % 3}", "c": None if i % 4 else i / 2}) for i in range(100)]
    columns = way(FIELDS, frozenset("c")).parse("\n".join(lines).encode() + b"\n")
    assert columns[0].to_pylist() == list(range(100))
    assert columns[1].to_pylist() == [f"x{i % 3}" for i in range(100)]
    assert columns[2].to_pylist() == [None if i % 4 else str(i / 2) for i in range(100)]
