"""Arrays of objects in .json files: read as if each element were a line, by the engine and by the audit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.audit.files import blocks as audited
from shoal.errors import InputError
from shoal.formats import open_reader
from shoal.formats.reading import json_array

VALUES = st.recursive(
    st.none() | st.integers(-5, 10**20) | st.floats(allow_nan=False) | st.text(max_size=8) | st.sampled_from(["[,]", "}\n"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
RECORDS = st.lists(st.fixed_dictionaries({"a": st.integers(0, 9), "b": st.text(max_size=9), "more": VALUES}), max_size=8)


def read(path: Path) -> list[Any]:
    with open_reader(str(path), ["a", "b"]) as reader:
        return [row for block in reader for row in block.batch.to_pylist()]


def seen_by_the_audit(path: Path) -> list[Any]:
    return [value for block in audited(path, {"a"}) if "a" in block.columns for value in block.columns["a"].to_pylist()]


@given(
    records=RECORDS, indent=st.sampled_from([None, 0, 2, "\r\n"]), chunk=st.sampled_from([1, 7, 1 << 20]), mark=st.booleans()
)
def test_an_array_reads_as_its_lines_do(tmp_path_factory: Any, records: list[Any], indent: Any, chunk: int, mark: bool) -> None:
    folder = tmp_path_factory.mktemp("array")
    text = json.dumps(records, indent=indent, ensure_ascii=False) + "\n"
    (folder / "x.json").write_text(("\ufeff" if mark else "") + text, encoding="utf-8", errors="surrogatepass", newline="")
    lines = "".join(json.dumps(each) + "\n" for each in records)
    (folder / "x.jsonl").write_text(lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_array, "CHUNK", chunk)
        assert read(folder / "x.json") == read(folder / "x.jsonl")
    assert seen_by_the_audit(folder / "x.json") == seen_by_the_audit(folder / "x.jsonl")


def test_what_is_named_json_may_be_lines(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n')
    assert read(tmp_path / "x.json") == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


@pytest.mark.parametrize("text", ["", " \n\n", "[]", "[\n]\n"])
def test_what_is_named_json_may_be_empty(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    assert read(tmp_path / "x.json") == []


REMEDY = "correct it there, or write one record per line and name it .jsonl"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"a": 1}, {"a": 2}', ", element 2 of its array: the file ends after it; " + REMEDY),
        ('[{"a": 1} {"a": 2}]', ", element 1 of its array: a comma or ] is missing after it; " + REMEDY),
        ('[{"a": 1}, ]', ", element 2 of its array: it is no JSON, is cut short or too long; " + REMEDY),
        ('[{"a": 1}] []', ": goes on after the end of its array; " + REMEDY),
        (
            '{\n "data": []}',
            ": is a JSON object over several lines, not an array or lines of records; take the records out: "
            "jq -c '.data[]' in.json > out.jsonl if they are under data, jq -c . in.json > out.jsonl if each is an object",
        ),
    ],
)
def test_what_is_wrong_with_an_array(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value) == f"{path}{said}"
