"""The settings that a session of Spark needs."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
"""The only state store that works for lanes."""

PARTITIONS = "spark.sql.shuffle.partitions"


def configure(builder: SparkSession.Builder, lanes: int = 8) -> SparkSession.Builder:
    """Set what a session needs, before it is made; returns the builder.

    The state is kept in RocksDB, and there are as many shuffle partitions as lanes. Shuffle files are encrypted. Workers run
    the Python that runs this, unless PYSPARK_PYTHON names another.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for name, value in {**needed(lanes), "spark.io.encryption.enabled": "true"}.items():
        builder = builder.config(name, value)
    return builder


def needed(lanes: int) -> dict[str, str]:
    """What a streaming query needs.

    >>> needed(4)["spark.sql.shuffle.partitions"]
    '4'
    """
    return {
        PARTITIONS: str(lanes),
        PROVIDER: ROCKSDB,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    }
