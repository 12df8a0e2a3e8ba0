"""Reading CSV: text in the asked columns, and the right row for every record."""

from __future__ import annotations

import csv as python_csv
import io
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InputError
from shoal.formats.reading import csv
from shoal.formats.reading.record_ends import record_lines
from shoal.formats.reading.utf8 import NOT_UTF8_TEXT as NOT_UTF8
from tests.formats.base import bad, numbers, read, values

ONE_FIELD, THREE_FIELDS = (
    f"{number} fields where the header has 2; give as many, and quote values that hold a comma" for number in (1, 3)
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "in.csv"


def test_every_field_is_text_in_the_asked_order(path: Path) -> None:
    path.write_text("a,b,c\n1,x,\n2.50,NA,null\n")
    blocks = read(path, ["c", "a"])
    assert blocks[0].batch.schema == pa.schema([("c", pa.string()), ("a", pa.string())])
    assert values(blocks, "c") == ["", "null"]
    assert values(blocks, "a") == ["1", "2.50"]
    assert numbers(blocks) == [0, 1]


def test_an_absent_field_is_null(path: Path) -> None:
    path.write_text("a\n1\n2\n")
    blocks = read(path, ["z", "a"])
    assert blocks[0].batch.schema.field("z").type == pa.null()
    assert values(blocks, "z") == [None, None]
    assert values(read(path, ["z"]), "z") == [None, None]


def test_line_ends_of_two_letters(path: Path) -> None:
    path.write_bytes(b"a,b\r\n1,x\r\n2,y\r\n")
    assert values(read(path, ["a", "b"]), "b") == ["x", "y"]


def test_a_line_end_of_two_bytes_is_one_line() -> None:
    assert record_lines(b'a,b\r\n\r\n1,"x\r\ny"\r\n2,z\r\n', b",", b'"').tolist() == [0, 2, 4]


def test_a_quote_inside_a_value_opens_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv, "CHUNK", 8)
    path.write_text("a,b\n" + 'x"y,1\n' * 21)
    assert values(read(path, ["a"]), "a") == ['x"y'] * 21


def test_quotes_line_ends_and_the_mark(path: Path) -> None:
    path.write_bytes(b'\xef\xbb\xbf"a, b",c\r\n"x\ny","say ""hi"""\r\n,""\r\n')
    blocks = read(path, ["a, b", "c"])
    assert values(blocks, "a, b") == ["x\ny", ""]
    assert values(blocks, "c") == ['say "hi"', ""]


def test_rows_with_a_wrong_number_of_fields(path: Path) -> None:
    path.write_text('a,b\n1,2\n\n3\n4,5\n6,7,8\n"x\ny",9\n')
    blocks = read(path, ["a"])
    assert values(blocks, "a") == ["1", "4", "x\ny"]
    assert numbers(blocks) == [0, 2, 4]
    assert bad(blocks) == [(1, ONE_FIELD), (3, THREE_FIELDS)]


def test_a_row_that_is_neither_complete_nor_utf8(path: Path) -> None:
    path.write_bytes(b"a,b\n1,\xc3\xa9\n\xff\n2,\xff\n\xff,3,4\n5,x\n")
    blocks = read(path, ["a", "b"])
    assert values(blocks, "b") == ["é", "x"]
    assert numbers(blocks) == [0, 4]
    assert bad(blocks) == [
        (1, ONE_FIELD),
        (2, NOT_UTF8),
        (3, THREE_FIELDS),
    ]


@pytest.mark.parametrize("every", [2, 7, 97, 1999])
@pytest.mark.parametrize("rows", [3, 65536])
def test_rows_are_numbered_across_blocks(path: Path, every: int, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv, "CHUNK", 500)
    lines = [f"{i}\n" if i % every == 1 else f'{i},"line\n{i}"\n' for i in range(2000)]
    path.write_text("a,b\n" + "".join(lines))
    blocks = read(path, ["a"], rows=rows)
    assert values(blocks, "a") == [str(row) for row in numbers(blocks)]
    assert [row for row, _ in bad(blocks)] == [i for i in range(2000) if i % every == 1]
    assert sorted(numbers(blocks) + [row for row, _ in bad(blocks)]) == list(range(2000))
    assert all(len(block.batch) <= rows for block in blocks)


