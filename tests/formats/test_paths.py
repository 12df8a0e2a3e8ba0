"""Fields inside fields, by their path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from shoal.formats import open_reader

FIELDS = ["a.b.c", "x", "a.d"]


def values(path: Path, fields: list[str] = FIELDS, passed: tuple[str, ...] = ()) -> list[list[Any]]:
    with open_reader(str(path), fields, passed=passed) as reader:
        tables = [block.batch.to_pylist() for block in reader]
    return [[record[name] for name in fields] for table in tables for record in table]


def lines(path: Path, *records: Any) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


@pytest.mark.parametrize("count", [1, 200])
def test_json_lines(tmp_path: Path, count: int) -> None:
    records = [{"x": i, "a": {"b": {"c": i, "more": "é"}, "d": f"t{i}"}, "y": [1, 2]} for i in range(count)]
    assert values(lines(tmp_path / "a.jsonl", *records)) == [[i, i, f"t{i}"] for i in range(count)]


def test_one_key_and_one_value_alone(tmp_path: Path) -> None:
    assert values(lines(tmp_path / "a.jsonl", *[{"a": {"d": 5}}] * 100)) == [[None, None, 5]] * 100


@pytest.mark.parametrize("count", [3, 300])
def test_a_key_that_is_written_so_comes_first(tmp_path: Path, count: int) -> None:
    kinds = [{"a.d": 1}, {"a": {"d": 2}}, {"a": {"d": 3}, "a.d": 4}]
    records = [kinds[i % 3] for i in range(count)]
    assert [row[2] for row in values(lines(tmp_path / "a.jsonl", *records))] == [[1, 2, 4][i % 3] for i in range(count)]


@pytest.mark.parametrize("record", [{"a.d": 1, "x": 2}, {"a.d": 1, "x": 2, "y": {"z": [1]}}])
def test_keys_with_dots_alone_stay_quick(tmp_path: Path, record: Any) -> None:
    assert values(lines(tmp_path / "a.jsonl", *[record] * 200)) == [[None, 2, 1]] * 200


def test_an_escaped_key(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a\\u002ed": 1, "z": {"y": 1}}\n' * 100)
    assert values(tmp_path / "a.jsonl", ["a.d"]) == [[1]] * 100


def test_a_path_that_leads_through_no_object_is_missing(tmp_path: Path) -> None:
    records = [{"a": {"d": 1}}, {"a": 5}, {"a": None}, {"a": {"d": None}}, {"a": {"d": {"e": 1}}}]
    found = values(lines(tmp_path / "a.jsonl", *records), ["a.d"])
    assert found == [["1"], [None], [None], [None], ['{"e": 1}']]


def test_what_is_passed_through_stays_as_it_was(tmp_path: Path) -> None:
    records = [{"a": {"d": 1.0 if i % 2 else i}, "n": {"m": i}} for i in range(200)]
    found = values(lines(tmp_path / "a.jsonl", *records), ["a.d"], ("a.d",))
    assert found == [["1.0" if i % 2 else str(i)] for i in range(200)]


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_structs(tmp_path: Path, suffix: str) -> None:
    table = pa.Table.from_pylist([{"x": 1, "a": {"b": {"c": 2}, "d": "t"}}, {"x": 3, "a": None}, {"x": 4, "a": {"b": None}}])
    path = tmp_path / f"a{suffix}"
    if suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    assert values(path) == [[2, 1, "t"], [None, 3, None], [None, 4, None]]
    assert values(path, ["a.b.c.e", "x.y"]) == [[None, None]] * 3


def test_names_of_all_fields_are_told(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", *[{"x": 1, "y": 2}] * 100, *[{"x": 1, "y": [1, 2], "z": 1}] * 100)
    with open_reader(str(path), ["x"]) as reader:
        assert {name for block in reader for name in block.names} == {"x", "y", "z"}
