"""docs/cleaning.md: each line of DuckDB and of polars runs, and both write the same."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.docs.base import read

_ROW = re.compile(r"^\| ([^|]+?) \| `((?:COPY|iconv|sed).+?)`(?:, without DuckDB)? \| `(pl\..+?)` \|$", re.MULTILINE)
LINES = {what: (first, second) for what, first, second in _ROW.findall(read("docs/cleaning.md"))}
INPUTS = {
    "lines before the header": "made in March\nby a machine\n\nid,w\n1,2\n".replace("\n\n", "\n-\n"),
    "another encoding": "id,city\n1,Москва\n",
    'quotes after backslashes, `\\"`': 'id,note\n1,"a \\"b\\", c"\n2,d\n',
    'spaces before quotes, `, "`': '"id", "city"\n"1", "Oslo"\n"2", "Lyon"\n',
    "a unit beside numbers, `12 kg`": "id,w\n1,12 kg\n2,7.5 kg\n",
    "dates of several forms": "id,d\n1,17.05.2024\n2,2024-05-18\n",
    "a column with two things, `Oslo, NO`": 'id,p\n1,"Oslo, NO"\n2,"Lyon, FR"\n',
    "upper and lower case": "id,city\n1,OSLO\n2,Lyon\n",
    "one row for each entry of a list": '{"id": 1, "visits": ["a", "b"]}\n{"id": 2, "visits": ["c"]}\n',
    "rows twice": "id,w\n1,2\n1,2\n3,4\n",
    "the order of time": "id,ts\n1,30\n2,10\n3,20\n",
}


def rows(path: Path) -> list[list[str]]:
    """The values as text, whatever the columns are called and typed."""
    return [[str(value)[:10] for value in row.values()] for row in pq.read_table(path).to_pylist()]


def test_every_line_has_an_input() -> None:
    assert set(LINES) == set(INPUTS)


@pytest.mark.parametrize("what", LINES)
def test_both_tools_write_the_same(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb, pl = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    monkeypatch.chdir(tmp_path)
    first, second = LINES[what]
    source = Path("in.jsonl" if "in.jsonl" in second else "in.csv")
    source.write_text(INPUTS[what], encoding="cp1251" if "CP1251" in first else "utf-8")
    exec(second, {"pl": pl})
    expected = rows(Path("out.parquet"))
    assert expected
    if first.startswith("COPY"):
        duckdb.sql(first)
        found = rows(Path("out.parquet"))
    else:
        subprocess.run(first, shell=True, check=True)
        found = [line.replace('"', "").split(",") for line in Path("out.csv").read_text("utf-8").splitlines()[1:]]
    if "list" in what:
        found, expected = [[row[0], row[-1]] for row in found], [[row[0], row[-1]] for row in expected]
    assert sorted(found) == sorted(expected)
    if what == "the order of time":
        assert [row[0] for row in found] == ["2", "3", "1"]