def test_text_that_is_no_utf8(path: Path) -> None:
    path.write_bytes(b"a,b\n\xc3\xa9,1\n\xff,2\nx,\xff\ny,3\nz\n")
    blocks = read(path, ["a"])
    assert values(blocks, "a") == ["é", "x", "y"]
    assert bad(blocks) == [(1, NOT_UTF8), (4, ONE_FIELD)]
    assert numbers(blocks) == [0, 2, 3]


@pytest.mark.parametrize("text", ["a,b", "a,b\n", "a,b\r\n", "\n\na,b\n\n"])
def test_a_header_alone_is_no_rows(path: Path, text: str) -> None:
    path.write_text(text, newline="")
    assert read(path, ["a"]) == []


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_no_header_is_refused(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"in\.csv: is empty; the first line of a CSV file must name its columns"):
        read(path, ["a"])


def test_a_name_twice_is_refused(path: Path) -> None:
    path.write_text("a,b,a\n1,2,3\n")
    told = r"in\.csv: the header names columns 1 and 3 alike; rename one of them, or add a header"
    with pytest.raises(InputError, match=told):
        read(path, ["b"])


@pytest.mark.parametrize(
    ("text", "good", "row"),
    [
        ('a,b\n1,2\n3,"4', ["1"], 1),
        ('a,b\n1,2\n3,"4\n5,6\n', ["1", "5"], 1),
        ('a,b\r1,2\r3,"4\r5,6\r', ["1", "5"], 1),
        ('a,b\n1,2\n"3,4\n5,6\n7,8', ["1", "5", "7"], 1),
        ('a,b\n"', [], 0),
        ('a,b\n1,"', [], 0),
    ],
)
def test_an_open_quote_spoils_its_line(path: Path, text: str, good: list[str], row: int) -> None:
    path.write_text(text)
    blocks = read(path, ["a"])
    assert values(blocks, "a") == good
    assert bad(blocks) == [(row, "a quoted value is not closed; close it, or double the quotes inside it")]


def test_a_quote_that_stays_open_for_long_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv, "LONGEST", 1000)
    monkeypatch.setattr(csv, "CHUNK", 1000)
    path.write_text('a,b\n1,"2\n' + "3,4\n" * 1000)
    with pytest.raises(InputError, match=r"in\.csv: a quoted value is never closed, or a record is longer than"):
        read(path, ["a"])


def test_a_last_line_without_end(path: Path) -> None:
    path.write_text("a,b\n1,2\n3,4")
    assert values(read(path, ["a"]), "a") == ["1", "3"]


def test_a_line_of_commas_at_the_end_is_reported(path: Path) -> None:
    path.write_text("a,b\n1,2\n,,\n")
    assert bad(read(path, ["a"])) == [(1, THREE_FIELDS)]


cell = st.text(st.sampled_from('ab,"\n é;\t'), max_size=6)
records = st.lists(st.lists(cell, min_size=1, max_size=4), max_size=15)


@given(records=records, ending=st.sampled_from(["\n", "\r\n"]), rows=st.sampled_from([2, 100]))
def test_any_records_as_python_reads_them(path: Path, records: list[list[str]], ending: str, rows: int) -> None:
    text = io.StringIO(newline="")
    python_csv.writer(text, lineterminator=ending).writerows([["x", "y", "z"], *records])
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    kept = [record for record in python_csv.reader(io.StringIO(text.getvalue(), newline="")) if record][1:]
    blocks = read(path, ["z", "x"], rows=rows)
    good = [row for row, record in enumerate(kept) if len(record) == 3]
    assert numbers(blocks) == good
    assert values(blocks, "x") == [kept[row][0] for row in good]
    assert values(blocks, "z") == [kept[row][2] for row in good]
    assert [row for row, _ in bad(blocks)] == [row for row in range(len(kept)) if row not in good]
