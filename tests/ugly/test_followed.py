"""Files of any dialect, followed as they grow; single records; times that are rounded, or far ahead."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.audit import audit
from shoal.columns import Encoder
from shoal.connectors import text_buffer
from shoal.connectors.file import FileSource
from shoal.connectors.text_buffer import TextBuffer
from shoal.dialect import Dialect
from shoal.errors import ConnectorError
from shoal.formats import parser
from shoal.policy import Policy

TIMED = """
input: {separator: ";", times: {at: dd.mm.yyyy hh:mm:ss}}
person: pid
time: {field: at, publish: generalize, grid: 1m}
nulls: {age: ["", NA]}
attributes:
  age: {quasi: numeric, range: [0, 100], grid: 10}
privacy: {k: 3}
window: {time: 5m}
algorithm: {name: fads}
"""
START = datetime(2025, 3, 3, 10, 0, 0, tzinfo=UTC)


def timed(path: Path, rows: int = 60, wrong: int | None = None) -> Path:
    moments = [START + timedelta(seconds=7 * i, days=400 if i == wrong else 0) for i in range(rows)]
    lines = [f"p{i};{at:%d.%m.%Y %H:%M:%S};{'NA' if i % 9 == 0 else i}" for i, at in enumerate(moments)]
    path.write_text("\n".join(["pid;at;age", *lines, ""]))
    return path


class TestTimes:
    def test_a_time_of_another_form_is_published_as_an_interval_in_iso(self, tmp_path: Path) -> None:
        policy, source, out, trace = Policy.parse(TIMED), timed(tmp_path / "in.csv"), tmp_path / "o.jsonl", tmp_path / "t.jsonl"
        assert shoal.run(policy, source, out, trace=trace).rejected == 0
        shown = [row["at"] for row in map(json.loads, out.read_text().splitlines()) if row["at"]]
        assert shown and all(low.startswith("2025-03-03T10:0") and high.endswith(":00Z") for low, high in shown)
        assert audit(policy, source, out, trace=trace).held

    @pytest.mark.parametrize("ahead", [None, 3600.0])
    def test_a_time_far_ahead(self, tmp_path: Path, ahead: float | None) -> None:
        policy, source, out, trace = (
            Policy.parse(TIMED), timed(tmp_path / "in.csv", wrong=20), tmp_path / "o.jsonl", tmp_path / "t.jsonl",
        )  # fmt: skip
        assert shoal.run(policy, source, out, trace=trace, ahead=ahead).rejected == (ahead is not None)
        assert audit(policy, source, out, trace=trace, ahead=ahead).held
        if ahead is not None:
            assert not audit(policy, source, out, trace=trace).held


class TestOneRecord:
    POLICY = """
    person: none
    input: {decimal: ",", times: {born: dd.mm.yyyy}}
    nulls: {city: ["", Oslo]}
    attributes:
      born: {quasi: numeric, part: year, range: [1900, 2030], grid: 5}
      weight: {quasi: numeric, range: [0, 300], grid: 10}
      city: {quasi: categorical, hierarchy: {any: [Oslo, Rome]}}
    privacy: {k: 2}
    window: {count: 10}
    """
    RECORDS = (
        {"born": "03.04.1990", "weight": 70.5, "city": "Rome"},
        {"born": "04.04.1991", "weight": "71,5", "city": "Rome"},
        {"born": None, "weight": "72,5", "city": "Oslo"},
        {"born": None, "weight": 73, "city": "Oslo"},
    )

    def test_what_needs_the_checks_of_a_batch_is_left_to_them(self) -> None:
        encoder = Encoder(Policy.parse(self.POLICY), np.zeros(2, np.uint64))
        plain = {"born": None, "weight": 70.5, "city": "Rome"}
        assert encoder.plain(plain) is not None
        for other in ({"born": 1990}, {"born": "03.04.1990"}, {"weight": "70,5"}, {"city": "Oslo"}):
            assert encoder.plain(plain | other) is None

    def test_one_by_one_as_in_a_batch(self) -> None:
        one, many = (shoal.Anonymizer(Policy.parse(self.POLICY)) for _ in range(2))
        singly = [out for record in self.RECORDS for out in one.push(record)] + one.to_records(one.flush())
        texts = [record | {"weight": str(record["weight"]).replace(".", ",")} for record in self.RECORDS]
        batches = [many.push_batch(pa.RecordBatch.from_pylist(texts)), many.flush()]
        assert singly == [record for batch in batches for record in many.to_records(batch)]
        assert one.stats.released == 4 and any(record["born"] for record in singly)


class TestFollowed:
    def source(self, path: Path, dialect: Dialect) -> FileSource:
        source = FileSource(FileSource.Settings(path=path, follow=True))
        source.fields, source.passed, source.dialect = ["pid", "town"], (), dialect
        return source

    @pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8"])
    def test_a_file_of_another_encoding_grows(self, tmp_path: Path, encoding: str) -> None:
        path = tmp_path / "in.csv"
        path.write_bytes("pid;town\n1;Köln\n".encode(encoding))
        source = self.source(path, Dialect(separator=";", encoding=encoding))
        source.begin(None)
        first = source.read(0.1)
        assert first is not None and first.payloads == ["1;Köln\n".encode()] and source.read(0.05) is None
        with path.open("ab") as file:
            file.write("2;Münster\n".encode("utf-16-le" if encoding == "utf-16" else encoding))
        second = source.read(0.5)
        assert second is not None and second.payloads == ["2;Münster\n".encode()] and source.lag == 0
        path.write_bytes("pid;town\n1;Köln\n3;Wien und noch viel mehr davon\n".encode(encoding))
        with pytest.raises(ConnectorError, match="was replaced or cut"):
            source.read(0.5)

    def test_it_goes_on_where_it_stood(self, tmp_path: Path) -> None:
        path = tmp_path / "in.csv"
        path.write_bytes("pid;town\n1;Köln\n".encode("cp1252"))
        dialect = Dialect(separator=";", encoding="cp1252")
        source = self.source(path, dialect)
        source.begin(None)
        delivery = source.read(0.1)
        assert delivery is not None
        with path.open("ab") as file:
            file.write("2;Görlitz\n".encode("cp1252"))
        again = self.source(path, dialect)
        again.begin(delivery.position)
        rest = again.read(0.1)
        assert rest is not None and rest.payloads == ["2;Görlitz\n".encode()]


@pytest.mark.parametrize("quote", ['"', "'", ""])
@pytest.mark.parametrize("columns", [["a"], ["a", "b"]])
def test_a_record_that_is_too_long_is_no_record(monkeypatch: pytest.MonkeyPatch, quote: str, columns: list[str]) -> None:
    monkeypatch.setattr(text_buffer, "LONGEST", 100)
    dialect = Dialect(separator=";", quote=quote)
    buffer, pieces = TextBuffer("csv", dialect, len(columns)), []
    line = ";".join(["1"] * len(columns)).encode() + b"\n"
    buffer.add(line + b"x" * 500 + b"\n" + line)
    while taken := buffer.take():
        pieces.append(taken[0])
    parse = parser("csv", columns, (), columns, dialect)
    blocks = [block for piece in pieces for block in parse.blocks([piece])]
    assert sum(len(block.rows) for block in blocks) == 2 and [row for block in blocks for row, _ in block.bad] == [1]
