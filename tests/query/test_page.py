"""docs/querying.md: each of its questions, in each engine, has the answer of `shoal.query`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import duckdb
import polars as pl
import psycopg
import pyarrow as pa
import pytest

import shoal
from connectors.conftest import postgres_program, postgres_server  # noqa: F401
from connectors.processes import Broker
from connectors.table_stores import PostgresStore
from shoal.frames import expanded
from shoal.query import Published, between, leaves_below, missing, one_of
from tests.docs.base import read

from .test_bounds import POLICY, rows

PAGE = read("docs/querying.md")


class Question(NamedTuple):
    number: int
    sql: str
    polars: str


def _questions() -> list[Question]:
    found = []
    for number, text in re.findall(r"^## (\d+)\. .*?\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE):
        sql, polars = (re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)[0] for kind in ("sql", 'python title="polars"'))
        found.append(Question(int(number), sql, polars))
    return found


QUESTIONS = _questions()
SHOPS = pa.table({"city": ["Paris", "Oslo", "Oslo", "Bergen"]})


class Data(NamedTuple):
    published: pa.Table
    flat: pa.Table
    cities: pa.Table
    answers: list[Any]


@pytest.fixture(scope="module")
def data() -> Data:
    policy = shoal.Policy.parse(POLICY.format(nulls="blurred"))
    published = shoal.anonymize(pa.Table.from_pylist(rows(3, 300)), policy)
    people = Published(published, policy)
    tree = policy.attributes["city"].hierarchy
    assert tree
    pairs = [{"label": label, "leaf": leaf} for label, leaves in leaves_below(tree).items() for leaf in sorted(leaves)]
    answers = [
        people.count(between("age", 30, 40)),
        people.count(one_of("city", "France")),
        people.count(between("age", 30, 40) & one_of("city", "France")),
        people.count(missing("age")),
        people.mean("age"),
        people.total("age"),
        people.quantile("age", 0.5),
        people.share(one_of("city", "Norway"), one_of("ill", "flu")),
        [(begin, *found) for begin, found in people.series("t", 600.0)],
        people.pairs(Published(SHOPS), "city"),
    ]
    return Data(published, expanded(published), pa.Table.from_pylist(pairs), answers)


def same(found: list[tuple[Any, ...]], expected: Any) -> None:
    wanted = expected if isinstance(expected, list) else [tuple(expected)]
    assert [tuple(map(float, row)) for row in found] == [pytest.approx(row, rel=1e-9) for row in wanted]


def test_there_are_ten() -> None:
    assert [question.number for question in QUESTIONS] == list(range(1, 11))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: str(question.number))
def test_duckdb(question: Question, data: Data) -> None:
    with duckdb.connect() as lake:
        for name, table in {"published": data.published, "cities": data.cities, "shops": SHOPS}.items():
            lake.register(name, table)
        view = re.findall(r'```sql title="view"\n(.*?)```', PAGE, re.DOTALL)[0]
        lake.execute(view.replace("create view", "create temp view"))
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
