"""docs/queries.md: each of its questions, in each engine, has the answer of `shoal.query`. Spark's are in `tests/spark`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import duckdb
import polars as pl
import psycopg
import pytest

from connectors.conftest import postgres_program, postgres_server  # noqa: F401
from connectors.processes import Broker
from connectors.table_stores import PostgresStore

from .page import PAGE, QUESTIONS, SHOPS, VIEW, Data, Question, published_data, same


@pytest.fixture(scope="module")
def data() -> Data:
    return published_data()


def test_there_are_ten() -> None:
    assert [question.number for question in QUESTIONS] == list(range(1, 11))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: str(question.number))
def test_duckdb(question: Question, data: Data) -> None:
    with duckdb.connect() as lake:
        for name, table in {"published": data.published, "cities": data.cities, "shops": SHOPS}.items():
            lake.register(name, table)
        lake.execute(VIEW.replace("create view", "create temp view"))
        same(lake.execute(question.sql).fetchall(), data.answers[question.number - 1])


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: str(question.number))
def test_polars(question: Question, data: Data) -> None:
    setup = re.findall(r'```python title="polars setup"\n(.*?)```', PAGE, re.DOTALL)[0]
    names: dict[str, Any] = {
        "people": pl.from_arrow(data.flat), "cities": pl.from_arrow(data.cities), "shops": pl.from_arrow(SHOPS)
    }  # fmt: skip
    for name in ("city",):
        names["people"] = names["people"].with_columns(pl.col(name).cast(pl.String))
    exec(setup, names)
    *before, last = _statements(question.polars)
    exec("\n".join(before), names)
    same(eval(last, names).rows(), data.answers[question.number - 1])


def _statements(text: str) -> list[str]:
    import ast

    return [ast.unparse(node) for node in ast.parse(text).body]


@pytest.fixture(scope="module")
def postgres_people(postgres_server: Broker, data: Data) -> Iterator[Any]:  # noqa: F811
    store = PostgresStore(postgres_server)
    for name, table in {"people": data.published, "cities": data.cities, "shops": SHOPS}.items():
        store.table = name
        sink = store.sink()
        sink.begin(None, 0)
        for batch in table.combine_chunks().to_batches():
            sink.write(batch, 0)
        sink.close()
    with psycopg.connect(host="127.0.0.1", port=postgres_server.port, user="shoal", dbname="postgres") as connection:
        yield connection


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: str(question.number))
def test_postgres(question: Question, data: Data, postgres_people: Any) -> None:
    """As the sink wrote it."""
    same(postgres_people.execute(question.sql).fetchall(), data.answers[question.number - 1])
