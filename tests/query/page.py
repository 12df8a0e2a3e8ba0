"""The ten questions of docs/queries.md, data for them, and their answers."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import shoal
from shoal.frames import expanded
from shoal.query import Published, between, leaves_below, missing, one_of
from tests.docs.base import read

from .test_bounds import POLICY, rows

PAGE = read("docs/queries.md")


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
VIEW = re.findall(r'```sql title="view"\n(.*?)```', PAGE, re.DOTALL)[0]
SHOPS = pa.table({"city": ["Paris", "Oslo", "Oslo", "Bergen"]})


class Data(NamedTuple):
    published: pa.Table
    flat: pa.Table
    cities: pa.Table
    answers: list[Any]


def published_data() -> Data:
    """What the questions are about, and the answers of `shoal.query`."""
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
