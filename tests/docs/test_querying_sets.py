"""docs/querying-sets.md: every snippet gives the same answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.docs.base import blocks, read
from tests.formats.base import write

SETS = [["Canal"], ["Canal"], ["Canal", "Mill"], ["South"], ["Canal", None], ["Mill", None], ["Hill", "Mill"], None, ["City"]]
ASKED = {"surely": 2, "possibly": 6, "surely_not": 3}


@pytest.fixture(autouse=True)
def _published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = pa.list_(pa.dictionary(pa.int32(), pa.string()))
    write(tmp_path / "published.parquet", pa.record_batch({"home": pa.array(SETS, kind)}))
    monkeypatch.chdir(tmp_path)


def snippet(before: str) -> str:
    return next(block.text for block in blocks(read("docs/querying-sets.md")) if block.before.startswith(before))


def test_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")
    found = duckdb.sql(snippet("In **SQL**"))
    assert dict(zip(found.columns, found.fetchall()[0], strict=True)) == ASKED


def test_pandas() -> None:
    pytest.importorskip("pandas")
    found: dict[str, Any] = {}
    exec(snippet("In **pandas**"), found)
    assert {name: int(found[name].sum()) for name in ASKED} == ASKED


def test_polars() -> None:
    pytest.importorskip("polars")
    found: dict[str, Any] = {}
    exec(snippet("In **polars**"), found)
    assert found["answers"].to_dicts() == [ASKED]
