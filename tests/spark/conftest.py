"""One session of Spark for all tests that need no cluster."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest

WHY = "no Java on this machine" if shutil.which("java") is None else ""
try:
    import pyspark  # noqa: F401
except ImportError:
    WHY = "pyspark is not installed; pip install 'shoal[spark]'"
collect_ignore_glob = ["test_*.py"] if WHY and "pyspark" in WHY else []


def pytest_report_header() -> str:
    return f"tests/spark are skipped: {WHY}" if WHY else ""


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    if WHY:
        pytest.skip(WHY)
    from pyspark.sql import SparkSession

    from shoal.spark.anonymize import ROCKSDB

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SHOAL_WARM"] = "fads"
    builder = SparkSession.builder.master("local[2]").appName("shoal tests")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "3",
        "spark.python.daemon.module": "shoal.spark.daemon",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
