"""Tables written in any dialect, and read back: by the readers, by the judge, and after detection."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.audit.files import blocks
from shoal.audit.values import Marks as JudgesMarks
from shoal.audit.values import numbers as judged_numbers
from shoal.audit.values import seconds as judged_seconds
from shoal.columns import numbers, times
from shoal.dialect import ENCODINGS
from shoal.formats import detected, open_reader
from shoal.number_text import Marks
from shoal.policy import Input

LETTERS = st.sampled_from("abcÄéß,;|\t'\" .-1\n")
CELLS = st.text(LETTERS, max_size=6).filter(lambda text: text.isascii() or text.encode("cp1252"))
TABLES = st.integers(1, 4).flatmap(lambda width: st.lists(st.tuples(*[CELLS] * width), min_size=1, max_size=8))
SEPARATORS = st.sampled_from([",", ";", "\t", "|"])
QUOTES = st.sampled_from(['"', "'"])


def written(rows: list[tuple[str, ...]], separator: str, quote: str, end: str) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, quotechar=quote, quoting=csv.QUOTE_ALL, lineterminator=end)
    writer.writerows([[f"f{i}" for i in range(len(rows[0]))], *rows])
    return out.getvalue()


def as_read(path: Path, said: Input) -> list[tuple[str, ...]]:
    with open_reader(str(path), None, dialect=said.dialect) as reader:
        found = [block.batch for block in reader]
    return [tuple(row.values()) for batch in found for row in batch.to_pylist()]


def as_judged(path: Path, said: Input) -> list[tuple[str, ...]]:
    rows = []
    for block in blocks(path, None, said):
        columns = [column.cast(pa.binary()).to_pylist() for column in block.columns.values()]
        rows += [tuple(cell.decode() for cell in row) for row in zip(*columns, strict=True)]
    return rows


@given(TABLES, SEPARATORS, QUOTES, st.sampled_from(ENCODINGS), st.sampled_from(["\n", "\r\n"]))
def test_a_table_in_any_dialect_is_read_as_it_was_written(
    rows: list[tuple[str, ...]], separator: str, quote: str, encoding: str, end: str
) -> None:
    said = Input(separator=separator, quote=quote, encoding=encoding)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(written(rows, separator, quote, end).encode(encoding))
        assert as_read(path, said) == rows
        assert as_judged(path, said) == rows


NUMBERS = st.lists(st.tuples(st.integers(0, 9_999_999), st.integers(1, 99)), min_size=5, max_size=20)


@given(NUMBERS, st.sampled_from([(";", ",", "."), (";", ",", ""), (",", ".", ""), ("\t", ",", " "), (";", ".", "'")]))
def test_the_dialect_of_a_table_of_numbers_is_found(values: list[tuple[int, int]], how: tuple[str, str, str]) -> None:
    separator, decimal, thousands = how
    cells = [f"{whole:,}".replace(",", thousands) + f"{decimal}{part:02d}" for whole, part in values]
    text = "".join(f"{cell}{separator}x{i}\n" for i, cell in enumerate(cells))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_text(f"price{separator}name\n{text}", encoding="utf-8")
        found = detected(str(path))
    assert found.dialect.separator == separator and found.has_header
    assert found.marks.decimal == decimal
    grouped = any(whole > 999 for whole, _ in values)
    assert found.marks.thousands == (thousands if grouped else "")
    read = numbers(pa.array(cells), [""], Marks(decimal, thousands))
    judged = judged_numbers(pa.array(cells), {""}, JudgesMarks(decimal, thousands))
    assert not read.wrong.any() and not judged.bad.any()
    assert read.values.tolist() == judged.value.tolist() == [float(f"{whole}.{part:02d}") for whole, part in values]


@pytest.mark.parametrize(
    ("form", "python"),
    [
        ("dd.mm.yyyy", "%d.%m.%Y"), ("mm/dd/yyyy", "%m/%d/%Y"), ("dd/mm/yyyy hh:mm", "%d/%m/%Y %H:%M"),
        ("yyyy/mm/dd hh:mm:ss", "%Y/%m/%d %H:%M:%S"), ("dd-mmm-yyyy", "%d-%b-%Y"), ("mm/dd/yyyy hh:mm am", "%m/%d/%Y %I:%M %p"),
        ("dd.mm.yyyy hh:mm:sszone", "%d.%m.%Y %H:%M:%S%z"), ("yyyymmdd", "%Y%m%d"), ("dd.mm.yy", "%d.%m.%y"),
        ("dd.mm.yyyy hh.mm", "%d.%m.%Y %H.%M"), ("yyyymmddhhmmss", "%Y%m%d%H%M%S"), ("hh:mm dd.mm.yyyy", "%H:%M %d.%m.%Y"),
        ("dd/mmm/yyyy:hh:mm:ss zone", "%d/%b/%Y:%H:%M:%S %z"), ("yyyy-mm-dd hh:mm:ss zone", "%Y-%m-%d %H:%M:%S UTC"),
    ],
)  # fmt: skip
@given(moments=st.lists(st.datetimes(datetime(1970, 1, 1), datetime(2067, 1, 1)), min_size=1, max_size=5))
def test_times_of_every_form(form: str, python: str, moments: list[datetime]) -> None:
    texts = [each.replace(tzinfo=UTC).strftime(python) for each in moments]
    meant = [datetime.strptime(text, python).replace(tzinfo=UTC).timestamp() for text in texts]
    assert times(pa.array(texts), [""], form).values.tolist() == meant
    assert judged_seconds(pa.array(texts), {""}, form).value.tolist() == meant


@pytest.mark.parametrize("form", ["dd.mm.yyyy", "mm/dd/yyyy hh:mm", "yyyymmdd"])
@given(texts=st.lists(st.text("0123456789./ :", max_size=16) | st.sampled_from(["31.02.2025", "1/1/2025 24:00", "20251301"])))
def test_engine_and_judge_refuse_the_same_times(form: str, texts: list[str]) -> None:
    read, judged = times(pa.array(texts, pa.string()), [""], form), judged_seconds(pa.array(texts, pa.string()), {""}, form)
    assert read.wrong.tolist() == judged.bad.tolist()


@given(
    st.lists(st.text("0123456789.,' -+e", max_size=9)),
    st.sampled_from([(",", "."), (",", ""), (".", ","), (".", "'"), (",", " ")]),
)
def test_engine_and_judge_read_the_same_numbers(texts: list[str], marks: tuple[str, str]) -> None:
    read = numbers(pa.array(texts, pa.string()), [""], Marks(*marks))
    judged = judged_numbers(pa.array(texts, pa.string()), {""}, JudgesMarks(*marks))
    infinite = abs(read.values) == float("inf")
    assert (read.wrong | infinite).tolist() == judged.bad.tolist()
    assert [v for v, out in zip(read.values, read.wrong | infinite, strict=True) if not out and v == v] == [
        v for v, out in zip(judged.value, judged.bad, strict=True) if not out and v == v
    ]
