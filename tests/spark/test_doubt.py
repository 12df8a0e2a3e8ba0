"""What the page tells to ask about values in doubt, in Spark SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal-stream[spark]'")

from tests.docs.doubt import ASKED, snippet, write_doubt


def test_spark_sql(spark: Any, tmp_path: Path) -> None:
    query = snippet("In Spark SQL").replace("clean.parquet", str(write_doubt(tmp_path / "clean.parquet")))
    assert spark.sql(query).first().asDict() == ASKED
