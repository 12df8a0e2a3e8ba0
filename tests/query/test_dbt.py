"""The dbt macro that asserts k, rendered as dbt renders it, and run by DuckDB."""

from __future__ import annotations

import ast

import duckdb
import jinja2
import pyarrow as pa
import pytest
import yaml

from tests.docs.base import read

ALIKE = [{"t_lo": 0, "age_lo": 30, "city": "Oslo"}] * 3
BLANK = [{"t_lo": None, "age_lo": 0, "city": "World"}]


def failures(rows: list[dict[str, object]], k: int) -> int:
    macro = jinja2.Environment().from_string(read("deploy/dbt/k_anonymous.sql")).module.test_k_anonymous  # type: ignore[attr-defined]
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
    ],
)
def test_rows_that_are_too_few(rows: list[dict[str, object]], k: int, expected: int) -> None:
    assert failures(rows, k) == expected


def test_the_page_names_the_arguments() -> None:
    shown = yaml.safe_load(read("docs/warehouse.md").partition("```yaml\n")[2].partition("```")[0])
    assert set(shown["models"][0]["tests"][0]["k_anonymous"]) == {"columns", "k", "blank"}


def test_the_dag_is_python() -> None:
    ast.parse(read("deploy/airflow/anonymize.py"))
