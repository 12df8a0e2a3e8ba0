"""The connectors of Spark for Kafka, Delta Lake and Iceberg, which `make spark-jars` fetches for one version of Spark."""

from __future__ import annotations

import os
from pathlib import Path

import pyspark
import pytest

FOLDER = Path(__file__).parents[2] / "build" / "spark-jars"
REQUIRED = "SHOAL_SPARK_JARS"
"""With this variable, which `make test-spark` sets, a test without connectors fails instead of being skipped."""


def found() -> str:
    """The connectors as `spark.jars` wants them; without those of this Spark, the test is skipped."""
    if not (FOLDER / f"spark-sql-kafka-0-10_2.13-{pyspark.__version__}.jar").exists():
        absent(f"there are no connectors of Spark {pyspark.__version__}; make test-spark runs this with Spark 4.0")
    return ",".join(map(str, sorted(FOLDER.glob("*.jar"))))


def absent(reason: str) -> None:
    (pytest.fail if os.environ.get(REQUIRED) else pytest.skip)(reason)
