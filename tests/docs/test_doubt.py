"""What the page tells to ask about values in doubt: every snippet gives the same answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.docs.doubt import ASKED, snippet, write_doubt


@pytest.fixture(autouse=True)
def _clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_doubt(tmp_path / "clean.parquet")
    monkeypatch.chdir(tmp_path)


def test_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")
    found = duckdb.sql(snippet("In DuckDB"))
    assert dict(zip(found.columns, found.fetchall()[0], strict=True)) == ASKED


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library: str) -> None:
    found: dict[str, Any] = {}
    exec(snippet(f"In {library}"), found)
    assert {name: len(found[name]) for name in ASKED} == ASKED
