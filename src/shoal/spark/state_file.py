"""A state file: one encrypted value of a query, in a folder of any file system that Spark supports."""

from __future__ import annotations

import io

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from shoal.errors import StateError
from shoal.pipeline import Damaged, FileCipher


def save(spark: SparkSession, folder: str, secret: str, value: bytes) -> None:
    """Encrypt and write a value; an older value is overwritten, so call `load` first."""
    out = io.BytesIO()
    FileCipher(secret).writer(out).add(value)
    spark.createDataFrame([(bytearray(out.getvalue()),)], "sealed binary").coalesce(1).write.mode("overwrite").parquet(folder)


def load(spark: SparkSession, folder: str, secret: str) -> bytes | None:
    """The value that was saved in a folder; None if there is none, or if writing it was interrupted.

    Raises
    ------
    StateError
        The value is damaged, or was encrypted with another key.
    """
    try:
        rows = spark.read.schema("sealed binary").parquet(folder).collect()
    except AnalysisException as error:
        if "PATH_NOT_FOUND" in (error.getCondition() or ""):
            return None
        raise
    if not rows:
        return None
    try:
        ((sealed,),) = rows
        (value,) = FileCipher(secret).pieces(bytes(sealed))
    except (Damaged, ValueError):
        raise StateError(f"{folder}: is damaged; restore it, or start with another checkpoint") from None
    return value
