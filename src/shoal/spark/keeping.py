"""What is kept with a query: one sealed value in a folder of any file system that Spark knows."""

from __future__ import annotations

import io

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from shoal.errors import StateError
from shoal.pipeline import Damaged, FileCipher


def keep(spark: SparkSession, folder: str, secret: str, value: bytes) -> None:
    """Write it, where nothing whole is yet."""
    out = io.BytesIO()
    FileCipher(secret).writer(out).add(value)
    spark.createDataFrame([(bytearray(out.getvalue()),)], "sealed binary").coalesce(1).write.mode("overwrite").parquet(folder)


def kept(spark: SparkSession, folder: str, secret: str) -> bytes | None:
    """What was kept there; None if nothing is, or writing it did not come to its end.

    Raises
    ------
    StateError
        It is damaged, or was sealed by another key.
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
        raise StateError(f"{folder}: is damaged; bring it back, or begin anew with another checkpoint") from None
    return value
