"""Lines split at their commas, against Python's own splitting."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow as pa
import pytest

from shoal.formats import open_reader
from shoal.formats.reading.splitter import CODED, SKIPPED, TEXT, Coded, Splitter, whole_numbers


def column(part: Coded | pa.Array | None) -> list[bytes] | None:
    if part is None:
        return None
    return part.to_pylist() if not isinstance(part, Coded) else [part.pieces[code].as_py() for code in part.codes.to_pylist()]


def some_pieces(draw: random.Random, rows: int) -> list[list[bytes]]:
    """Empty, short, of 7 to 9 bytes and long; some come again, some share their first 8 bytes or contain zeros."""
    long = [bytes(draw.choices(b'ab"}\0\xc3', k=size)) for size in (7, 8, 9, 16, 31, 32, 33, 200)]
    few = [b"", b"\0", b"\0\0", *long, *(b"the same" + piece for piece in long)]
    many = [str(draw.random()).encode() for _ in range(rows)]
    return [draw.choices(few, k=rows), many, draw.choices(few, k=rows), draw.choices([*few, *many], k=rows)]


LINES = [((b"", b"", b"", b""), b""), ((b'{"a": ', b'"b":', b" ", b' "a long name of a field": '), b" }")]
ODD = [b"<1>,2]\n<1>\n", b"<1>,2,3]\n", b"<1>,2\n", b"<1>,2]", b"1>,2]\n", b"\n", b"<1>,]2\n", b"<1>,2]\n\n"]


@pytest.mark.parametrize(("befores", "end"), LINES)
def test_splits_as_python_does(befores: tuple[bytes, ...], end: bytes) -> None:
    draw = random.Random(1)
    splitter = Splitter(befores, end, [CODED, TEXT, SKIPPED, CODED])
    for rows in (1, 3, 3000):  # more different pieces than there is room for at first
        columns = some_pieces(draw, rows)
        lines = [b",".join(map(bytes.__add__, befores, line)) + end + b"\n" for line in zip(*columns, strict=True)]
        parts = splitter.split(b"".join(lines))
        assert parts is not None
        assert [column(part) for part in parts] == [columns[0], columns[1], None, columns[3]]


def test_codes_and_pieces_stay() -> None:
    splitter = Splitter([b""], b"", [CODED])
    (first,) = splitter.split(b"x\ny\n") or []
    (second,) = splitter.split(b"y\ny\nx\n") or []
    assert second.codes.to_pylist() == [1, 1, 0]
    assert second.pieces is first.pieces
    (third,) = splitter.split(b"z\n") or []
    assert (third.codes.to_pylist(), third.pieces.to_pylist()) == ([2], [b"x", b"y", b"z"])
    assert splitter.counts == [3]


@pytest.mark.parametrize("block", ODD)
@pytest.mark.parametrize("kind", [CODED, TEXT, SKIPPED])
def test_another_shape_is_refused(block: bytes, kind: int) -> None:
    splitter = Splitter([b"<", b""], b"]", [kind, kind])
    assert splitter.split(b"<a>,b]\n" * 100)
    assert splitter.split(block) is None
    assert splitter.split(b"<1>,2]\n")


def test_blank_lines_of_one_column_are_refused() -> None:
    assert Splitter([b""], b"", [TEXT]).split(b"a\n\nb\n") is None


@pytest.mark.parametrize("odd", ['3,"x, y"', "3", "3,x,4", "", "3,x\r"])
def test_csv_that_is_not_plain_is_read_too(tmp_path: Path, odd: str) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes("\n".join(["a,b", *(f"{i % 7},b{i % 5}" for i in range(3000)), odd, "5,b1", ""]).encode())
    with open_reader(str(path), ["b", "a"]) as reader:
        blocks = list(reader)
    found = [row for block in blocks for row in block.batch.to_pylist()]
    assert found[:3000] == [{"a": str(i % 7), "b": f"b{i % 5}"} for i in range(3000)]
    assert found[-1] == {"a": "5", "b": "b1"}
    assert sum(len(block.bad) for block in blocks) == (odd in ("3", "3,x,4"))


def test_a_bad_value_spoils_only_its_lines(tmp_path: Path) -> None:
    """What a malformed value leaves behind does not get the blocks after it refused."""
    path = tmp_path / "people.jsonl"
    good = [f'{{"a": {i % 9}, "b": "x{i % 4}"}}' for i in range(200_000)]
    path.write_text("\n".join([*good[:1000], '{"a": 01, "b": "x1"}', *good[1000:], ""]))
    with open_reader(str(path), ["a", "b"]) as reader:
        blocks = list(reader)
    assert sum(len(block.batch) for block in blocks) == 200_000
    assert [bad for block in blocks for bad in block.bad] == [(1000, "malformed JSON; give one object per line")]
    assert blocks[-1].batch.column("a").to_pylist() == [i % 9 for i in range(200_000)][-len(blocks[-1].batch) :]
    assert len(blocks) < 30


def test_whole_numbers_with_gaps_stay_whole(tmp_path: Path) -> None:
    path = tmp_path / "people.jsonl"
    numbers = [None if i % 10 == 0 else (-1) ** i * i * 7919 for i in range(2000)]
    path.write_text("".join(f'{{"n": {json.dumps(n)}}}\n' for n in numbers))
    with open_reader(str(path), ["n"]) as reader:
        (block,) = reader
    assert block.batch.column("n").type == pa.int64()
    assert block.batch.column("n").to_pylist() == numbers


@pytest.mark.parametrize("text", ["007", "-0", "+1", "nul", "nulls", "1" * 19, "", "-", "1_0", "1.0", "\u0661"])
def test_other_texts_are_not_whole_numbers(text: str) -> None:
    assert whole_numbers(pa.array([b"1", text.encode(), b"2"])) is None


def test_the_longest_whole_numbers() -> None:
    texts = ["9" * 18, "-" + "9" * 18, "0", "null"]
    assert whole_numbers(pa.array([text.encode() for text in texts])[1:]).to_pylist() == [-(10**18) + 1, 0, None]
    assert whole_numbers(pa.array([text.encode() for text in texts])).to_pylist() == [json.loads(text) for text in texts]
