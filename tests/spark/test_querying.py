"""docs/queries.md: each of its questions in Spark SQL has the answer of `shoal.query`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal-stream[spark]'")

from query.page import QUESTIONS, SHOPS, VIEW, Data, Question, published_data, same


@pytest.fixture(scope="module")
def data() -> Data:
    return published_data()


@pytest.fixture(scope="module")
def lake(spark: Any, data: Data, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The published file, read by Spark, and the view of the page over it."""
    folder: Path = tmp_path_factory.mktemp("lake")
    tables = {"published": data.published, "cities": data.cities, "shops": SHOPS}
    for name, table in tables.items():
        pyarrow.parquet.write_table(table, folder / f"{name}.parquet")
        spark.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(name)
    spark.sql(VIEW.replace("create view", "create temporary view"))
    yield spark
    for name in ("people", *tables):
        spark.catalog.dropTempView(name)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: str(question.number))
def test_spark(question: Question, data: Data, lake: Any) -> None:
    same([tuple(row) for row in lake.sql(question.sql).collect()], data.answers[question.number - 1])
