"""The dbt project of deploy/dbt: its macro in DuckDB, and the whole of it in dbt, which has an environment of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import duckdb
import jinja2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from tests.docs.base import ROOT, read

from .test_bounds import POLICY, rows

DBT = Path(os.environ.get("SHOAL_DBT", ROOT / ".venv-dbt/bin/dbt"))
ALIKE = [{"t_lo": 0, "age_lo": 30, "city": "Oslo"}] * 3
BLANK = [{"t_lo": None, "age_lo": 0, "city": "World"}]


def failures(rows: list[dict[str, object]], k: int) -> int:
    source = read("deploy/dbt/macros/k_anonymous.sql")
    macro = jinja2.Environment().from_string(source).module.test_k_anonymous  # type: ignore[attr-defined]
    people = pa.Table.from_pylist(rows)
    with duckdb.connect() as lake:
        lake.register("people", people)
        return len(lake.execute(macro("people", ["t_lo", "age_lo", "city"], k, blank="t_lo is null")).fetchall())


@pytest.mark.parametrize(
    ("rows", "k", "expected"),
    [
        (ALIKE, 3, 0),
        (ALIKE, 4, 1),
        (ALIKE + BLANK, 3, 0),
        ([*ALIKE, {"t_lo": 0, "age_lo": 30, "city": None}], 3, 1),  # a null is a value of its own
        ([{**row, "city": ["Oslo", "Rome"]} for row in ALIKE] + [{**ALIKE[0], "city": ["Oslo"]}], 3, 1),  # sets
    ],
)
def test_rows_that_are_too_few(rows: list[dict[str, object]], k: int, expected: int) -> None:
    assert failures(rows, k) == expected


def test_the_page_shows_the_project() -> None:
    page = read("docs/warehouse.md")
    assert f"```yaml\n{read('deploy/dbt/models/people.yml')}```" in page
    assert f"```sql\n{read('deploy/dbt/models/people.sql')}```" in page


@pytest.mark.slow
@pytest.mark.skipif(not DBT.exists(), reason="dbt has no environment; make dbt, or name dbt in SHOAL_DBT")
def test_the_project_is_built_and_fails_if_k_is_broken(tmp_path: Path) -> None:
    folder = tmp_path / "dbt"
    shutil.copytree(ROOT / "deploy/dbt", folder)
    (folder / "clean").mkdir()
    policy = shoal.Policy.parse(POLICY.format(nulls="blurred"))
    published = shoal.anonymize(pa.Table.from_pylist(rows(3, 300)), policy)
    pq.write_table(published, folder / "clean/people.parquet")

    def build() -> subprocess.CompletedProcess[str]:
        own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command = [DBT, "--no-use-colors", "build", "--project-dir", ".", "--profiles-dir", "."]
        settings = {"DO_NOT_TRACK": "1", "DBT_SEND_ANONYMOUS_USAGE_STATS": "False"}
        return subprocess.run(command, cwd=folder, env={**own, **settings}, capture_output=True, text=True, timeout=300)

    good = build()
    assert good.returncode == 0 and "PASS=2 WARN=0 ERROR=0" in good.stdout, good.stdout
    pq.write_table(published.filter(pa.compute.is_valid(published["t"])).slice(0, 1), folder / "clean/more.parquet")
    pq.write_table(published.slice(0, 0), folder / "clean/people.parquet")
    broken = build()
    assert broken.returncode == 1 and "Got 1 result, configured to fail if != 0" in broken.stdout, broken.stdout
